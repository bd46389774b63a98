// An open loop: requests are due at an even rate, whatever happens to the earlier ones. autocannon's own rate mode sends all
// requests of a second at its start, which would measure a burst instead of a rate.
import { setTimeout as sleep } from 'node:timers/promises';
import { ANSWER_SECONDS_MAX, headersOf, type OpenedConnection } from './bench-session.js';
import { FaultCounter } from './fault-counter.js';
import { HttpExchanges } from './http-exchanges.js';
import type { LoadPlan, Measurement } from './load-plan.js';
import { MeasuredWindow } from './measured-window.js';

/** How often due requests are checked for. */
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
  /** When each request was due that had no free connection. Bounded by the rate and the length of a run. */
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
    // Every request due in the window counts: a target that fell behind must not be spared its slowest responses.
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
      // The connection that was free for longest, so that all are used equally.
      const exchanges = this.#nextFree();
      if (exchanges === undefined) this.#overdueMs.push(dueMs);
      else this.#send(exchanges, dueMs);
    }
  }

  #nextFree(): HttpExchanges | undefined {
    for (let next = this.#free.shift(); next !== undefined; next = this.#free.shift()) {
      // A connection that was closed while it was free is unusable.
      if (this.#all.has(next)) return next;
    }
    return undefined;
  }

  #send(exchanges: HttpExchanges, dueMs: number): void {
    this.#sentCount += 1;
    exchanges.send(dueMs);
  }
}
