// Asks the admin listener of a dataplane over plain HTTP, with bounds on time, response size and concurrent questions,
// of which each subject has a share. The listener's address is shown to admins only. Cold path.
import type { ListenAddress } from '../../config/index.js';
import { bodyText, limits } from '../../shared/index.js';
import { Quota } from '../../fair/index.js';
import { ControlPlaneFault } from '../common/control-plane-fault.js';

interface AdminAnswer {
  readonly status: number;
  /** The parsed JSON body. */
  readonly value: unknown;
}

interface AdminBounds {
  readonly answerMsMax: number;
  readonly answerBytesMax: number;
}

const BOUNDS: AdminBounds = {
  answerMsMax: limits.remoteAnswerMsMax,
  answerBytesMax: limits.dataplaneAnswerBytesMax,
};

export class AdminListener {
  readonly #origin: string;
  readonly #bounds: AdminBounds;
  readonly #asking = new Quota(limits.dataplaneQuestionsMax);

  constructor({ host, port }: ListenAddress, bounds: AdminBounds = BOUNDS) {
    this.#origin = `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
    this.#bounds = bounds;
  }

  /** On behalf of a subject, within its share. Throws a `ControlPlaneFault`; 404 counts as an answer. */
  async askFor(subject: string, path: string): Promise<AdminAnswer> {
    if (!this.#asking.tryTake(subject))
      throw new ControlPlaneFault('dataplane-busy', 'Too many questions to the dataplane at once: try again');
    try {
      return await this.ask(path, [200, 404]);
    } finally {
      this.#asking.give(subject);
    }
  }

  /** Throws a `ControlPlaneFault`. @param expected the statuses that count as answers. */
  async ask(path: string, expected: readonly number[]): Promise<AdminAnswer> {
    const { status, value } = await this.#exchange(path);
    if (expected.includes(status)) return { status, value };
    const { detail } = Object(value) as { readonly detail?: unknown };
    const told = typeof detail === 'string' ? detail.slice(0, DETAIL_CHARS_MAX) : `status ${status}`;
    if (status === 503)
      throw new ControlPlaneFault('dataplane-busy', 'The dataplane cannot answer now: try again', {
        wordsForAdmins: told,
      });
    const words = 'The dataplane’s admin listener refused the question';
    throw new ControlPlaneFault('dataplane-refused', words, { wordsForAdmins: `${words}: ${told}` });
  }

  async #exchange(path: string): Promise<AdminAnswer> {
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

const ACCEPT = { accept: 'application/json' };
const DETAIL_CHARS_MAX = 500;

/** Why `fetch` failed, which is in the error's cause. */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  if (cause instanceof SyntaxError) return 'its response is not JSON';
  const { code, message = '' } = Object(cause) as { readonly code?: string; readonly message?: string };
  return code ?? message;
}
