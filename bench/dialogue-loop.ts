// A closed loop of calls within which the caller is asked something. Each connection consists of two: one for the calls,
// whose responses are event streams, and one for the caller's answers meanwhile. Hot path.
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { ANSWER_SECONDS_MAX, headersOf, type OpenedConnection } from './bench-session.js';
import { FaultCounter } from './fault-counter.js';
import { requestBytes } from './http-exchanges.js';
import type { LoadPlan, Measurement, Step } from './load-plan.js';
import { MeasuredWindow } from './measured-window.js';
import { StreamedAnswers } from './streamed-answers.js';

const DRAIN_CHECK_MS = 10;
const ASKED = '"method":"elicitation/create"';

export async function runDialogues(plan: LoadPlan, connections: readonly OpenedConnection[]): Promise<Measurement> {
  const window = new MeasuredWindow(plan);
  const tally = new Tally(window);
  const dialogues = connections.map((connection) => new Dialogue(plan.origin, connection, tally));
  await Promise.all(dialogues.map((dialogue) => dialogue.connect()));
  for (const dialogue of dialogues) dialogue.begin();
  await sleep(plan.warmUpMs);
  window.open();
  await sleep(plan.measureMs);
  window.close();
  tally.isOver = true;
  const deadlineMs = performance.now() + ANSWER_SECONDS_MAX * 1_000;
  while (dialogues.some(({ isUnderWay }) => isUnderWay) && performance.now() < deadlineMs) await sleep(DRAIN_CHECK_MS);
  const lostCount = dialogues.filter(({ isUnderWay }) => isUnderWay).length;
  for (const dialogue of dialogues) dialogue.close();
  return { ...window.figures(), faults: tally.faults(lostCount) };
}

/** Shared by all dialogues of a run. */
class Tally {
  readonly #window: MeasuredWindow;
  readonly #counter = new FaultCounter();
  #errors = 0;
  #non2xx = 0;
  #answers = 0;
  isOver = false;

  constructor(window: MeasuredWindow) {
    this.#window = window;
  }

  onAnswer(step: Step, status: number, body: string, tookMs: number): void {
    this.#answers += 1;
    this.#counter.onAnswer();
    this.#counter.checkAnswer(step, status, body);
    if (status < 200 || status > 299) this.#non2xx += 1;
    this.#window.record(tookMs);
  }

  onError(error: Error): void {
    this.#errors += 1;
    this.#counter.onError(error);
  }

  faults(lostCount: number): Measurement['faults'] {
    const sent = this.#answers + lostCount;
    return this.#counter.count({
      errors: this.#errors,
      non2xx: this.#non2xx,
      connections: 0,
      requests: { sent },
    });
  }
}

class Dialogue {
  readonly #origin: URL;
  readonly #tally: Tally;
  readonly #step: Step;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #call: Buffer;
  #calls: Socket | undefined;
  #replies: Socket | undefined;
  #startedMs = 0;
  /** The data of the last event on the stream. */
  #lastData = '';
  /** How many responses are outstanding: the call's, and that to the caller's answer. */
  #waitingFor = 0;

  constructor(origin: string, { plan, sessionId }: OpenedConnection, tally: Tally) {
    const [step, ...others] = plan.script.loop;
    if (step === undefined || others.length > 0) throw new Error('a dialogue repeats one call');
    this.#origin = new URL(origin);
    this.#tally = tally;
    this.#step = step;
    this.#headers = headersOf(plan, step, sessionId);
    this.#call = requestBytes(this.#origin.host, { ...step, headers: this.#headers });
  }

  get isUnderWay(): boolean {
    return this.#waitingFor > 0;
  }

  async connect(): Promise<void> {
    this.#calls = await this.#open();
    this.#replies = await this.#open();
    new StreamedAnswers(this.#calls, {
      onData: (data) => this.#onData(data),
      onEnd: (status, body) => this.#onAnswer(status, body),
    });
    new StreamedAnswers(this.#replies, { onData: () => {}, onEnd: (status, body) => this.#onReplied(status, body) });
  }

  begin(): void {
    this.#waitingFor = 1;
    this.#lastData = '';
    this.#startedMs = performance.now();
    this.#calls?.write(this.#call);
  }

  close(): void {
    for (const socket of [this.#calls, this.#replies]) {
      socket?.removeAllListeners('error').removeAllListeners('end');
      socket?.on('error', () => {});
      socket?.destroy();
    }
  }

  async #open(): Promise<Socket> {
    const socket = connect({ host: this.#origin.hostname, port: Number(this.#origin.port), noDelay: true });
    await new Promise<void>((resolve, reject) => socket.once('connect', resolve).once('error', reject));
    socket.on('error', (error) => this.#tally.onError(error));
    socket.on('end', () => this.#tally.onError(new Error('the target closed the connection')));
    return socket;
  }

  #onData(data: string): void {
    this.#lastData = data;
    if (!data.includes(ASKED)) return;
    const { id } = JSON.parse(data) as { id: string | number };
    const body = `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${this.#step.reply}}`;
    this.#waitingFor += 1;
    this.#replies?.write(requestBytes(this.#origin.host, { ...this.#step, body, headers: this.#headers }));
  }

  /** @param body of a response that was not an event stream, and is wrong for that reason. */
  #onAnswer(status: number, body: string): void {
    this.#tally.onAnswer(this.#step, status, this.#lastData + body, performance.now() - this.#startedMs);
    this.#onPart();
  }

  #onReplied(status: number, body: string): void {
    if (status !== 202) this.#tally.onError(new Error(`a reply was answered ${status} with ${body}`));
    this.#onPart();
  }

  /** The next call begins when both responses have come. */
  #onPart(): void {
    this.#waitingFor -= 1;
    if (this.#waitingFor === 0 && !this.#tally.isOver) this.begin();
  }
}
