// How many connections to backends a process may have, and each subject of them. A subject's requests are counted where
// they have a connection, so what it has kept open and does not use is nobody's. Hot: two counters per request.
import { readFileSync } from 'node:fs';
import { ListNode } from '../../shared/list-node.js';
import { limits } from '../../shared/limits.js';

/** What one subject has of a process's connections and origins. */
export class SubjectUse {
  readonly subject: string;
  /** Connections that carry its requests, to any backend. */
  connections = 0;
  /** The pools that were made for it, the oldest first. */
  readonly pools = new ListNode();
  poolCount = 0;

  constructor(subject: string) {
    this.subject = subject;
  }

  get isNothing(): boolean {
    return this.connections === 0 && this.poolCount === 0;
  }
}

export interface ShareBounds {
  /** Connections of all pools together. */
  readonly connectionsMax: number;
  readonly connectionsPerSubjectMax: number;
  readonly poolsMax: number;
  readonly poolsPerSubjectMax: number;
}

export class BackendShares {
  readonly bounds: ShareBounds;
  readonly #uses = new Map<string, SubjectUse>();
  #connections = 0;

  constructor(bounds: Partial<ShareBounds> = {}) {
    const connectionsMax = bounds.connectionsMax ?? connectionsOfProcess();
    this.bounds = {
      connectionsMax,
      connectionsPerSubjectMax: Math.ceil(connectionsMax / limits.upstreamShareDivisor),
      poolsMax: limits.upstreamOriginsMax,
      poolsPerSubjectMax: limits.upstreamOriginsPerSubjectMax,
      ...bounds,
    };
  }

  /** Connections of all pools, those that are being opened too. */
  get connections(): number {
    return this.#connections;
  }

  get isFull(): boolean {
    return this.#connections >= this.bounds.connectionsMax;
  }

  /** Subjects that have anything. */
  get subjects(): number {
    return this.#uses.size;
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
    this.#connections += 1;
  }

  onClosed(): void {
    this.#connections -= 1;
  }

  /** Forgets subjects that have nothing. From time to time, not with each request: `shared/list-node.ts` says why. */
  sweep(): void {
    for (const [subject, use] of this.#uses) if (use.isNothing) this.#uses.delete(subject);
  }
}

/** Half of the files that this process may have open, where it can be told: the other half is for callers. */
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
