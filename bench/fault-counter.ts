// Counts what makes a run's figures void: wrong bodies, refused requests, broken connections. A proxy that answers quickly
// but wrongly must not look fast.
import type { Faults, Step } from './load-plan.js';

/** How much of a body's beginning, and of its end, the sample shows: the end of a list names the backends that it lacks. */
const SAMPLE_CHARS_MAX = 300;

/** The parts of autocannon's result that report faults. */
export interface RunTotals {
  readonly errors: number;
  readonly non2xx: number;
  readonly connections: number;
  readonly requests: { readonly sent: number };
}

export class FaultCounter {
  #answers = 0;
  #wrongBodies = 0;
  #sample: string | undefined;

  onAnswer(): void {
    this.#answers += 1;
  }

  onError(error: unknown): void {
    this.#sample ??= error instanceof Error ? error.message : String(error);
  }

  /** Hot path. The status is counted elsewhere, so a wrong body here is one that came with a good status. */
  checkAnswer(step: Step, status: number, body: string): void {
    const isGood = status >= 200 && status < 300;
    if (isGood && isExpected(step, body)) return;
    if (isGood) this.#wrongBodies += 1;
    const expected = step.expectedBody ?? step.expectedPart ?? 'a 2xx';
    this.#sample ??= `${step.method} ${step.path} was answered ${status} with ${excerpt(body)}, not ${excerpt(expected)}`;
  }

  count({ errors, non2xx, connections, requests }: RunTotals): Faults {
    return {
      errors,
      non2xx,
      // autocannon silently reconnects when a connection ends, and forgets the request on it. Each connection has exactly
      // one request under way when the run is stopped; any further ones without a response were lost.
      lost: Math.max(0, requests.sent - this.#answers - connections),
      wrongBodies: this.#wrongBodies,
      sample: this.#sample,
    };
  }
}

function isExpected({ expectedBody, expectedPart }: Step, body: string): boolean {
  return (expectedBody ?? body) === body && (expectedPart === undefined || body.includes(expectedPart));
}

function excerpt(body: string): string {
  if (body.length <= 2 * SAMPLE_CHARS_MAX) return body;
  return `${body.slice(0, SAMPLE_CHARS_MAX)} … ${body.slice(-SAMPLE_CHARS_MAX)} (${body.length} characters)`;
}

export function faultCount({ errors, non2xx, lost, wrongBodies }: Faults): number {
  return errors + non2xx + lost + wrongBodies;
}
