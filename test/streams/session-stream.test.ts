// The stream of a session: what waits for a slow reader, and what becomes of it; how messages pass is in test/spec/streams.rows.ts.
import { answerOptions } from '../support/answer-options.js';
import t, { type Test } from 'tap';
import type { AnswerOptions } from '../../src/config/dataplane-options.js';
import {
  SessionStream,
  LIST_CHANGES_MS,
  CLIENT_READY_MS_MAX,
  type StreamAdapter,
} from '../../src/streams/session-stream.js';
import { StreamKeeper } from '../../src/streams/stream-keeper.js';
import type { Accounts } from '../../src/fair/share.js';
import { wakeScheduler } from '../../src/fair/turn-scheduler.js';
import { until } from '../support/until.js';
import { DeadlineWheel } from '../../src/fair/deadline-wheel.js';
import { limits } from '../../src/shared/limits.js';
import { readEvents } from '../support/event-stream.js';
import { createAccounts } from '../support/shares.js';
import { RecordedExchange } from '../support/recorded-exchange.js';
import { LARGE_BYTES_FROM, WRITTEN_BYTES_KEPT } from '../../src/streams/replay-buffer.js';

const EXPECTED_MS = 10_000;

class Scene {
  readonly accounts: Accounts = createAccounts({ subjectSessionBytesMax: 16 * 1024 * 1024 });
  readonly account = this.accounts.of('ada');
  readonly streamKeeper: StreamKeeper | undefined;
  readonly inFlight = { excuseSilence: () => undefined };
  readonly stream: SessionStream;
  readonly #deadlines: DeadlineWheel;
  closedCount = 0;
  #nowMs = 0;
  isReady = true;

