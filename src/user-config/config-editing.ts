// Adds and removes virtual hosts in the bytes of a user config. Everything else keeps its bytes: rewriting it would change numbers, escapes
// and duplicate members. A separate record says which virtual hosts the control plane has published; other writers must not remove these.
import * as z from 'zod';
import { stringValue, JsonScanner, jsonKind } from '../bytes/index.js';
import type { RecordKey } from '../store/index.js';
import { decodeUserConfig } from './user-config-schema.js';

export interface EditableConfig {
  readonly bytes: Buffer;
  /** The span of the value of `virtual_hosts` in `bytes`; the end is exclusive. */
  readonly hostsStart: number;
  readonly hostsEnd: number;
  readonly virtualHosts: readonly VirtualHostMember[];
}

interface VirtualHostMember {
  readonly id: string;
  /** The bytes of the member, with key and colon. */
  readonly member: Buffer;
  readonly value: Buffer;
}

export const EMPTY_CONFIG = Buffer.from('{"virtual_hosts":{}}');

const scanner = new JsonScanner();

/** Reads a config that is to be edited. @returns a string, the reason, if it cannot be edited. */
export function readEditableConfig(bytes: Buffer): EditableConfig | string {
  const decoding = decodeUserConfig(bytes);
  if (!decoding.ok) return decoding.issues;
  if (!scanner.scan(bytes, 2)) return 'nested too deeply, or too many values';
  const node = findVirtualHostsNode(bytes);
  if (node === undefined) return 'virtual_hosts: must be present once';
  const virtualHosts: VirtualHostMember[] = [];
  for (let host = node + 1; host < scanner.next(node); host = scanner.next(host)) {
    const member = bytes.subarray(scanner.keyStart(host) - 1, scanner.end(host));
    virtualHosts.push({
      id: keyOf(bytes, host),
      member,
      value: bytes.subarray(scanner.start(host), scanner.end(host)),
    });
  }
  return { bytes, hostsStart: scanner.start(node), hostsEnd: scanner.end(node), virtualHosts };
}

/** The edited config. @param removed ids. @param added virtual hosts as JSON, by id. An existing id must also be in `removed`. */
export function editConfig(
  config: EditableConfig,
  removed: ReadonlySet<string>,
  added: ReadonlyMap<string, string>,
): Buffer {
  const keptMembers = config.virtualHosts.filter(({ id }) => !removed.has(id)).map(({ member }) => member);
  const addedMembers = Array.from(added, ([id, json]) => Buffer.from(`${JSON.stringify(id)}:${json}`));
  const parts: Buffer[] = [config.bytes.subarray(0, config.hostsStart), OPEN];
  for (const [index, member] of [...keptMembers, ...addedMembers].entries()) {
    if (index > 0) parts.push(COMMA);
    parts.push(member);
  }
  parts.push(CLOSE, config.bytes.subarray(config.hostsEnd));
  return Buffer.concat(parts);
}

function findVirtualHostsNode(bytes: Buffer): number | undefined {
  let found: number | undefined;
  for (let node = 1; node < scanner.next(0); node = scanner.next(node)) {
    if (keyOf(bytes, node) !== 'virtual_hosts') continue;
    if (found !== undefined || scanner.kind(node) !== jsonKind.object) return undefined;
    found = node;
  }
  return found;
}

function keyOf(bytes: Buffer, node: number): string {
  return stringValue(bytes, scanner.keyStart(node) - 1, scanner.keyEnd(node) + 1);
}

const OPEN = Buffer.from('{');
const COMMA = Buffer.from(',');
const CLOSE = Buffer.from('}');

const publicationShape = z.object({
  subject: z.string(),
  /** The ids of the published virtual hosts. */
  virtualHosts: z.array(z.string()),
  /** Whether the control plane created the config: then it deletes the config when nothing is left in it. */
  isConfigOurs: z.boolean(),
});

/** The record of what the control plane has published into a user config. Record and config change in one swap. */
export type PublicationRecord = Readonly<z.infer<typeof publicationShape>>;

export function publicationKey(subject: string): RecordKey {
  return { space: 'publications', key: subject };
}

/** The record's contents; `undefined` if the control plane has not written it. */
export function readPublication(record: Buffer): PublicationRecord | undefined {
  try {
    return publicationShape.parse(JSON.parse(record.toString()));
  } catch {
    return undefined;
  }
}

/** Adds to a new config the `published` virtual hosts (ids) of the stored one that it lacks. @returns the config, and the ids added. */
export function keepPublished(
  stored: Buffer,
  config: Buffer,
  published: readonly string[],
): { readonly config: Buffer; readonly kept: readonly string[] } {
  const [before, after] = [readEditableConfig(stored), readEditableConfig(config)];
  if (typeof before === 'string' || typeof after === 'string') return { config, kept: [] };
  const present = new Set(after.virtualHosts.map(({ id }) => id));
  const missing = before.virtualHosts.filter(({ id }) => published.includes(id) && !present.has(id));
  const added = new Map(missing.map(({ id, value }) => [id, value.toString()]));
  return { config: added.size === 0 ? config : editConfig(after, new Set(), added), kept: [...added.keys()] };
}
