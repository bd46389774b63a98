// A session directory that several machines share, in memory: each has its own view, which is notified of changes by the others.
import type {
  KnownVersion,
  SealedRead,
  SealedSession,
  SealedSessions,
  SessionPeers,
} from '../../src/store/sealed-sessions.js';

interface Kept {
  /** `undefined`: the mark of a removed session. */
  readonly session: SealedSession | undefined;
  readonly expiresAtMs: number;
}

export class SharedPlace {
  readonly records = new Map<string, Kept>();
  readonly views: SharedSessions[] = [];
  readonly #nowMs: () => number;

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  view(): SharedSessions {
    const view = new SharedSessions(this);
    this.views.push(view);
    return view;
  }

  present(name: string): Kept | undefined {
    const kept = this.records.get(name);
    return kept === undefined || kept.expiresAtMs <= this.#nowMs() ? undefined : kept;
  }

  leftMs(name: string): number {
    return (this.present(name)?.expiresAtMs ?? 0) - this.#nowMs();
  }

  keep(by: SharedSessions, key: Buffer, session: SealedSession | undefined, lifeMs: number): void {
    this.records.set(key.toString('hex'), { session, expiresAtMs: this.#nowMs() + lifeMs });
    for (const view of this.views) if (view !== by && !view.isLate) view.onChanged?.(key);
  }
}

class SharedPeers implements SessionPeers {
  onEnded: SessionPeers['onEnded'];
  onReceived: SessionPeers['onReceived'];
  /** Delays hearing that a session has ended, until it resolves. */
  gate: Promise<void> = Promise.resolve();
  readonly listener: string;
  readonly #place: SharedPlace;

  constructor(place: SharedPlace, listener: string) {
    this.#place = place;
    this.listener = listener;
  }

  async tellEnded(key: Buffer, listeners: readonly string[]): Promise<number> {
    const told = this.#place.views.filter(({ peers }) => listeners.includes(peers.listener));
    await Promise.all(
      told.map(async ({ peers }) => {
        await peers.gate;
        peers.onEnded?.(key);
      }),
    );
    return 0;
  }

  async send(key: Buffer, listeners: readonly string[], sealed: Buffer): Promise<void> {
    for (const { peers } of this.#place.views) if (listeners.includes(peers.listener)) peers.onReceived?.(key, sealed);
  }
}

export class SharedSessions implements SealedSessions {
  readonly isMultiMachine = true;
  onChanged: SealedSessions['onChanged'];
  readonly peers: SharedPeers;
  /** While true, the view is not notified of changes by others. */
  isLate = false;
  writesCount = 0;
  /** Delays each command until it resolves. */
  gate: Promise<void> = Promise.resolve();
  readonly #place: SharedPlace;

  constructor(place: SharedPlace) {
    this.#place = place;
    this.peers = new SharedPeers(place, String(place.views.length));
  }

  async read(key: Buffer): Promise<SealedRead> {
    const kept = this.#place.present(key.toString('hex'));
    await this.gate;
    return kept && (kept.session ?? 'ended');
  }

  async write(key: Buffer, session: SealedSession, lifeMs: number): Promise<boolean> {
    this.writesCount += 1;
    await this.gate;
    const kept = this.#place.present(key.toString('hex'));
    if (kept !== undefined && kept.session === undefined) return false;
    if ((kept?.session?.version ?? 0) !== session.version - 1) return false;
    this.#place.keep(this, key, session, lifeMs);
    return true;
  }

  async renew(key: Buffer, lifeMs: number): Promise<boolean> {
    await this.gate;
    const session = this.#place.present(key.toString('hex'))?.session;
    if (session !== undefined) this.#place.keep(this, key, session, lifeMs);
    return session !== undefined;
  }

  async remove(key: Buffer, markMs: number, leftMsMax: number, known?: KnownVersion): Promise<boolean | SealedSession> {
    await this.gate;
    const name = key.toString('hex');
    const kept = this.#place.present(name);
    if (kept !== undefined && (kept.session === undefined || this.#place.leftMs(name) > leftMsMax)) return false;
    const isLater = kept?.session !== undefined && known !== undefined && kept.session.version !== known.version;
    this.#place.keep(this, key, undefined, isLater ? known.laterMarkMs : markMs);
    return isLater ? kept.session : true;
  }

  async close(): Promise<void> {}
}
