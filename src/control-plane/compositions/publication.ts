// Compares the virtual hosts that the control plane has published into a subject's user config with those that it
// should have. Only the publication record says which virtual hosts are the control plane's: ids alone do not.
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
  readEditableConfig,
  type EditableConfig,
} from '../../user-config/index.js';

/** A subject's publication record and user config, as read. */
export interface PublicationState {
  readonly subject: string;
  readonly record: Buffer | undefined;
  readonly config: Buffer | undefined;
}

export type PublicationPlan =
  | { readonly kind: 'current' }
  /** The record and config are outdated: these are to be stored in their place. */
  | { readonly kind: 'stale'; readonly record: Buffer | undefined; readonly config: Buffer | undefined }
  /** Publishing is impossible. The reason is for people, and contains no value of the config. */
  | { readonly kind: 'obstructed'; readonly reason: string };

export function userConfigKey(subject: string): RecordKey {
  return { space: 'user-configs', key: subject };
}

/** Compares the published virtual hosts with the wanted ones. @param wanted virtual hosts that the subject should have: JSON by id. */
export function planPublication(state: PublicationState, wanted: ReadonlyMap<string, string>): PublicationPlan {
  const before = publishedBefore(state);
  if (typeof before === 'string') return obstructedPlan(before);
  if (before === undefined && wanted.size === 0) return { kind: 'current' };
  const found = configIn(state);
  const config = readEditableConfig(found ?? EMPTY_CONFIG);
  if (typeof config === 'string') return obstructedPlan(`the user config cannot be decoded: ${config}`);
  const difference = differenceOf(config, new Set(before?.virtualHosts), wanted);
  if (typeof difference === 'string') return obstructedPlan(difference);
  const { removed, added } = difference;
  const isConfigOurs = found === undefined || before?.isConfigOurs === true;
  const record = encodePublication({ subject: state.subject, virtualHosts: [...wanted.keys()].sort(), isConfigOurs });
  if (removed.size === 0 && added.size === 0) {
    if (record !== undefined && state.record?.equals(record) === true) return { kind: 'current' };
    return { kind: 'stale', record, config: state.config };
  }
  const edited = editConfig(config, removed, added);
  if (added.size > 0 && edited.length > limits.userConfigBytesMax) {
    return obstructedPlan(`the user config would be larger than ${limits.userConfigBytesMax} bytes`);
  }
  const isUnused = before?.isConfigOurs === true && edited.equals(EMPTY_CONFIG);
  return { kind: 'stale', record, config: isUnused ? undefined : edited };
}

/** The publication record; `undefined` for none. @returns a string, the reason, if the record is damaged and there is a config. */
function publishedBefore(state: PublicationState): PublicationRecord | string | undefined {
  const before = state.record && readPublication(state.record);
  if (state.record === undefined || before !== undefined || configIn(state) === undefined) return before;
  return 'the record of what was published into the user config is damaged: delete the user config';
}

/** The config as read. An empty value counts as no config (specification 2.2). */
function configIn({ config }: PublicationState): Buffer | undefined {
  return config === undefined || config.length === 0 ? undefined : config;
}

/** What must change in the config; or, if the config cannot have the wanted virtual hosts, the reason. */
function differenceOf(
  { virtualHosts }: EditableConfig,
  published: ReadonlySet<string>,
  wanted: ReadonlyMap<string, string>,
) {
  const removed = new Set<string>();
  const current = new Set<string>();
  for (const { id, value } of virtualHosts) {
    const json = wanted.get(id);
    if (!published.has(id)) {
      if (json !== undefined)
        return `the user config already has a virtual host ${id} that the control plane did not publish: remove it from the user config`;
    } else if (json !== undefined && isDeepStrictEqual(JSON.parse(value.toString()), JSON.parse(json))) {
      current.add(id);
    } else {
      removed.add(id);
    }
  }
  // If the config has an id twice, one of them with the right value, both are removed and one is added.
  const added = new Map([...wanted].filter(([id]) => !current.has(id) || removed.has(id)));
  return { removed, added };
}

/** The publication record to store; `undefined` if the control plane has published no virtual host to the subject. */
function encodePublication(record: PublicationRecord): Buffer | undefined {
  return record.virtualHosts.length === 0 ? undefined : Buffer.from(JSON.stringify(record));
}

/** Restores a buffer that was passed to or from a thread, which turns it into a `Uint8Array`. */
export function toBuffer(bytes: Uint8Array | undefined): Buffer | undefined {
  return bytes && Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** The changes of the swap that replaces the record and config in `state`. */
export function publicationChanges(
  state: PublicationState,
  { record, config }: Pick<PublicationState, 'record' | 'config'>,
): readonly RecordChange[] {
  return [
    { ...publicationKey(state.subject), expected: state.record, value: record },
    // The config is included even if it stays the same: the record must match it.
    { ...userConfigKey(state.subject), expected: state.config, value: config },
  ];
}

function obstructedPlan(reason: string): PublicationPlan {
  return { kind: 'obstructed', reason };
}

// A publication job is stored in the swap that makes it necessary, and removed when it is done. If its process dies, another
// one finds and runs it. Running it twice is harmless.

export const PUBLICATION_JOBS_PREFIX = 'publication-jobs/';

interface JobTarget {
  /** Subjects whose user configs may be outdated. */
  readonly subjects?: readonly string[];
  /** Ids and names of servers: the job is for the subjects of all compositions that have one of these servers. */
  readonly servers?: readonly string[];
}

export interface PublicationJob extends JobTarget {
  readonly key: string;
  readonly bytes: Buffer;
}

export function createJob(target: JobTarget): PublicationJob {
  return { key: PUBLICATION_JOBS_PREFIX + randomBytes(16).toString('hex'), ...target, bytes: encodeTarget(target) };
}

export function readJob(key: string, bytes: Buffer): PublicationJob {
  return { key, bytes, ...(JSON.parse(bytes.toString()) as JobTarget) };
}

export function jobChangeToAdd({ key, bytes }: PublicationJob): RecordChange {
  return { ...jobKey(key), expected: undefined, value: bytes };
}

/** The change of the job's record after a run. @param left subjects that could not be published to, for whom the job stays. */
export function jobChangeAfterRun({ key, bytes }: PublicationJob, left: readonly string[]): RecordChange {
  return { ...jobKey(key), expected: bytes, value: left.length === 0 ? undefined : encodeTarget({ subjects: left }) };
}

function jobKey(key: string): RecordKey {
  return { space: 'records', key };
}

function encodeTarget({ subjects, servers }: JobTarget): Buffer {
  return Buffer.from(JSON.stringify({ subjects, servers }));
}
