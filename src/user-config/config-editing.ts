// Adds virtual hosts to the bytes of a user config and removes them. Everything else keeps its bytes: parsing and
// rewriting what others wrote would change numbers, escapes and duplicate members. Beside a config, the control plane keeps a record of
// which virtual hosts in it are its own: whoever else writes the config leaves these as they are.
import * as z from 'zod';
import { stringValue, JsonScanner, jsonKind } from '../bytes/index.js';
import type { RecordKey } from '../store/index.js';
import { decodeUserConfig } from './user-config-schema.js';

/** A user config that can be edited. */
export interface EditableConfig {
  readonly bytes: Buffer;
  /** Byte range of the value of `virtual_hosts`. */
  readonly start: number;
  readonly end: number;
  readonly virtualHosts: readonly VirtualHostMember[];
}

interface VirtualHostMember {
  readonly id: string;
  /** The member: key, colon and value. */
  readonly member: Buffer;
  /** The value alone. */
  readonly value: Buffer;
}

/** What a new config starts from. */
export const EMPTY_CONFIG = Buffer.from('{"virtual_hosts":{}}');

const scanner = new JsonScanner();

/** @returns what is wrong with the config, if it cannot be edited. Mostly the dataplane cannot read such a config either. */
export function readConfig(bytes: Buffer): EditableConfig | string {
  const decoding = decodeUserConfig(bytes);
  if (!decoding.ok) return decoding.issues;
  if (!scanner.scan(bytes, 2)) return 'nested too deeply, or too many values';
  const node = findVirtualHosts(bytes);
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
  return { bytes, start: scanner.start(node), end: scanner.end(node), virtualHosts };
}

/**
 * @param removed ids of virtual hosts.
 * @param added virtual hosts as JSON, by id; an id that exists must be among the removed.
 */
export function editConfig(
  config: EditableConfig,
  removed: ReadonlySet<string>,
  added: ReadonlyMap<string, string>,
): Buffer {
  const keptMembers = config.virtualHosts.filter(({ id }) => !removed.has(id)).map(({ member }) => member);
  const addedMembers = Array.from(added, ([id, json]) => Buffer.from(`${JSON.stringify(id)}:${json}`));
  const parts: Buffer[] = [config.bytes.subarray(0, config.start), OPEN];
  for (const [index, member] of [...keptMembers, ...addedMembers].entries()) {
    if (index > 0) parts.push(COMMA);
    parts.push(member);
  }
  parts.push(CLOSE, config.bytes.subarray(config.end));
  return Buffer.concat(parts);
}

function findVirtualHosts(bytes: Buffer): number | undefined {
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
  /** Ids of the control plane's virtual hosts. */
  virtualHosts: z.array(z.string()),
  /** Whether the control plane created the config: then it deletes the config once nothing is left in it. */
  isConfigOurs: z.boolean(),
});

/** Written in one swap with the user config, so that the two always match. */
export type PublicationRecord = Readonly<z.infer<typeof publicationShape>>;

export function publicationKey(subject: string): RecordKey {
  return { space: 'publications', key: subject };
}

/** `undefined` for a record that the control plane has not written. */
export function readPublication(record: Buffer): PublicationRecord | undefined {
  try {
    return publicationShape.parse(JSON.parse(record.toString()));
  } catch {
    return undefined;
  }
}

/**
 * @param published ids of the control plane's virtual hosts in the stored config.
 * @returns the new config, with those of the published virtual hosts that it lacks; and the ids of these (`kept`).
 */
export function keepPublished(
  stored: Buffer,
  config: Buffer,
  published: readonly string[],
): { readonly config: Buffer; readonly kept: readonly string[] } {
  const [before, after] = [readConfig(stored), readConfig(config)];
  if (typeof before === 'string' || typeof after === 'string') return { config, kept: [] };
  const present = new Set(after.virtualHosts.map(({ id }) => id));
  const missing = before.virtualHosts.filter(({ id }) => published.includes(id) && !present.has(id));
  const added = new Map(missing.map(({ id, value }) => [id, value.toString()]));
  return { config: added.size === 0 ? config : editConfig(after, new Set(), added), kept: [...added.keys()] };
}
