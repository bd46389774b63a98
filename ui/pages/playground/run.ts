// One request of the playground, from sending to completion: what was sent, what was received, and how long it took.
import { signal } from '@preact/signals';
import { ask, faultWords } from '../../api/api.js';
import type { McpSession, RpcMessage, Wire } from '../../api/mcp.js';
import type { ToldRequest } from '../../api/view-types.js';
import { splitWords } from '../../model/time-split.js';

export type RunState = 'underway' | 'answered' | 'failed' | 'cancelled';

export const STATE_WORDS: Readonly<Record<RunState, string>> = {
  underway: 'Under way',
  answered: 'Answered',
  failed: 'Failed',
  cancelled: 'Cancelled',
};
/** Classes of the state's label. */
export const STATE_LOOKS: Readonly<Record<RunState, string>> = {
  underway: '',
  answered: 'active',
  failed: 'inactive',
  cancelled: '',
};

export interface Question {
  readonly id: string | number;
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
}

/** Text of a response beyond this is not kept as received; it is parsed all the same. */
const TEXT_CHARS_MAX = 1_000_000;
const NOTICES_MAX = 200;
const SPLIT_TRIES = 3;
const SPLIT_RETRY_MS = 300;

export class Run {
  readonly state = signal<RunState>('underway');
  readonly wire = signal<Wire | undefined>(undefined);
  readonly text = signal('');
  readonly status = signal(0);
  readonly notices = signal<readonly RpcMessage[]>([]);
  readonly questions = signal<readonly Question[]>([]);
  readonly answer = signal<RpcMessage | undefined>(undefined);
  readonly fault = signal('');
  readonly headMs = signal<number | undefined>(undefined);
  readonly totalMs = signal<number | undefined>(undefined);
  /** How the time divides between gateway and backend, from the control plane; `''` where it does not report it. */
  readonly split = signal('');
  readonly #session: McpSession;
  readonly #abort = new AbortController();
  readonly #startedAtMs = performance.now();
  readonly #requestId: number;
  #gatewayId = '';

  constructor(session: McpSession, method: string, params: Readonly<Record<string, unknown>>) {
    this.#session = session;
    const { id, answer } = session.send(
      method,
      params,
      {
        onWire: (wire) => (this.wire.value = wire),
        onHead: (status, requestId) => {
          this.#gatewayId = requestId;
          this.status.value = status;
          this.headMs.value = performance.now() - this.#startedAtMs;
        },
        onText: (text) => (this.text.value = (this.text.peek() + text).slice(0, TEXT_CHARS_MAX)),
        onMessage: (message) => this.#hear(message),
      },
      this.#abort.signal,
    );
    this.#requestId = id;
    session.onMessage = (message) => this.#hear(message);
    void this.#settle(answer);
  }

  /** Tells the server, then aborts the request whether or not the notification arrived. */
  async cancel(): Promise<void> {
    if (this.state.value !== 'underway') return;
    this.state.value = 'cancelled';
    await this.#session.cancel(this.#requestId).catch(() => {});
    this.#abort.abort();
  }

  async reply(question: Question, reply: { readonly result: object } | { readonly error: object }): Promise<void> {
    this.questions.value = this.questions.value.filter((each) => each !== question);
    try {
      await this.#session.reply(question.id, reply);
    } catch (error) {
      this.fault.value = faultWords(error);
    }
  }

  async #settle(answer: Promise<RpcMessage>): Promise<void> {
    try {
      const message = await answer;
      this.answer.value = message;
      if (this.state.value === 'underway') this.state.value = message.error === undefined ? 'answered' : 'failed';
    } catch (error) {
      if (this.state.value !== 'cancelled') {
        this.fault.value = faultWords(error);
        this.state.value = 'failed';
      }
    }
    this.questions.value = [];
    this.#session.onMessage = undefined;
    this.totalMs.value = performance.now() - this.#startedAtMs;
    if (this.answer.value !== undefined) await this.#readSplit();
  }

  /** The split is known once the whole response has been sent, which may be a moment after it was received: so this retries. */
  async #readSplit(): Promise<void> {
    const path = `/requests/${encodeURIComponent(this.#gatewayId)}`;
    for (let tries = 0; this.#gatewayId !== '' && this.split.value === '' && tries < SPLIT_TRIES; tries++) {
      if (tries > 0) await new Promise((resolve) => setTimeout(resolve, SPLIT_RETRY_MS));
      const told = await ask<readonly ToldRequest[]>(path).catch(() => undefined);
      const [request] = told?.value ?? [];
      if (request !== undefined) this.split.value = splitWords(request);
    }
  }

  #hear(message: RpcMessage): void {
    const { id, method, params = {} } = message;
    if (id === undefined || method === undefined) {
      this.notices.value = [...this.notices.value, message].slice(-NOTICES_MAX);
    } else if (method === 'elicitation/create' || method === 'sampling/createMessage') {
      this.questions.value = [...this.questions.value, { id, method, params }];
    } else {
      const error = { code: -32_601, message: `the console does not support ${method}` };
      void this.#session.reply(id, method === 'ping' ? { result: {} } : { error }).catch(() => {});
    }
  }
}
