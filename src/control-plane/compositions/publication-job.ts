// What is still to be published, as records: each is written in the swap that makes it necessary, and removed when it is
// done. Whatever happens in between, somebody finds it and does it; twice does no harm.
import { randomBytes } from 'node:crypto';
import type { RecordChange, RecordKey } from '../../store/record-store.js';

export const PUBLICATION_JOBS = 'publication-jobs/';

interface JobTarget {
  /** Whose user configs may be out of date. */
  readonly subjects?: readonly string[];
  /** Ids and names of servers: the subjects of the compositions that have one of them are meant. */
  readonly servers?: readonly string[];
}

export interface PublicationJob extends JobTarget {
  /** Of its record. */
  readonly key: string;
  readonly bytes: Buffer;
}

export function createJob(target: JobTarget): PublicationJob {
  return { key: PUBLICATION_JOBS + randomBytes(16).toString('hex'), ...target, bytes: encode(target) };
}

export function readJob(key: string, bytes: Buffer): PublicationJob {
  return { key, bytes, ...(JSON.parse(bytes.toString()) as JobTarget) };
}

export function jobAdded({ key, bytes }: PublicationJob): RecordChange {
  return { ...recordOf(key), expected: undefined, value: bytes };
}

/** @param left subjects for whom nothing could be done: they are tried again. */
export function jobDone({ key, bytes }: PublicationJob, left: readonly string[]): RecordChange {
  return { ...recordOf(key), expected: bytes, value: left.length === 0 ? undefined : encode({ subjects: left }) };
}

function recordOf(key: string): RecordKey {
  return { space: 'records', key };
}

function encode({ subjects, servers }: JobTarget): Buffer {
  return Buffer.from(JSON.stringify({ subjects, servers }));
}
