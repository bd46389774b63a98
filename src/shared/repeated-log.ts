// Log lines that a caller could trigger over and over: the first of a kind is logged at once, the others are counted in the next line of
// that kind once an interval has passed. Cold path: only for failures.
import type { Logger } from './logger.js';
import type { LineShares } from './line-shares.js';
import { limits } from './limits.js';

/**
 * Kinds of log line, such as about one subject's broken config, whose repetitions are counted. Beyond it, the oldest kind is forgotten,
 * and logged again when it recurs.
 */
export const REPEATED_LOG_KINDS_MAX = 1_024;

interface Kind {
  loggedAtMs: number;
  unloggedCount: number;
}

export class RepeatedLog {
  readonly #nowMs: () => number;
  /** Ordered by when they were last logged. */
  readonly #kinds = new Map<string, Kind>();

  readonly #shares: LineShares | undefined;

  /** @param shares limits the lines in total and per subject, where there are many kinds. */
  constructor(nowMs: () => number = () => performance.now(), shares?: LineShares) {
    this.#nowMs = nowMs;
    this.#shares = shares;
  }

  /**
   * @param kind lines of the same kind count as repetitions.
   * @param who the subject whose share of lines it takes from.
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

  /** @returns how many lines of the kind were not logged before this one, or `undefined` when this one is not logged either. */
  #take(kind: string, who = ''): number | undefined {
    const nowMs = this.#nowMs();
    const known = this.#kinds.get(kind);
    if (known !== undefined && nowMs - known.loggedAtMs < limits.failureLogIntervalMs) {
      known.unloggedCount += 1;
      return undefined;
    }
    if (this.#shares?.tryTake(who) === false) return undefined;
    this.#kinds.delete(kind);
    if (this.#kinds.size >= REPEATED_LOG_KINDS_MAX) {
      const [oldest] = this.#kinds.keys();
      if (oldest !== undefined) this.#kinds.delete(oldest);
    }
    this.#kinds.set(kind, { loggedAtMs: nowMs, unloggedCount: 0 });
    return known?.unloggedCount ?? 0;
  }
}
