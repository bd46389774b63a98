// Checks what people set on a server (specification 3, "Names" and "URLs"), and removes duplicate tags.
import { AddressGuard } from '../../http-client/index.js';
import { limits } from '../../shared/index.js';
import { authFault, namePrefix } from '../../user-config/index.js';
import { teamFault } from '../common/principal.js';
import { ControlPlaneFault, refuseMember, refuseMemberIf } from '../common/control-plane-fault.js';
import { curationFault, parseCuration } from '../common/curation.js';
import { descriptionFault, nameFault } from '../common/schema-parts.js';
import type { ServerInput, ServerRecord } from '../records/server-record.js';
import type { KnownServer } from './server-directory.js';

type NamedServer = Pick<ServerRecord, 'name' | 'curation'>;

/** The prefix of a server's tool names where several servers are merged, with its `-`; `''` for none. */
export function prefixOf({ name, curation }: NamedServer): string {
  return namePrefix(name, parseCuration(curation).prefix);
}

/** Makes the slug the prefix if some clients would refuse tool names that begin with the server's name. */
export function withPrefixForClients(record: ServerRecord): ServerRecord {
  const { name, slug, curation } = record;
  if (ACCEPTED_PREFIX.test(name) || curation?.['prefix'] !== undefined) return record;
  return { ...record, curation: { ...curation, prefix: slug } };
}

const ACCEPTED_PREFIX = /^[A-Za-z0-9_-]+$/;

/** Throws a `ControlPlaneFault` if another server has the prefix: the two could have tools of the same name. */
export function refuseTakenPrefix(
  server: NamedServer & Pick<ServerRecord, 'id'>,
  servers: readonly KnownServer[],
): void {
  const prefix = prefixOf(server);
  const owner = servers.find((other) => other.id !== server.id && prefixOf(other) === prefix);
  if (owner === undefined) return;
  const fact = prefix === '' ? `${owner.name} has no prefix` : `the tools of ${owner.name} begin with ${prefix}`;
  const advice = 'choose another name, or another prefix in curation.prefix';
  throw new ControlPlaneFault('prefix-taken', `Two servers cannot have the same prefix, and ${fact}: ${advice}`);
}

/** A tag contains no commas, because they separate tags in a query. */
const TAG_CHARS = /^[^,\p{Cc}\p{Surrogate}]+$/u;
/** Spaces and control characters are refused, because the URL parser would silently remove them. */
const SPACE_OR_CONTROL = /[\s\p{Cc}]/u;

/** Throws a `ControlPlaneFault` that names the first faulty member. */
export function checkServerInput(input: ServerInput): ServerInput {
  const { name, url, description, tags, transport, enabled, auth, curation, team } = input;
  refuseMemberIf('name', nameFault(name));
  checkUrl(url);
  refuseMemberIf('description', descriptionFault(description));
  checkTags(tags ?? []);
  // A registered server is probed, and a probe has no caller whose token could be exchanged.
  if (auth?.type === 'token-exchange')
    refuseMember('auth.type', 'must not be token-exchange, which is only for user configs');
  const fault = auth ? authFault(auth) : undefined;
  if (fault !== undefined) throw new ControlPlaneFault('invalid', `auth${fault}`);
  refuseMemberIf('curation', curation ? curationFault(curation) : undefined);
  refuseMemberIf('team', teamFault(team));
  return { name, url, description, tags: tags && [...new Set(tags)], transport, enabled, auth, curation, team };
}

function checkTags(tags: readonly string[]): void {
  if (tags.length > limits.serverTagsMax) refuseMember('tags', `must be at most ${limits.serverTagsMax}`);
  for (const [index, tag] of tags.entries()) {
    const words = `must be 1 to ${limits.serverNameCharsMax} characters without commas and control characters`;
    if (tag.length > limits.serverNameCharsMax || !TAG_CHARS.test(tag)) refuseMember(`tags.${index}`, words);
    if (tag !== tag.trim()) refuseMember(`tags.${index}`, 'must not begin or end with a space');
  }
}

/** Refuses addresses that no process may connect to. The networks that the options allow are checked when connecting. */
const addressGuard = new AddressGuard();

function checkUrl(text: string): void {
  if (text.length > limits.serverUrlCharsMax) {
    refuseMember('url', `must have at most ${limits.serverUrlCharsMax} characters`);
  }
  if (SPACE_OR_CONTROL.test(text) || !URL.canParse(text)) refuseMember('url', 'must be an absolute URL');
  const url = new URL(text);
  if (url.protocol !== 'http:' && url.protocol !== 'https:') refuseMember('url', 'must be an http or https URL');
  if (url.username !== '' || url.password !== '') refuseMember('url', 'must not have credentials in it');
  if (addressGuard.obstacleOfHost(url.hostname) !== undefined)
    refuseMember('url', 'must not be a link-local or cloud metadata address');
}
