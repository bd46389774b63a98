// Asks the admin listener of a dataplane over plain HTTP, with bounds on time, response size and concurrent requests,
// of which each subject has a share. The listener's address is shown to admins only. Cold path.
import { formatAddress, type ListenAddress } from '../../config/index.js';
import { bodyText, limits } from '../../shared/index.js';
import { Quota } from '../../fair/index.js';
import { ControlPlaneFault } from '../common/control-plane-fault.js';

/** Checks and types an answer: a schema of zod. */
interface Shape<Value> {
  safeParse(value: unknown): { readonly success: true; readonly data: Value } | { readonly success: false };
}

interface AdminBounds {
  readonly answerMsMax: number;
  readonly answerBytesMax: number;
}

const BOUNDS: AdminBounds = {
  answerMsMax: limits.remoteAnswerMsMax,
  answerBytesMax: limits.dataplaneAnswerBytesMax,
};

export class AdminClient {
  readonly #origin: string;
  readonly #bounds: AdminBounds;
  readonly #requests = new Quota(limits.dataplaneQuestionsMax);

  constructor(address: ListenAddress, bounds: AdminBounds = BOUNDS) {
    this.#origin = `http://${formatAddress(address)}`;
    this.#bounds = bounds;
  }

  /**
   * Rejects with a `ControlPlaneFault`.
   * @param subject whose share of requests this uses; `undefined`: nobody's.
   * @param otherStatus a status besides 200 whose body has this shape.
   * @returns `undefined` for 404.
   */
  async ask<Value>(path: string, shape: Shape<Value>, subject?: string, otherStatus = 200): Promise<Value | undefined> {
    if (subject !== undefined && !this.#requests.tryTake(subject))
      throw new ControlPlaneFault('dataplane-busy', 'Too many questions to the dataplane at once: try again');
    try {
      const { status, value } = await this.#exchange(path);
      if (status === 404) return undefined;
      if (status !== 200 && status !== otherStatus) throw faultOf(status, value);
      const parsed = shape.safeParse(value);
      if (parsed.success) return parsed.data;
      throw new ControlPlaneFault('dataplane-refused', NOT_UNDERSTOOD);
    } finally {
      if (subject !== undefined) this.#requests.give(subject);
    }
  }

  async #exchange(path: string): Promise<{ readonly status: number; readonly value: unknown }> {
    const signal = AbortSignal.timeout(this.#bounds.answerMsMax);
    try {
      const response = await fetch(this.#origin + path, { headers: ACCEPT, signal, redirect: 'error' });
      return { status: response.status, value: JSON.parse(await this.#textOf(response, signal)) as unknown };
    } catch (error) {
      if (error instanceof ControlPlaneFault) throw error;
      const why = signal.aborted ? `it did not respond in ${this.#bounds.answerMsMax} ms` : reasonOf(error);
      const advice = 'check that a dataplane is running, and that --dataplane-admin-address is its --admin-address';
      throw new ControlPlaneFault(
        'dataplane-unreachable',
        'The dataplane’s admin listener does not respond: admins can see why',
        { wordsForAdmins: `The admin listener at ${this.#origin} does not respond: ${why}; ${advice}` },
      );
    }
  }

  #textOf(response: Response, signal: AbortSignal): Promise<string> {
    const { answerBytesMax } = this.#bounds;
    const words = `The dataplane’s response has more than ${answerBytesMax} bytes: ask for less`;
    return bodyText(response, signal, answerBytesMax, () => new ControlPlaneFault('dataplane-refused', words));
  }
}

const NOT_UNDERSTOOD =
  'The response of the dataplane’s admin listener is not understood: it may be another version of Switchyard';

function faultOf(status: number, value: unknown): ControlPlaneFault {
  const { detail } = Object(value) as { readonly detail?: unknown };
  const reason = typeof detail === 'string' ? detail.slice(0, DETAIL_CHARS_MAX) : `status ${status}`;
  const busy = 'The dataplane cannot answer now: try again';
  if (status === 503) return new ControlPlaneFault('dataplane-busy', busy, { wordsForAdmins: reason });
  const words = 'The dataplane’s admin listener refused the question';
  return new ControlPlaneFault('dataplane-refused', words, { wordsForAdmins: `${words}: ${reason}` });
}

const ACCEPT = { accept: 'application/json' };
const DETAIL_CHARS_MAX = 500;

/** Why `fetch` failed, which is in the error's cause. */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  if (cause instanceof SyntaxError) return 'its response is not JSON';
  const { code, message = '' } = Object(cause) as { readonly code?: string; readonly message?: string };
  return code ?? message;
}
