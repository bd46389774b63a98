// Compares the virtual hosts that we have published into one subject's user config with those that it should have. A virtual host is ours
// when the publication record says so, never by its id alone: whatever else is in the config is somebody else's.
import { isDeepStrictEqual } from 'node:util';
import { limits } from '../../shared/limits.js';
import type { RecordChange, RecordKey } from '../../store/record-store.js';
import { editConfig, EMPTY_CONFIG, readConfig, type EditableConfig } from './virtual-host-edit.js';

/** Written with the user config in one swap, so that it is true of it. */
interface PublicationRecord {
  readonly subject: string;
  /** Ids of our virtual hosts. */
  readonly virtualHosts: readonly string[];
  /** Whether there was no config before ours: then there is none after it. */
  readonly isConfigOurs: boolean;
}

/** Of one subject, as it was read. */
export interface PublicationState {
  readonly subject: string;
  readonly record: Buffer | undefined;
  readonly config: Buffer | undefined;
}

export type PublicationPlan =
  /** Everything is as it should be. */
  | { readonly kind: 'current' }
  | { readonly kind: 'stale'; readonly changes: readonly RecordChange[] }
  /** Nothing can be done about it here; the reason is for people and repeats no value. */
  | { readonly kind: 'obstructed'; readonly reason: string };

export function publicationKey(subject: string): RecordKey {
  return { space: 'publications', key: subject };
}

export function userConfigKey(subject: string): RecordKey {
  return { space: 'user-configs', key: subject };
}

/** @param wanted JSON of the virtual hosts that the subject should have of ours, by id. */
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

/** An empty value is no config either (decisions 2.2). */
function configIn({ config }: PublicationState): Buffer | undefined {
  return config === undefined || config.length === 0 ? undefined : config;
}

interface Difference {
  readonly removed: ReadonlySet<string>;
  readonly added: ReadonlyMap<string, string>;
}

/** Between the virtual hosts of ours that the config has and those that it should have. @returns why it cannot have them, in words. */
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
      if (json !== undefined) return `the user config has a virtual host ${id} of somebody else's`;
    } else if (json !== undefined && isDeepStrictEqual(JSON.parse(value.toString()), JSON.parse(json))) {
      current.add(id);
    } else {
      removed.add(id);
    }
  }
  // One that is there twice, once as it should be, is taken out twice.
  const added = new Map([...wanted].filter(([id]) => !current.has(id) || removed.has(id)));
  return { removed, added };
}

/** `undefined` of one who has nothing of ours. */
function recordOf(record: PublicationRecord): Buffer | undefined {
  return record.virtualHosts.length === 0 ? undefined : Buffer.from(JSON.stringify(record));
}

/** From what was read to what should be there. */
export function changesOf(
  state: PublicationState,
  record: Buffer | undefined,
  config: Buffer | undefined,
): readonly RecordChange[] {
  return [
    { ...publicationKey(state.subject), expected: state.record, value: record },
    // Also when it stays: the record must be true of it.
    { ...userConfigKey(state.subject), expected: state.config, value: config },
  ];
}

function obstructed(reason: string): PublicationPlan {
  return { kind: 'obstructed', reason };
}

function decode(record: Buffer): PublicationRecord {
  return JSON.parse(record.toString()) as PublicationRecord;
}
