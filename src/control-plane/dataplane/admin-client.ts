// Asks the admin listeners of the dataplane over plain HTTP: one for each address of the configured name. Time, response
// size and concurrent requests are bounded, and each subject has a quota. Only admins see the addresses. Cold path.
import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import { formatAddress, type ListenAddress } from '../../config/index.js';
import { readBodyText, limits } from '../../shared/index.js';
import { Quota } from '../../fair/index.js';
import { ControlPlaneFault } from '../common/control-plane-fault.js';

/** The only method of a zod schema that is used here. */
export interface Shape<Value> {
  safeParse(value: unknown): { readonly success: true; readonly data: Value } | { readonly success: false };
}

interface AdminBounds {
  readonly answerMsMax: number;
  /** Time for the other dataplanes after the first has answered, so that one that hangs does not delay every view. */
  readonly otherAnswersMsMax: number;
  readonly answerBytesMax: number;
}

const DEFAULT_BOUNDS: AdminBounds = {
  answerMsMax: limits.remoteAnswerMsMax,
  otherAnswersMsMax: 1_000,
  answerBytesMax: limits.dataplaneAnswerBytesMax,
};

/** The most dataplanes that are asked, in the order of their addresses. Further ones count as silent. */
const DATAPLANES_MAX = 32;

export interface DataplaneAnswers<Value> {
  readonly answered: readonly {
    /** The number of the dataplane in the order of addresses, from 1; `''` if there is only one. */
    readonly machine: string;
    /** Shown to admins only. */
    readonly address: string;
    readonly value: Value;
  }[];
  readonly silent: readonly { readonly machine: string; readonly address: string }[];
}

/** A worker's name: `machine/slot`, or the slot alone if there is only one dataplane. */
export function slotName<Slot>(machine: string, slot: Slot): Slot | string {
  return machine === '' ? slot : `${machine}/${String(slot)}`;
}

export function withSlotNames<Row extends { readonly slot: number }>(machine: string, rows: readonly Row[]) {
  return rows.map((row) => ({ ...row, slot: slotName(machine, row.slot) }));
}

export class AdminClient {
  readonly #address: ListenAddress;
  readonly #bounds: AdminBounds;
  readonly #lookUp: HostLookUp;
  readonly #quota = new Quota(limits.dataplaneQuestionsMax);

  constructor(address: ListenAddress, bounds: AdminBounds = DEFAULT_BOUNDS, lookUpHost: HostLookUp = lookUpAddresses) {
    this.#address = address;
    this.#bounds = bounds;
    this.#lookUp = lookUpHost;
  }

