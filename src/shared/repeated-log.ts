// Lines that a caller could have written again and again: the first of a kind at once, the others counted on the next
// one, when its time has come. Cold: for what has gone wrong.
import type { Logger } from './logger.js';
import type { LineShares } from './line-shares.js';
import { limits } from './limits.js';

interface Kind {
  loggedAtMs: number;
  unloggedCount: number;
}

export class RepeatedLog {
  readonly #nowMs: () => number;
  /** In the order in which they were last logged. */
  readonly #kinds = new Map<string, Kind>();

  readonly #shares: LineShares | undefined;

  /** @param shares in the lines, where kinds are many. */
  constructor(nowMs: () => number = () => performance.now(), shares?: LineShares) {
    this.#nowMs = nowMs;
    this.#shares = shares;
  }

  /**
   * @param kind what makes two lines the same.
   * @param who in whose share the line counts.
   */
  info(logger: Logger, kind: string, fields: object, message: string, who = ''): void {
    const notLogged = this.#take(kind, who);
    if (notLogged === undefined) return;
    const withoutRoom = this.#shares?.takeRefused() ?? 0;
    const counts = { ...(notLogged > 0 && { notLogged }), ...(withoutRoom > 0 && { withoutRoom }) };
    logger.info({ ...fields, ...counts }, message);
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
  #take(kind: string, who = ''): number | undefined {
    const nowMs = this.#nowMs();
    const known = this.#kinds.get(kind);
    if (known !== undefined && nowMs - known.loggedAtMs < limits.failureLogIntervalMs) {
      known.unloggedCount += 1;
      return undefined;
    }
    if (this.#shares?.tryTake(who) === false) return undefined;
    this.#kinds.delete(kind);
    if (this.#kinds.size >= limits.repeatedLogKindsMax) {
      const [oldest] = this.#kinds.keys();
      if (oldest !== undefined) this.#kinds.delete(oldest);
    }
    this.#kinds.set(kind, { loggedAtMs: nowMs, unloggedCount: 0 });
    return known?.unloggedCount ?? 0;
  }
}
