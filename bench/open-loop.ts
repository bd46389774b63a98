// An open loop: requests are due at an even rate, whatever becomes of the earlier ones. autocannon's own rate sends what
// is due in a second at its start, all at once, which would measure a burst and no rate.
import { setTimeout as sleep } from 'node:timers/promises';
import { ANSWER_SECONDS_MAX, headersOf, type OpenedConnection } from './bench-session.js';
import { FaultCounter } from './fault-counter.js';
import { HttpExchanges } from './http-exchanges.js';
import type { LoadPlan, Measurement } from './load-plan.js';
import { MeasuredWindow } from './measured-window.js';

/** How often it is looked which requests are due. */
const TICK_MS = 1;
const DRAIN_CHECK_MS = 10;

export async function runOpenLoop(
  plan: LoadPlan,
  requestsPerSecond: number,
  connections: readonly OpenedConnection[],
): Promise<Measurement> {
  const loop = new OpenLoop(plan, requestsPerSecond);
  await loop.connect(connections);
  return loop.run();
}

class OpenLoop {
  readonly #plan: LoadPlan;
  readonly #requestsPerMs: number;
  readonly #window: MeasuredWindow;
  readonly #faults = new FaultCounter();
  readonly #free: HttpExchanges[] = [];
  readonly #all = new Set<HttpExchanges>();
  /** When each request that no connection was free for was due. Bounded by the rate and the length of a run. */
  readonly #overdueMs: number[] = [];
  #dueCount = 0;
  #sentCount = 0;
  #errorCount = 0;
  #refusedCount = 0;

  constructor(plan: LoadPlan, requestsPerSecond: number) {
    this.#plan = plan;
    this.#requestsPerMs = requestsPerSecond / 1_000;
    this.#window = new MeasuredWindow(plan);
  }

  async connect(connections: readonly OpenedConnection[]): Promise<void> {
    for (const { plan, sessionId } of connections) {
      const step = plan.script.loop[0];
      if (step === undefined || plan.script.loop.length > 1) throw new Error('an open loop repeats one request');
      const request = { ...step, headers: headersOf(plan, step, sessionId) };
      const exchanges = await HttpExchanges.connect(this.#plan.origin, request, {
        onAnswer: (status, body, dueMs) => {
          this.#faults.onAnswer();
          if (status < 200 || status > 299) this.#refusedCount += 1;
          this.#faults.checkAnswer(step, status, body);
          this.#window.record(performance.now() - dueMs, dueMs);
          const overdueMs = this.#overdueMs.shift();
          if (overdueMs === undefined) this.#free.push(exchanges);
          else this.#send(exchanges, overdueMs);
        },
        onFault: (error) => {
          this.#errorCount += 1;
          this.#faults.onError(error);
          this.#all.delete(exchanges);
        },
      });
      this.#all.add(exchanges);
      this.#free.push(exchanges);
    }
  }

  async run(): Promise<Measurement> {
    const startedMs = performance.now();
    const ticker = setInterval(() => this.#sendWhatIsDue(startedMs), TICK_MS);
    await sleep(this.#plan.warmUpMs);
    this.#window.open();
    await sleep(this.#plan.measureMs);
    this.#window.close();
    clearInterval(ticker);
    // All that was due in the window counts: a target that fell behind must not be spared its slowest answers.
    const deadlineMs = performance.now() + ANSWER_SECONDS_MAX * 1_000;
    while (this.#free.length < this.#all.size && performance.now() < deadlineMs) await sleep(DRAIN_CHECK_MS);
    for (const exchanges of this.#all) exchanges.close();
    const errors = this.#errorCount + this.#overdueMs.length;
    const totals = { errors, non2xx: this.#refusedCount, connections: 0, requests: { sent: this.#sentCount } };
    return { ...this.#window.figures(), faults: this.#faults.count(totals) };
  }

  #sendWhatIsDue(startedMs: number): void {
    const dueCount = Math.floor((performance.now() - startedMs) * this.#requestsPerMs);
    for (; this.#dueCount < dueCount; this.#dueCount += 1) {
      const dueMs = startedMs + (this.#dueCount + 1) / this.#requestsPerMs;
      // The one that was free for longest, so that all connections are used alike.
      const exchanges = this.#nextFree();
      if (exchanges === undefined) this.#overdueMs.push(dueMs);
      else this.#send(exchanges, dueMs);
    }
  }

  #nextFree(): HttpExchanges | undefined {
    for (let next = this.#free.shift(); next !== undefined; next = this.#free.shift()) {
      // One that was closed while it was free is in no use any more.
      if (this.#all.has(next)) return next;
    }
    return undefined;
  }

  #send(exchanges: HttpExchanges, dueMs: number): void {
    this.#sentCount += 1;
    exchanges.send(dueMs);
  }
}
