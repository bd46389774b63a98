// How many connections to backends a process may have in total and per subject, and what each subject uses. A subject is charged only for
// connections that carry its requests; idle connections are charged to nobody. The last free connections are reserved for subjects that use
// few (fair/share.ts). Hot path: a few counters per request.
import { readFileSync } from 'node:fs';
import { isWithinBounds, ListNode, withReserve, type ShareBounds } from '../fair/index.js';
import { limits, perSubject } from '../shared/index.js';

/** What one subject uses of a process's connections and pools. */
export class SubjectUse {
  readonly subject: string;
  /** Connections that carry its requests, to any backend. */
  connections = 0;
  /** The pools that were made for it, oldest first. */
  readonly pools = new ListNode();
  poolCount = 0;

  constructor(subject: string) {
    this.subject = subject;
  }

  get isUnused(): boolean {
    return this.connections === 0 && this.poolCount === 0;
  }
}

/** One subject's use of one pool's connections. */
export class PoolUse {
  readonly ofSubject: SubjectUse;
  connections = 0;
  /** Whether the subject's calls that wait for this pool are excluded from turns. */
  isHeld = false;

  constructor(ofSubject: SubjectUse) {
    this.ofSubject = ofSubject;
  }
}

export interface BackendShareBounds {
  /** Connections of all pools together. */
  readonly connectionsMax: number;
  readonly connectionsPerSubjectMax: number;
  readonly poolsMax: number;
  readonly poolsPerSubjectMax: number;
}

export class BackendShares {
  readonly bounds: BackendShareBounds;
  readonly #room: ShareBounds;
  readonly #uses = new Map<string, SubjectUse>();
  /** Connections of all pools, including those being opened. Changed only here. */
  connections = 0;
  /** The number of connections that carry requests, and of the subjects that have such. */
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
    this.#room = withReserve({ subjectMax: this.bounds.connectionsPerSubjectMax, totalMax: connectionsMax });
  }

  get isFull(): boolean {
    return this.connections >= this.bounds.connectionsMax;
  }

  /** The number of subjects that use anything. */
  get subjects(): number {
    return this.#uses.size;
  }

  /** Whether the subject may have one more connection, if there is one: the last ones are reserved for subjects that use few. */
  allowsOneMore({ connections }: SubjectUse): boolean {
    const own = connections + 1;
    return own <= this.#room.subjectMax && isWithinBounds(this.#room, this.#busyCount + 1, own, this.#busySubjectCount);
  }

  /** The subject's request is put on a connection; `end` when it is over. */
  begin(use: SubjectUse): void {
    if (use.connections === 0) this.#busySubjectCount += 1;
    use.connections += 1;
    this.#busyCount += 1;
  }

  end(use: SubjectUse): void {
    use.connections -= 1;
    this.#busyCount -= 1;
    if (use.connections === 0) this.#busySubjectCount -= 1;
  }

  use(subject: string): SubjectUse {
    let use = this.#uses.get(subject);
    if (use === undefined) {
      use = new SubjectUse(subject);
      this.#uses.set(subject, use);
    }
    return use;
  }

  onOpened(): void {
    this.connections += 1;
  }

  onClosed(): void {
    this.connections -= 1;
  }

  /** Forgets subjects that use nothing. Done periodically, not with each request: `fair/list-node.ts` says why. */
  sweep(): void {
    for (const [subject, use] of this.#uses) if (use.isUnused) this.#uses.delete(subject);
  }
}

/** Half of the open-file limit of this process, where it can be read: the other half is for callers. */
function connectionsOfProcess(): number {
  let openFilesMax = Infinity;
  try {
    const [, soft] = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'latin1')) ?? [];
    if (soft !== undefined) openFilesMax = Number(soft);
  } catch {
    // Not on Linux.
  }
  return Math.min(limits.upstreamConnectionsTotalMax, Math.floor(openFilesMax / 2));
}
