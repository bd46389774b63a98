// Lines that a caller could have written again and again: the first of a kind at once, the others counted on the next
// one, when its time has come. Cold: for what has gone wrong.
import type { Logger } from './logger.js';
import { limits } from './limits.js';

interface Kind {
  loggedAtMs: number;
  unloggedCount: number;
}

export class RepeatedLog {
  readonly #nowMs: () => number;
  /** In the order in which they were last logged. */
  readonly #kinds = new Map<string, Kind>();

  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs;
  }

  /** @param kind what makes two lines the same. */
  info(logger: Logger, kind: string, fields: object, message: string): void {
    const notLogged = this.#take(kind);
    if (notLogged !== undefined) logger.info({ ...fields, ...(notLogged > 0 && { notLogged }) }, message);
  }

  warn(logger: Logger, kind: string, fields: object, message: string): void {
    const notLogged = this.#take(kind);
    if (notLogged !== undefined) logger.warn({ ...fields, ...(notLogged > 0 && { notLogged }) }, message);
  }

  error(logger: Logger, kind: string, fields: object, message: string): void {
    const notLogged = this.#take(kind);
    if (notLogged !== undefined) logger.error({ ...fields, ...(notLogged > 0 && { notLogged }) }, message);
  }

  /** @returns how many of the kind were not logged, or `undefined` when this one is not logged either. */
  #take(kind: string): number | undefined {
    const nowMs = this.#nowMs();
    const known = this.#kinds.get(kind);
    if (known !== undefined && nowMs - known.loggedAtMs < limits.failureLogIntervalMs) {
      known.unloggedCount += 1;
      return undefined;
    }
    this.#kinds.delete(kind);
    if (this.#kinds.size >= limits.repeatedLogKindsMax) {
      const [oldest] = this.#kinds.keys();
      if (oldest !== undefined) this.#kinds.delete(oldest);
    }
    this.#kinds.set(kind, { loggedAtMs: nowMs, unloggedCount: 0 });
    return known?.unloggedCount ?? 0;
  }
}
