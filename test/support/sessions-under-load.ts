// Sessions that call without a pause while the processes that serve them are killed: each call has a unique number, which the
// backend counts, and its begin, end and outcome are recorded.
import { setTimeout as sleep } from 'node:timers/promises';
import { KeptCaller } from './kept-caller.js';
import { rpc, type McpCaller, type McpSession } from './mcp-caller.js';
import type { McpBackend } from './mcp-backend.js';

/** A call without the correct answer. */
export interface FailedCall {
  readonly number: number;
  readonly beganAtMs: number;
  readonly endedAtMs: number;
  /** HTTP status; 0 when the connection ended. */
  readonly status: number;
  readonly what: string;
  /** The connection was refused: nothing was sent. */
  readonly isRefused: boolean;
}

/** The death of one process: from the signal until it was gone. */
export interface Death {
  readonly signalledAtMs: number;
  readonly goneAtMs: number;
  /** When a worker listened again, if the death left no worker listening. */
  readonly servedAgainAtMs?: number;
}

/** Pause between two attempts to connect when nothing listens. */
const REFUSED_PAUSE_MS = 50;

export class SessionsUnderLoad {
  readonly failures: FailedCall[] = [];
  answeredCount = 0;
  readonly #caller: McpCaller;
  readonly #tools: readonly string[];
  readonly #running: Promise<void>[] = [];
  #sessionIds: readonly string[] = [];
  #lastNumber = 0;
  #isEnding = false;

  /** @param tools that echo their arguments, called in turn. */
  constructor(caller: McpCaller, tools: readonly string[]) {
    this.#caller = caller;
    this.#tools = tools;
  }

  get sessionIds(): readonly string[] {
    return this.#sessionIds;
  }

  async open(count: number): Promise<void> {
    const sessions = await Promise.all(Array.from({ length: count }, () => this.#caller.openSession()));
    this.#sessionIds = sessions.map(({ id }) => id);
    for (const session of sessions) this.#running.push(this.#keepCalling(session));
  }

  /** Resolves when `count` more calls were answered. */
  async answered(count: number): Promise<void> {
    for (const goal = this.answeredCount + count; this.answeredCount < goal;) await sleep(5);
  }

  async end(): Promise<void> {
    this.#isEnding = true;
    await Promise.all(this.#running);
  }

  /** Failures that no death excuses: the call was not in flight during one, or failed later than `toldWithinMs` after it. */
  unexcused(deaths: readonly Death[], toldWithinMs: number): FailedCall[] {
    const unserved = new Set(this.unserved(deaths));
    return this.failures.filter(
      (failure) => !unserved.has(failure) && !deaths.some((death) => isOf(failure, death, toldWithinMs)),
    );
  }

  /**
   * Calls that began while no worker lived: their connections were refused, or accepted by a starting gateway that only checks whether
   * its port is free, and closed. No worker read them.
   */
  unserved(deaths: readonly Death[]): FailedCall[] {
    return this.failures.filter(
      ({ beganAtMs, status, isRefused }) =>
        status === 0 &&
        deaths.some(
          ({ signalledAtMs, goneAtMs, servedAgainAtMs = 0 }) =>
            beganAtMs >= (isRefused ? signalledAtMs : goneAtMs) && beganAtMs <= servedAgainAtMs,
        ),
    );
  }

  /** Calls over one connection for as long as it lasts. */
  async #keepCalling(session: McpSession): Promise<void> {
    let connection: KeptCaller | undefined;
    while (!this.#isEnding) {
      const beganAtMs = performance.now();
      const number = ++this.#lastNumber;
      let status = 0;
      let what = '';
      let isRefused = false;
      try {
        connection ??= await KeptCaller.connect(this.#caller);
        const tool = this.#tools[number % this.#tools.length] ?? '';
        const answer = await connection.use(session).call(tool, `{"number":${number}}`, { id: String(number) });
        status = answer.status;
        what = status === 200 && isAnswerTo(number, rpc(answer)) ? '' : answer.text;
      } catch (error) {
        what = error instanceof Error ? error.message.slice(0, 160) : String(error);
        connection?.close();
        connection = undefined;
        isRefused = (error as NodeJS.ErrnoException).syscall === 'connect';
      }
      if (what === '') this.answeredCount += 1;
      else this.failures.push({ number, beganAtMs, endedAtMs: performance.now(), status, what, isRefused });
      if (what !== '' && status === 0) await sleep(isRefused ? REFUSED_PAUSE_MS : 5);
    }
    connection?.close();
  }
}

function isAnswerTo(number: number, { id, result }: { readonly id?: unknown; readonly result?: unknown }): boolean {
  const { structuredContent } = (result ?? {}) as { structuredContent?: { number?: unknown } };
  return id === number && structuredContent?.number === number;
}

/** Whether the call was in flight when the process died, and failed in time. */
function isOf({ beganAtMs, endedAtMs, status }: FailedCall, death: Death, toldWithinMs: number): boolean {
  if (status === 404) return false;
  const { signalledAtMs, goneAtMs } = death;
  return beganAtMs <= goneAtMs && endedAtMs >= signalledAtMs && endedAtMs <= goneAtMs + toldWithinMs;
}

/** The number of every call that reached the backends, as often as it did. */
export function carriedOut(backends: readonly McpBackend[]): number[] {
  return backends
    .flatMap(({ calls }) => calls)
    .map(({ argumentsText }) => (JSON.parse(argumentsText ?? '{}') as { number: number }).number);
}

/** The numbers of calls that were carried out more than once. */
export function carriedOutTwice(backends: readonly McpBackend[]): number[] {
  const seen = new Set<number>();
  const twice: number[] = [];
  for (const number of carriedOut(backends)) {
    if (seen.has(number)) twice.push(number);
    seen.add(number);
  }
  return twice;
}
