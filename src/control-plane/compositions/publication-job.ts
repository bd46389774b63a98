// Publication jobs as records: each is written in the swap that makes it necessary, and removed when it is done. If the
// process dies in between, another one finds the job and does it; doing it twice is harmless.
import { randomBytes } from 'node:crypto';
import type { RecordChange, RecordKey } from '../../store/index.js';

export const PUBLICATION_JOBS = 'publication-jobs/';

interface JobTarget {
  /** Subjects whose user configs may be out of date. */
  readonly subjects?: readonly string[];
  /** Ids and names of servers: stands for the subjects of all compositions that have one of these servers. */
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

export function jobAdded({ key, bytes }: PublicationJob): RecordChange {
  return { ...recordOf(key), expected: undefined, value: bytes };
}

/** @param left subjects that could not be published to: the job stays, for these. */
export function jobDone({ key, bytes }: PublicationJob, left: readonly string[]): RecordChange {
  return { ...recordOf(key), expected: bytes, value: left.length === 0 ? undefined : encode({ subjects: left }) };
}

function recordOf(key: string): RecordKey {
  return { space: 'records', key };
}

function encode({ subjects, servers }: JobTarget): Buffer {
  return Buffer.from(JSON.stringify({ subjects, servers }));
}
