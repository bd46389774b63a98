// A session directory in the test's own memory, which can be slow, silent or broken; a test announces the changes of others itself.
import type { SealedRead, SealedSession, SealedSessions } from '../../src/store/sealed-sessions.js';

export class MemorySessions implements SealedSessions {
  isMultiMachine = false;
  onChanged: SealedSessions['onChanged'];
  readonly records = new Map<string, SealedSession & { readonly expiresAtMs: number }>();
  readsCount = 0;
  writesCount = 0;
  /** `late`: answers with a promise; `silent`: never answers; `broken`: everything fails. */
  mood: 'prompt' | 'late' | 'silent' | 'broken' = 'prompt';

  read(key: Buffer): SealedRead | Promise<SealedRead> {
    this.readsCount += 1;
    const found = this.records.get(key.toString('hex'));
    if (this.mood === 'broken') throw new Error('it is broken');
    if (this.mood === 'prompt') return found;
    return this.mood === 'late' ? Promise.resolve(found) : new Promise(() => {});
  }

  async write(key: Buffer, session: SealedSession, lifeMs: number): Promise<boolean> {
    this.writesCount += 1;
    await this.#obeyMood();
    const present = this.records.get(key.toString('hex'))?.version ?? 0;
    if (session.version !== 1 && present !== session.version - 1) return false;
    this.records.set(key.toString('hex'), { ...session, expiresAtMs: performance.now() + lifeMs });
    return true;
  }

  async renew(key: Buffer, lifeMs: number): Promise<boolean> {
    await this.#obeyMood();
    const present = this.records.get(key.toString('hex'));
    if (present !== undefined)
      this.records.set(key.toString('hex'), { ...present, expiresAtMs: performance.now() + lifeMs });
    return present !== undefined;
  }

  async remove(key: Buffer): Promise<boolean> {
    await this.#obeyMood();
    return this.records.delete(key.toString('hex'));
  }

  async close(): Promise<void> {}

  async #obeyMood(): Promise<void> {
    if (this.mood === 'broken') throw new Error('it is broken');
    if (this.mood === 'silent') await new Promise(() => {});
  }
}
