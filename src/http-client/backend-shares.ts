// Counts connections to backends, per subject and in total. A subject's share counts only connections that carry its requests. The last
// free connections are reserved for subjects that use few (fair/share.ts). Hot path: a few counters per request.
import { readFileSync } from 'node:fs';
import { isWithinBounds, ListNode, withReserve, type ShareBounds } from '../fair/index.js';
import { limits, perSubject } from '../shared/index.js';

export class SubjectUse {
  readonly subject: string;
  /** Connections that carry the subject's requests, to any backend. */
  connectionCount = 0;
  readonly pools = new ListNode();
  poolCount = 0;

  constructor(subject: string) {
    this.subject = subject;
  }

  get isUnused(): boolean {
    return this.connectionCount === 0 && this.poolCount === 0;
  }
}

export class PoolUse {
  readonly subjectUse: SubjectUse;
  connectionCount = 0;
  /** Whether the subject's calls that wait for this pool are passed over. */
  isPaused = false;

  constructor(subjectUse: SubjectUse) {
    this.subjectUse = subjectUse;
  }
}

export interface BackendShareBounds {
  readonly connectionsMax: number;
  readonly connectionsPerSubjectMax: number;
  readonly poolsMax: number;
  readonly poolsPerSubjectMax: number;
}

export class BackendShares {
  readonly bounds: BackendShareBounds;
  readonly #busyBounds: ShareBounds;
  readonly #uses = new Map<string, SubjectUse>();
  /** All connections, also those being opened. Pools change this number. */
  connectionCount = 0;
  /** Connections that carry requests. `#busySubjectCount`: the subjects that have such connections. */
  #busyCount = 0;
  #busySubjectCount = 0;

  constructor(bounds: Partial<BackendShareBounds> = {}) {
    const connectionsMax = bounds.connectionsMax ?? connectionsOfProcess();
    this.bounds = {
      connectionsMax,
      connectionsPerSubjectMax: perSubject(connectionsMax),
      poolsMax: limits.upstreamOriginsMax,
      poolsPerSubjectMax: perSubject(limits.upstreamOriginsMax),
      ...bounds,
    };
    this.#busyBounds = withReserve({ subjectMax: this.bounds.connectionsPerSubjectMax, totalMax: connectionsMax });
  }

  get isFull(): boolean {
    return this.connectionCount >= this.bounds.connectionsMax;
  }

  get subjectCount(): number {
    return this.#uses.size;
  }

  /** Whether the subject may use one more connection, if one is free. */
  mayUseOneMore({ connectionCount }: SubjectUse): boolean {
    const own = connectionCount + 1;
    const bounds = this.#busyBounds;
    return own <= bounds.subjectMax && isWithinBounds(bounds, this.#busyCount + 1, own, this.#busySubjectCount);
  }

  noteBusy(use: SubjectUse): void {
    if (use.connectionCount === 0) this.#busySubjectCount += 1;
    use.connectionCount += 1;
    this.#busyCount += 1;
  }

  noteFree(use: SubjectUse): void {
    use.connectionCount -= 1;
    this.#busyCount -= 1;
    if (use.connectionCount === 0) this.#busySubjectCount -= 1;
  }

  useOf(subject: string): SubjectUse {
    let use = this.#uses.get(subject);
    if (use === undefined) {
      use = new SubjectUse(subject);
      this.#uses.set(subject, use);
    }
    return use;
  }

  /** Forgets subjects that use nothing. `fair/list-node.ts` says why this is not done with each request. */
  sweep(): void {
    for (const [subject, use] of this.#uses) if (use.isUnused) this.#uses.delete(subject);
  }
}

/** Half of the files that the process may open, if their number is known: the other half is for callers. */
function connectionsOfProcess(): number {
  let openFilesMax = Infinity;
  try {
    const [, soft] = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'latin1')) ?? [];
    if (soft !== undefined) openFilesMax = Number(soft);
  } catch {
    // The file exists only on Linux.
  }
  return Math.min(limits.upstreamConnectionsTotalMax, Math.floor(openFilesMax / 2));
}