  /**
   * Rejects with a `ControlPlaneFault` if no dataplane responds.
   * @param subject the subject whose quota the request counts against; `undefined` for none.
   * @param otherStatus a status besides 200 whose body has this shape.
   * @returns the answers that are not 404, in the order of addresses.
   */
  async ask<Value>(
    path: string,
    shape: Shape<Value>,
    subject?: string,
    otherStatus = 200,
  ): Promise<DataplaneAnswers<Value>> {
    if (subject !== undefined && !this.#quota.tryTake(subject))
      throw new ControlPlaneFault('dataplane-busy', 'Too many questions to the dataplane at once: try again');
    // Not `AbortSignal.timeout` within `AbortSignal.any`: such a signal may be garbage collected, and then never fires.
    const silence = new AbortController();
    const { signal } = silence;
    const giveUpAfter = (ms: number) => setTimeout(() => silence.abort(), ms).unref();
    const timer = giveUpAfter(this.#bounds.answerMsMax);
    try {
      const hosts = await this.#lookUpAddresses(signal);
      const machines = hosts.map((address, index) => ({ machine: hosts.length > 1 ? String(index + 1) : '', address }));
      const asked = machines.slice(0, DATAPLANES_MAX);
      const asking = asked.map(({ address }) => this.#askOne(address, path, signal, shape, otherStatus));
      Promise.any(asking).then(
        () => giveUpAfter(this.#bounds.otherAnswersMsMax),
        () => {},
      );
      const answers = await Promise.allSettled(asking);
      const failed = answers.filter((answer) => answer.status === 'rejected');
      if (failed.length === answers.length) throw failed[0]!.reason;
      return {
        answered: asked.flatMap((machine, index) => {
          const answer = answers[index]!;
          if (answer.status === 'rejected' || answer.value === undefined) return [];
          return [{ ...machine, value: answer.value }];
        }),
        silent: machines.filter((_machine, index) => answers[index]?.status !== 'fulfilled'),
      };
    } finally {
      clearTimeout(timer);
      if (subject !== undefined) this.#quota.give(subject);
    }
  }

  /** The addresses to ask. Requests to a name would be refused: admin listeners accept only hosts that do not depend on DNS. */
  async #lookUpAddresses(signal: AbortSignal): Promise<readonly string[]> {
    const timedOut = once(signal, 'abort').then(() => Promise.reject(new Error('no answer')));
    try {
      return await Promise.race([this.#lookUp(this.#address.host), timedOut]);
    } catch (error) {
      throw this.#unreachableFault(this.#address.host, `the name was not found (${reasonOf(error)})`);
    }
  }

  async #askOne<Value>(host: string, path: string, signal: AbortSignal, shape: Shape<Value>, otherStatus: number) {
    const { status, value } = await this.#exchange(host, path, signal);
    if (status === 404) return undefined;
    if (status !== 200 && status !== otherStatus) throw faultOf(status, value);
    const parsed = shape.safeParse(value);
    if (parsed.success) return parsed.data;
    throw new ControlPlaneFault('dataplane-refused', NOT_UNDERSTOOD);
  }

  async #exchange(host: string, path: string, signal: AbortSignal) {
    try {
      const response = await fetch(this.#originOf(host) + path, { headers: ACCEPT_JSON, signal, redirect: 'error' });
      const { answerBytesMax } = this.#bounds;
      const words = `The dataplane’s response has more than ${answerBytesMax} bytes: ask for less`;
      const tooLarge = () => new ControlPlaneFault('dataplane-refused', words);
      const text = await readBodyText(response, signal, answerBytesMax, tooLarge);
      return { status: response.status, value: JSON.parse(text) as unknown };
    } catch (error) {
      if (error instanceof ControlPlaneFault) throw error;
      const silence = `it did not respond in ${this.#bounds.answerMsMax} ms`;
      throw this.#unreachableFault(host, signal.aborted ? silence : reasonOf(error));
    }
  }

  #originOf(host: string): string {
    return `http://${formatAddress({ ...this.#address, host })}`;
  }

  #unreachableFault(host: string, why: string): ControlPlaneFault {
    const advice = 'check that a dataplane is running, and that --dataplane-admin-address is its --admin-address';
    return new ControlPlaneFault(
      'dataplane-unreachable',
      'The dataplane’s admin listener does not respond: admins can see why',
      { messageForAdmins: `The admin listener at ${this.#originOf(host)} does not respond: ${why}; ${advice}` },
    );
  }
}

type HostLookUp = (host: string) => Promise<readonly string[]>;

/** The host's addresses, sorted, and of one family, because a machine may have addresses of both. `localhost` itself is kept. */
const lookUpAddresses: HostLookUp = async (host) => {
  if (host === 'localhost') return [host];
  const found = await lookup(host, { all: true });
  const family = found.some((each) => each.family === 4) ? 4 : 6;
  return [...new Set(found.filter((each) => each.family === family).map(({ address }) => address))].sort();
};

const NOT_UNDERSTOOD =
  'The response of the dataplane’s admin listener is not understood: it may be another version of Switchyard';

function faultOf(status: number, value: unknown): ControlPlaneFault {
  const { detail } = Object(value) as { readonly detail?: unknown };
  const reason = typeof detail === 'string' ? detail.slice(0, DETAIL_CHARS_MAX) : `status ${status}`;
  const busy = 'The dataplane cannot answer now: try again';
  if (status === 503) return new ControlPlaneFault('dataplane-busy', busy, { messageForAdmins: reason });
  const words = 'The dataplane’s admin listener refused the question';
  return new ControlPlaneFault('dataplane-refused', words, { messageForAdmins: `${words}: ${reason}` });
}

const ACCEPT_JSON = { accept: 'application/json' };
const DETAIL_CHARS_MAX = 500;

/** The reason why `fetch` failed is in the error's cause. */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  if (cause instanceof SyntaxError) return 'its response is not JSON';
  const { code, message = '' } = Object(cause) as { readonly code?: string; readonly message?: string };
  return code ?? message;
}
