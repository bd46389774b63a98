// A program on an SDK in another language, which takes orders and reports results as lines of JSON.
import { spawn, type ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import { killWithProcess } from '../../support/leftovers.js';

/** What a program reports: the outcome of an order (`id`, with `text`, or with `why` it failed), or an event. */
export interface Told {
  readonly id?: number;
  readonly text?: string;
  readonly why?: string;
  readonly event?: string;
  readonly version?: string;
  readonly url?: string;
  readonly uri?: string;
  readonly tool?: string;
}

/** What to do, and with what. */
export interface Order {
  readonly do: string;
  readonly name?: string;
  /** The id of the order to cancel. */
  readonly of?: number;
}

interface Waiting {
  readonly resolve: (text: string) => void;
  readonly reject: (why: Error) => void;
}

const CALL_MS_MAX = 15_000;
const START_MS_MAX = 60_000;
const WORDS_MAX = 2_000;

export class ForeignProgram {
  readonly #process: ChildProcess;
  readonly #orderMsMax: number;
  readonly #waiting = new Map<number, Waiting>();
  readonly #onEvent: (told: Told) => void;
  #started: Waiting | undefined;
  #lastId = 0;
  #complaints = '';

  private constructor(process: ChildProcess, orderMsMax: number, onEvent: (told: Told) => void) {
    this.#orderMsMax = orderMsMax;
    this.#process = process;
    this.#onEvent = onEvent;
    process.stderr?.on('data', (words) => (this.#complaints = `${this.#complaints}${words}`.slice(-WORDS_MAX)));
    process.on('error', (error) => this.#onEnd(error.message));
    process.on('exit', () => this.#onEnd('the program has ended'));
    process.stdin?.on('error', () => undefined);
    createInterface({ input: process.stdout! }).on('line', (line) => this.#onTold(JSON.parse(line) as Told));
  }

  /** @returns the program and its first event, which says that it is ready; rejects when it fails to start. */
  static async start(
    [command = '', ...words]: readonly string[],
    onEvent: (told: Told) => void = () => undefined,
    orderMsMax = CALL_MS_MAX,
  ): Promise<readonly [ForeignProgram, Told]> {
    // Otherwise Python would write compiled files beside its sources.
    const env = { ...process.env, PYTHONDONTWRITEBYTECODE: '1' };
    const child = spawn(command, words, { stdio: ['pipe', 'pipe', 'pipe'], env });
    killWithProcess(child);
    let first: Told | undefined;
    const program = new ForeignProgram(child, orderMsMax, (told) => {
      if (first === undefined) {
        first = told;
        program.#started?.resolve('');
      } else onEvent(told);
    });
    await program.#within(START_MS_MAX, (waiting) => (program.#started = waiting));
    if (first?.event === 'failed') throw new Error(first.why);
    return [program, first!];
  }

  /** @param onId receives the order's id, with which it can be cancelled. */
  async tell(order: Order, onId?: (id: number) => void): Promise<string> {
    const id = ++this.#lastId;
    try {
      return await this.#within(this.#orderMsMax, (waiting) => {
        this.#waiting.set(id, waiting);
        this.#write({ id, ...order });
        onId?.(id);
      });
    } finally {
      this.#waiting.delete(id);
    }
  }

  /** Sends an order without waiting for its outcome. */
  say(order: Order): void {
    this.#write({ id: ++this.#lastId, ...order });
  }

  /** Resolves when the program has ended by itself, or was killed. */
  async close(): Promise<void> {
    const { exitCode, signalCode } = this.#process;
    if (exitCode !== null || signalCode !== null) return;
    const ended = new Promise((resolve) => this.#process.once('exit', resolve));
    this.#process.stdin?.end();
    const late = setTimeout(() => this.kill(), CALL_MS_MAX / 5);
    await ended;
    clearTimeout(late);
  }

  kill(): void {
    this.#process.kill('SIGKILL');
  }

  #write(line: object): void {
    this.#process.stdin?.write(`${JSON.stringify(line)}\n`);
  }

  #onTold(told: Told): void {
    const waiting = told.event === undefined ? this.#waiting.get(told.id ?? 0) : undefined;
    if (told.event !== undefined) this.#onEvent(told);
    else if (told.why === undefined) waiting?.resolve(told.text ?? '');
    else waiting?.reject(new Error(told.why));
  }

  #onEnd(why: string): void {
    const error = new Error(`${why}: ${this.#complaints.trim().split('\n').at(-1) ?? ''}`);
    for (const { reject } of [...this.#waiting.values(), ...(this.#started ? [this.#started] : [])]) reject(error);
  }

  async #within(ms: number, begin: (waiting: Waiting) => void): Promise<string> {
    let late: NodeJS.Timeout | undefined;
    try {
      return await new Promise<string>((resolve, reject) => {
        late = setTimeout(() => reject(new Error(`nothing was heard for ${ms} ms`)), ms);
        begin({ resolve, reject });
      });
    } finally {
      clearTimeout(late);
    }
  }
}
