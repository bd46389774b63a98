// Records of sessions as several machines share them: each has its own view, which hears what the others change.
import type { SealedRead, SealedSession, SealedSessions } from '../../src/store/sealed-sessions.js';

interface Kept {
  /** `undefined`: the mark of what was removed. */
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
    for (const view of this.views) if (view !== by) view.onChanged?.(key);
  }
}

export class SharedSessions implements SealedSessions {
  readonly isShared = true;
  onChanged: SealedSessions['onChanged'];
  /** What each command waits for. */
  gate: Promise<void> = Promise.resolve();
  readonly #place: SharedPlace;

  constructor(place: SharedPlace) {
    this.#place = place;
  }

  async read(key: Buffer): Promise<SealedRead> {
    const kept = this.#place.present(key.toString('hex'));
    await this.gate;
    return kept && (kept.session ?? 'ended');
  }

  async write(key: Buffer, session: SealedSession, lifeMs: number): Promise<boolean> {
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

  async remove(key: Buffer, markMs: number, leftMsMax: number): Promise<boolean> {
    await this.gate;
    const name = key.toString('hex');
    const kept = this.#place.present(name);
    if (kept !== undefined && (kept.session === undefined || this.#place.leftMs(name) > leftMsMax)) return false;
    this.#place.keep(this, key, undefined, markMs);
    return true;
  }

  async close(): Promise<void> {}
}