  /** @param answers for a client that can resume streams. */
  constructor(t: Test, answers?: AnswerOptions, form?: StreamAdapter) {
    this.#deadlines = new DeadlineWheel(10, () => this.#nowMs);
    t.teardown(() => this.#deadlines.stop());
    this.account.sessions.take(1);
    this.streamKeeper = answers && new StreamKeeper(this.account, this.#deadlines, answers);
    this.stream = new SessionStream(this, this.#deadlines, () => (this.closedCount += 1), form);
  }

  open(isSlow = false, position?: number): RecordedExchange {
    const exchange = new RecordedExchange({ method: 'GET' });
    exchange.isSlow = isSlow;
    this.stream.open(exchange, position);
    return exchange;
  }

  /** @param lost collects the texts that are lost. */
  tell(text: string, lost: string[] = []): void {
    this.stream.sendToClient([Buffer.from(text)], () => lost.push(text));
  }

  advance(ms: number): void {
    this.#nowMs += ms;
    this.#deadlines.tick();
  }

  get waitingBytes(): number {
    return this.accounts.used('sessionBytes');
  }
}

t.test('questions wait until the client is ready, with what is said after them, up to a bound', async (t) => {
  for (const isReadyInTime of [true, false]) {
    const scene = new Scene(t);
    scene.isReady = false;
    const exchange = scene.open();
    const lost: string[] = [];
    const heard = (): string[] => readEvents(exchange.written);
    scene.stream.sendToClient([Buffer.from('notice 1')]);
    t.same(heard(), ['notice 1'], 'what asks for nothing does not wait');
    scene.tell('question 1', lost);
    scene.stream.sendToClient([Buffer.from('notice 2')]);
    scene.tell('question 2', lost);
    scene.stream.sendToClient([Buffer.from('notice 3')]);
    scene.advance(CLIENT_READY_MS_MAX - 100);
    exchange.drain();
    t.same(heard(), ['notice 1']);
    t.same(lost, []);
    scene.isReady = isReadyInTime;
    if (isReadyInTime) scene.stream.onReady();
    else scene.advance(200);
    const questions = ['question 1', 'question 2'];
    t.same(lost, isReadyInTime ? [] : questions);
    t.same(
      heard(),
      isReadyInTime
        ? ['notice 1', 'question 1', 'notice 2', 'question 2', 'notice 3']
        : ['notice 1', 'notice 2', 'notice 3'],
    );
    t.equal(scene.waitingBytes, 0);
    scene.isReady = true;
    scene.tell('question 3', lost);
    t.equal(heard().at(-1), 'question 3');
    scene.advance(CLIENT_READY_MS_MAX + 200);
    t.same(lost, isReadyInTime ? [] : questions, 'later ones are not lost for it');
  }
});

t.test('a stream that ends before the client is ready loses its questions', async (t) => {
  const scene = new Scene(t);
  scene.isReady = false;
  const lost: string[] = [];
  scene.open();
  scene.tell('question', lost);
  scene.stream.end();
  t.same(lost, ['question']);
  scene.advance(CLIENT_READY_MS_MAX + 200);
  t.same(lost, ['question'], 'once');
  t.equal(scene.waitingBytes, 0);
  scene.isReady = true;
  const again = scene.open();
  scene.tell('another', lost);
  t.same(readEvents(again.written), ['another'], 'and holds nothing back when it is opened again');
});

t.test('what is said before an expected client opens its stream waits for it', async (t) => {
  const scene = new Scene(t);
  const lost: string[] = [];
  scene.tell('1', lost);
  t.same(lost, ['1'], 'nobody is expected');
  t.ok(scene.stream.askingObstacle, 'or can be asked');
  scene.stream.expect(EXPECTED_MS);
  t.equal(scene.stream.askingObstacle, undefined);
  scene.tell('2', lost);
  scene.tell('3', lost);
  const exchange = scene.open();
  t.same(readEvents(exchange.written), ['2', '3']);
  t.same(lost, ['1']);
  scene.advance(EXPECTED_MS + 200);
  scene.tell('4', lost);
  t.same(readEvents(exchange.written), ['2', '3', '4'], 'it has come');
});

t.test('what is said to an expected client that does not come is lost', async (t) => {
  const scene = new Scene(t);
  const lost: string[] = [];
  scene.stream.expect(EXPECTED_MS);
  scene.tell('1', lost);
  t.ok(scene.waitingBytes > 0, 'it counts in the share of its subject');
  scene.advance(EXPECTED_MS + 200);
  t.same(lost, ['1']);
  t.equal(scene.waitingBytes, 0);
  t.ok(scene.stream.askingObstacle);
});

t.test('a slow reader gets everything in order when it reads on', async (t) => {
  const scene = new Scene(t);
  const exchange = scene.open(true);
  for (const text of ['1', '2', '3']) scene.tell(text);
  t.same(readEvents(exchange.written), []);
  t.ok(scene.waitingBytes > 0, 'it counts in the share of its subject');
  exchange.isSlow = false;
  exchange.drain();
  t.same(readEvents(exchange.written), ['1', '2', '3']);
  t.equal(scene.waitingBytes, 0);
});

t.test('when too many events wait the oldest are lost, and the client is told how many', async (t) => {
  const scene = new Scene(t);
  const exchange = scene.open(true);
  const lost: string[] = [];
  for (let number = 0; number < limits.sessionStreamWaitingMax + 3; number += 1) scene.tell(String(number), lost);
  t.same(lost, ['0', '1', '2']);
  exchange.isSlow = false;
  exchange.drain();
  const [told, first, ...others] = readEvents(exchange.written);
  t.match(JSON.parse(told ?? ''), {
    method: 'notifications/message',
    params: { level: 'warning', data: /^3 messages/ },
  });
  t.equal(first, '3');
  t.equal(others.length, limits.sessionStreamWaitingMax - 1);
});

t.test(
  'a large event that is being written is not lost when too many wait behind it, unless its connection breaks',
  async (t) => {
    for (const isBroken of [false, true]) {
      const scene = new Scene(t, ANSWERS);
      const exchange = scene.open();
      const lost: string[] = [];
      const large = 'x'.repeat(2 * LARGE_BYTES_FROM);
      exchange.isSlow = true;
      scene.tell(large, lost);
      for (let number = 1; number < limits.sessionStreamWaitingMax + 3; number += 1) scene.tell(String(number), lost);
      t.same(lost, ['1', '2']);
      if (isBroken) {
        exchange.abort();
        t.same(lost, ['1', '2', large]);
        continue;
      }
      exchange.isSlow = false;
      exchange.drain();
      const [first, told, next] = readEvents(exchange.written);
      t.equal(first, large);
      t.match(told, /2 messages/);
      t.equal(next, '3');
      t.same(lost, ['1', '2']);
    }
  },
);

t.test('what withdraws a question is told like any message', async (t) => {
  const scene = new Scene(t);
  const exchange = scene.open();
  scene.stream.withdraw(Buffer.from('1'), [Buffer.from('{"method":'), Buffer.from('"x"}')]);
  t.same(readEvents(exchange.written), ['{"method":"x"}']);
});

t.test('a loss with nothing behind it is told with the id of what was lost, so that it is told once', async (t) => {
  const scene = new Scene(t, ANSWERS);
  const exchange = scene.open(true);
  scene.tell('x'.repeat(2 * limits.sessionStreamWaitingBytesMax));
  exchange.isSlow = false;
  exchange.drain();
  scene.tell('2');
  const ids = [...exchange.written.toString().matchAll(/^id: \d+_(\d+)$/gm)].map(([, position]) => position);
  t.same(ids, ['0', '1', '2']);
  t.equal(readEvents(exchange.written).at(-1), '2');
});

t.test('too many waiting bytes, or a share that is used up, lose events as well', async (t) => {
  const scene = new Scene(t);
  scene.open(true);
  const lost: string[] = [];
  const text = 'x'.repeat(limits.sessionStreamWaitingBytesMax / 4);
  for (let number = 0; number < 10; number += 1) scene.tell(text, lost);
  t.ok(lost.length >= 6, `${lost.length} of 10 were lost`);
  t.ok(scene.waitingBytes <= limits.sessionStreamWaitingBytesMax);
  const waiting = scene.waitingBytes;
  scene.tell('x'.repeat(2 * limits.sessionStreamWaitingBytesMax), lost);
  t.equal(scene.waitingBytes, waiting, 'nothing makes room for it in vain');
  t.equal(lost.at(-1)?.length, 2 * limits.sessionStreamWaitingBytesMax, 'what never has room');
  const other = scene.accounts.of('ada').sessionBytes;
  other.take(16 * 1024 * 1024);
  const before = lost.length;
  scene.tell('1', lost);
  t.ok(lost.length > before, 'no room in the share');
  other.give(16 * 1024 * 1024);
  scene.stream.end();
  t.equal(scene.waitingBytes, 0);
});

t.test('a newer GET gets what waited for an older one that does not read', async (t) => {
  const scene = new Scene(t);
  const older = scene.open(true);
  scene.tell('1');
  const newer = scene.open();
  t.equal(older.outcome, 'cut', 'it would never come to its end');
  t.same(readEvents(newer.written), ['1']);
  const newest = scene.open();
  t.equal(newer.outcome, 'ended');
  older.onAbort?.();
  newer.onAbort?.();
  t.equal(scene.closedCount, 0);
  newest.abort();
  t.equal(scene.closedCount, 1);
  t.notOk(scene.stream.isOpen);
});

t.test('without a reader nothing waits, and the client cannot be asked', async (t) => {
  const scene = new Scene(t);
  const lost: string[] = [];
  scene.tell('1', lost);
  t.same(lost, ['1']);
  t.match(scene.stream.askingObstacle, { code: -32603 });
  const exchange = scene.open(true);
  t.equal(scene.stream.askingObstacle, undefined);
  scene.tell('2', lost);
  exchange.abort();
  t.same(lost, ['1', '2'], 'what waited when it went away');
  t.equal(scene.waitingBytes, 0);
});

t.test('list changes of one moment become one notification, and a single one keeps its bytes', async (t) => {
  const scene = new Scene(t);
  const exchange = scene.open();
  const tools = 'notifications/tools/list_changed';
  const own = `{ "jsonrpc":"2.0","method":"${tools}","params":{"_meta":{"n":1.0}}}`;
  scene.stream.reportListChange(tools, Buffer.from(own));
  t.same(readEvents(exchange.written), []);
  scene.advance(LIST_CHANGES_MS + 20);
  t.same(readEvents(exchange.written), [own]);
  scene.stream.reportListChange(tools, Buffer.from(own));
  scene.stream.reportListChange(tools, Buffer.from(own));
  scene.stream.reportListChange('notifications/prompts/list_changed', Buffer.from('{"p":1}'));
  scene.advance(LIST_CHANGES_MS + 20);
  t.same(readEvents(exchange.written).slice(1), [`{"jsonrpc":"2.0","method":"${tools}"}`, '{"p":1}']);
});

t.test('a change that thousands hear is told in turns', async (t) => {
  const scene = new Scene(t);
  const exchange = scene.open();
  scene.stream.reportListChange('notifications/tools/list_changed');
  while (wakeScheduler.tryPass('ada'));
  scene.advance(LIST_CHANGES_MS + 20);
  t.same(readEvents(exchange.written), []);
  await until(() => readEvents(exchange.written).length === 1, 'its turn');
});

t.test('a long notification of a change has the effect of a short one, and suppresses no other', async (t) => {
  const scene = new Scene(t);
  const exchange = scene.open();
  const long = `{"jsonrpc":"2.0","method":"a/list_changed","params":{"x":"${'x'.repeat(limits.countedFromBytes)}"}}`;
  for (let time = 1; time <= 2; time += 1) {
    scene.stream.reportListChange('a/list_changed', Buffer.from(long));
    scene.stream.reportListChange('b/list_changed', Buffer.from('{"jsonrpc":"2.0","method":"b/list_changed"}'));
    scene.advance(LIST_CHANGES_MS + 200);
    const methods = readEvents(exchange.written).map((event) => (JSON.parse(event) as { method: string }).method);
    t.equal(methods.length, 2 * time);
    t.same(methods.slice(-2), ['a/list_changed', 'b/list_changed']);
  }
});

t.test('each stream ends after its maximum time', async (t) => {
  const scene = new Scene(t);
  const first = scene.open();
  scene.advance(limits.sessionStreamMsMax - 1_000);
  const second = scene.open();
  scene.advance(2_000);
  t.same([first.outcome, second.outcome, scene.closedCount], ['ended', 'streaming', 0], 'each has its own');
  scene.advance(limits.sessionStreamMsMax);
  t.same([second.outcome, scene.closedCount], ['ended', 1]);
  t.notOk(scene.stream.isOpen);
});

const ANSWERS = { ...answerOptions, resumptionTimeMs: 60_000 };

t.test('a client that can resume gets ids, and what was said while it was away', async (t) => {
  const scene = new Scene(t, ANSWERS);
  const first = scene.open();
  for (const text of ['1', '2', '3']) scene.tell(text);
  const ids = [...first.written.toString().matchAll(/^id: \d+_(\d+)$/gm)].map(([, position]) => position);
  t.same(ids, ['0', '1', '2', '3']);
  t.match(first.written.toString(), /^id: \d+_0\nretry: \d+\ndata: \n\n/);
  first.abort();
  const lost: string[] = [];
  scene.tell('4', lost);
  t.same(readEvents(scene.open(false, 1).written), ['2', '3', '4'], 'what may not have arrived as well');
  scene.tell('5');
  const fresh = scene.open();
  t.same(readEvents(fresh.written), [], 'who begins anew has no claim to what another got');
  t.match(fresh.written.toString(), /^id: \d+_5\n/);
  t.same(readEvents(scene.open(false, 99).written), [], 'an id that was never given out is none');
  t.same(lost, []);
});

t.test('what nobody comes for in time is lost, and no longer counts', async (t) => {
  const scene = new Scene(t, ANSWERS);
  const lost: string[] = [];
  scene.open().abort();
  t.equal(scene.closedCount, 1);
  scene.tell('1', lost);
  t.ok(scene.waitingBytes > 0);
  scene.advance(ANSWERS.resumptionTimeMs + 1_000);
  t.same(lost, ['1']);
  t.equal(scene.waitingBytes, 0);
  scene.tell('2', lost);
  t.same(lost, ['1', '2'], 'and nobody is waited for any longer');
  scene.stream.end();
});

t.test('a client that resumes from before the kept events is told how many are missing', async (t) => {
  const scene = new Scene(t, ANSWERS);
  const first = scene.open();
  const text = 'x'.repeat(WRITTEN_BYTES_KEPT / 4);
  for (let number = 1; number <= 10; number += 1) scene.tell(text);
  first.abort();
  t.ok(scene.waitingBytes <= WRITTEN_BYTES_KEPT);
  const [notice, ...others] = readEvents(scene.open(false, 2).written);
  t.match(notice, `${8 - others.length} messages from backends were lost`);
  t.ok(others.length >= 2);
  scene.stream.end();
  t.equal(scene.waitingBytes, 0);
});

t.test('a client that disconnects may listen again at once, however busy the turn is', async (t) => {
  const scene = new Scene(t, answerOptions);
  scene.open().abort();
  t.ok(scene.stream.isHeard);
  while (wakeScheduler.tryPass('somebody'));
  scene.open().abort();
  t.equal(scene.closedCount, 2);
  scene.open();
  await until(() => wakeScheduler.count === 0 && wakeScheduler.tryPass('somebody'), 'later turns');
  t.ok(scene.stream.isOpen, 'and its new stream is not taken for the one that it left');
  t.equal(scene.closedCount, 2);
});

t.test('those who listen without a session and disconnect all at once end in turns', async (t) => {
  let endedCount = 0;
  const form = {
    adapt: (message: Buffer) => message,
    onEnding: () => undefined,
    onEnded: () => void (endedCount += 1),
  };
  const scene = new Scene(t, undefined, form);
  const exchange = scene.open();
  while (wakeScheduler.tryPass('ada'));
  exchange.abort();
  t.equal(endedCount, 0);
  await until(() => endedCount === 1, 'its turn');
  t.notOk(scene.stream.isHeard);
  t.equal(scene.closedCount, 1);
});
