// Compares the virtual hosts that the control plane has published into a subject's user config with those that it should have. It
// owns a virtual host only if the publication record says so, never by the id alone: everything else belongs to somebody else.
import { randomBytes } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { limits } from '../../shared/index.js';
import type { RecordChange, RecordKey } from '../../store/index.js';
import {
  publicationKey,
  readPublication,
  type PublicationRecord,
  EMPTY_CONFIG,
  editConfig,
  readConfig,
  type EditableConfig,
} from '../../user-config/index.js';

/** A subject's publication record and user config, as read. */
export interface PublicationState {
  readonly subject: string;
  readonly record: Buffer | undefined;
  readonly config: Buffer | undefined;
}

export type PublicationPlan =
  /** Nothing to change. */
  | { readonly kind: 'current' }
  /** What is to be stored. */
  | { readonly kind: 'stale'; readonly record: Buffer | undefined; readonly config: Buffer | undefined }
  /** Cannot be published; the reason is for people and repeats no value. */
  | { readonly kind: 'obstructed'; readonly reason: string };

export function userConfigKey(subject: string): RecordKey {
  return { space: 'user-configs', key: subject };
}

/** @param wanted JSON of the control plane's virtual hosts that the subject should have, by id. */
export function planPublication(state: PublicationState, wanted: ReadonlyMap<string, string>): PublicationPlan {
  const before = publishedBefore(state);
  if (typeof before === 'string') return obstructed(before);
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
    return { kind: 'stale', record, config: state.config };
  }
  const edited = editConfig(config, removed, added);
  if (added.size > 0 && edited.length > limits.userConfigBytesMax) {
    return obstructed(`the user config would be larger than ${limits.userConfigBytesMax} bytes`);
  }
  const isUnused = before?.isConfigOurs === true && edited.equals(EMPTY_CONFIG);
  return { kind: 'stale', record, config: isUnused ? undefined : edited };
}

/** @returns the publication record; a reason if it is damaged, unless there is no config that it could be about. */
function publishedBefore(state: PublicationState): PublicationRecord | string | undefined {
  const before = state.record && readPublication(state.record);
  if (state.record === undefined || before !== undefined || configIn(state) === undefined) return before;
  return 'the record of what was published into the user config is damaged: delete the user config';
}

/** An empty value counts as no config (specification 2.2). */
function configIn({ config }: PublicationState): Buffer | undefined {
  return config === undefined || config.length === 0 ? undefined : config;
}

interface Difference {
  readonly removed: ReadonlySet<string>;
  readonly added: ReadonlyMap<string, string>;
}

/** From the control plane's virtual hosts in the config to those that it should have. @returns a reason if it cannot have them. */
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

/** A thread gets and sends a buffer as a plain array with its own memory. */
export function ownedBuffer(bytes: Uint8Array | undefined): Buffer | undefined {
  return bytes && Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** The changes from the state that was read to the given record and config. */
export function changesOf(
  state: PublicationState,
  { record, config }: Pick<PublicationState, 'record' | 'config'>,
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

// Publication jobs as records: a job is written in the swap that makes it necessary, and removed when it is done. If the process dies in
// between, another one finds the job and does it; doing it twice is harmless.

export const PUBLICATION_JOBS = 'publication-jobs/';

interface JobTarget {
  /** Subjects whose user configs may be out of date. */
  readonly subjects?: readonly string[];
  /** Ids and names of servers: the job is for the subjects of all compositions that have one of these servers. */
  readonly servers?: readonly string[];
}

export interface PublicationJob extends JobTarget {
  /** Key of its record. */
  readonly key: string;
  readonly bytes: Buffer;
}

export function createJob(target: JobTarget): PublicationJob {
  return { key: PUBLICATION_JOBS + randomBytes(16).toString('hex'), ...target, bytes: encode(target) };
}

export function readJob(key: string, bytes: Buffer): PublicationJob {
  return { key, bytes, ...(JSON.parse(bytes.toString()) as JobTarget) };
}

export function jobChangeToAdd({ key, bytes }: PublicationJob): RecordChange {
  return { ...jobKey(key), expected: undefined, value: bytes };
}

/** @param left subjects that could not be published to: the job stays, for these. */
export function jobChangeAfterRun({ key, bytes }: PublicationJob, left: readonly string[]): RecordChange {
  return { ...jobKey(key), expected: bytes, value: left.length === 0 ? undefined : encode({ subjects: left }) };
}

function jobKey(key: string): RecordKey {
  return { space: 'records', key };
}

function encode({ subjects, servers }: JobTarget): Buffer {
  return Buffer.from(JSON.stringify({ subjects, servers }));
}
