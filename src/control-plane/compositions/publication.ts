// Compares the virtual hosts that the control plane has published into a subject's user config with those that it should have. It
// owns a virtual host only if the publication record says so, never by the id alone: everything else belongs to somebody else.
import { isDeepStrictEqual } from 'node:util';
import { limits } from '../../shared/limits.js';
import type { RecordChange, RecordKey } from '../../store/record-store.js';
import { stringValue } from '../../protocol/json-member.js';
import { JsonScanner, jsonKind } from '../../protocol/json-scanner.js';
import { decodeUserConfig } from '../../user-config/user-config-schema.js';

// Adds virtual hosts to the bytes of a user config and removes them. Everything else keeps its bytes: parsing and
// rewriting what others wrote would change numbers, escapes and duplicate members.

/** A user config that can be edited. */
interface EditableConfig {
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

/** @returns a text if the config cannot be edited: the dataplane cannot read it either, or may not. */
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
 * @param removed ids.
 * @param added JSON by id; an id that exists must be among the removed.
 */
export function editConfig(
  config: EditableConfig,
  removed: ReadonlySet<string>,
  added: ReadonlyMap<string, string>,
): Buffer {
  const kept = config.virtualHosts.filter(({ id }) => !removed.has(id)).map(({ member }) => member);
  const fresh = Array.from(added, ([id, json]) => Buffer.from(`${JSON.stringify(id)}:${json}`));
  const parts: Buffer[] = [config.bytes.subarray(0, config.start), OPEN];
  for (const [index, member] of [...kept, ...fresh].entries()) {
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

/** Written in one swap with the user config, so that it always matches it. */
interface PublicationRecord {
  readonly subject: string;
  /** Ids of the control plane's virtual hosts. */
  readonly virtualHosts: readonly string[];
  /** Whether the control plane created the config: then it deletes the config once nothing is left in it. */
  readonly isConfigOurs: boolean;
}

/** State of one subject, as read. */
export interface PublicationState {
  readonly subject: string;
  readonly record: Buffer | undefined;
  readonly config: Buffer | undefined;
}

export type PublicationPlan =
  /** Nothing to change. */
  | { readonly kind: 'current' }
  | { readonly kind: 'stale'; readonly changes: readonly RecordChange[] }
  /** Cannot be published; the reason is for people and repeats no value. */
  | { readonly kind: 'obstructed'; readonly reason: string };

export function publicationKey(subject: string): RecordKey {
  return { space: 'publications', key: subject };
}

export function userConfigKey(subject: string): RecordKey {
  return { space: 'user-configs', key: subject };
}

/** @param wanted JSON of the control plane's virtual hosts that the subject should have, by id. */
export function planPublication(state: PublicationState, wanted: ReadonlyMap<string, string>): PublicationPlan {
  const before = state.record === undefined ? undefined : decode(state.record);
  if (before === undefined && wanted.size === 0) return { kind: 'current' };
  const found = configIn(state);
  const config = readConfig(found ?? EMPTY_CONFIG);
  if (typeof config === 'string') return obstructed(`the user config cannot be decoded: ${config}`);
  const difference = differenceOf(config, new Set(before?.virtualHosts), wanted);
  if (typeof difference === 'string') return obstructed(difference);
  const { removed, added } = difference;
  const isConfigOurs = found === undefined || before?.isConfigOurs === true;
  const record = recordOf({ subject: state.subject, virtualHosts: [...wanted.keys()].sort(), isConfigOurs });
  if (removed.size === 0 && added.size === 0) {
    if (record !== undefined && state.record?.equals(record) === true) return { kind: 'current' };
    return { kind: 'stale', changes: changesOf(state, record, state.config) };
  }
  const edited = editConfig(config, removed, added);
  if (added.size > 0 && edited.length > limits.userConfigBytesMax) {
    return obstructed(`the user config would be larger than ${limits.userConfigBytesMax} bytes`);
  }
  const isOver = before?.isConfigOurs === true && edited.equals(EMPTY_CONFIG);
  return { kind: 'stale', changes: changesOf(state, record, isOver ? undefined : edited) };
}

/** An empty value counts as no config (decisions 2.2). */
function configIn({ config }: PublicationState): Buffer | undefined {
  return config === undefined || config.length === 0 ? undefined : config;
}

interface Difference {
  readonly removed: ReadonlySet<string>;
  readonly added: ReadonlyMap<string, string>;
}

/** Between the control plane's virtual hosts in the config and those that it should have. @returns a text if it cannot have them. */
function differenceOf(
  { virtualHosts }: EditableConfig,
  owned: ReadonlySet<string>,
  wanted: ReadonlyMap<string, string>,
): Difference | string {
  const removed = new Set<string>();
  const current = new Set<string>();
  for (const { id, value } of virtualHosts) {
    const json = wanted.get(id);
    if (!owned.has(id)) {
      if (json !== undefined)
        return `the user config already has a virtual host ${id} that the control plane did not publish: remove it from the user config`;
    } else if (json !== undefined && isDeepStrictEqual(JSON.parse(value.toString()), JSON.parse(json))) {
      current.add(id);
    } else {
      removed.add(id);
    }
  }
  // If the config has the id twice, once with the right value, both are removed and it is added again.
  const added = new Map([...wanted].filter(([id]) => !current.has(id) || removed.has(id)));
  return { removed, added };
}

/** `undefined` when the subject has no virtual host of the control plane. */
function recordOf(record: PublicationRecord): Buffer | undefined {
  return record.virtualHosts.length === 0 ? undefined : Buffer.from(JSON.stringify(record));
}

/** The changes from the state that was read to the given record and config. */
export function changesOf(
  state: PublicationState,
  record: Buffer | undefined,
  config: Buffer | undefined,
): readonly RecordChange[] {
  return [
    { ...publicationKey(state.subject), expected: state.record, value: record },
    // Included even when unchanged: the swap must fail if the config has changed, because the record must match it.
    { ...userConfigKey(state.subject), expected: state.config, value: config },
  ];
}

function obstructed(reason: string): PublicationPlan {
  return { kind: 'obstructed', reason };
}

function decode(record: Buffer): PublicationRecord {
  return JSON.parse(record.toString()) as PublicationRecord;
}
