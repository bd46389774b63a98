// Answers on the backend's own stream, before and after their requests got 202.
import t, { type Test } from 'tap';
import { readBackendMessage } from '../../../src/mcp/json-rpc.js';
import type { IdSpan, AnswerReader } from '../../../src/upstream/rpc/request-plan.js';
import {
  EARLY_ANSWER_BYTES_EACH,
  EARLY_ANSWER_BYTES_MAX,
  EARLY_ANSWER_MS,
  StrayAnswers,
} from '../../../src/upstream/session/stray-answers.js';
import { until } from '../../support/until.js';
import { ScriptedContext } from '../scripted-context.js';

function spanOf(id: string): IdSpan {
  const bytes = Buffer.from(id);
  return { bytes, start: 0, end: bytes.length };
}

class Scene {
  readonly context: ScriptedContext;
  readonly answers: StrayAnswers;
  keptBytes = 0;
  hasRoom = true;
  /** What the requests got, each as its id and what came. */
  readonly got: string[] = [];

  constructor(t: Test) {
    this.context = new ScriptedContext(t);
    this.answers = new StrayAnswers('alice', this.context.deadlines, {
      hasRoomFor: () => this.hasRoom,
      keep: (bytes) => void (this.keptBytes += bytes),
      drop: (bytes) => void (this.keptBytes -= bytes),
    });
  }

  /** Sends an answer on the stream, in memory that is overwritten then. @param id as JSON. */
  send(id: string, text = ''): void {
    const bytes = Buffer.from(`{"jsonrpc":"2.0","id":${id},"result":{"text":"${text}"}}`);
    this.answers.take(bytes, readBackendMessage(bytes)!);
    bytes.fill(0);
  }

  wait(id: string): AnswerReader {
    const reader: AnswerReader = {
      onEvent: (bytes) => this.got.push(`${id} ${(JSON.parse(bytes.toString()) as { id: unknown }).id as string}`),
      onLost: ({ kind }) => this.got.push(`${id} ${kind}`),
      onHead: () => undefined,
      onData: () => undefined,
      onEnd: () => undefined,
      onFault: () => undefined,
    };
    this.answers.wait(spanOf(id), reader);
    return reader;
  }
}

t.test('an answer reaches its request, whichever of it and the 202 is first, and only one does', async (t) => {
  const scene = new Scene(t);
  scene.wait('1');
  for (const id of ['1', '1', '2', '2']) scene.send(id);
  scene.wait('2');
  t.same(scene.got, ['1 1', '2 2']);
  scene.context.advance(2 * EARLY_ANSWER_MS);
  t.equal(scene.keptBytes, 0);
  scene.answers.close();
  t.same(scene.got, ['1 1', '2 2'], 'nobody waits any more');
});

t.test('a number may come back as a string, and a string is no number', async (t) => {
  const scene = new Scene(t);
  scene.send('"1"');
  for (const id of ['1', '2', '"3"', '"\\"4"']) scene.wait(id);
  for (const id of ['"2"', '3', '"4"', '"\\"3"']) scene.send(id);
  t.same(scene.got, ['1 1', '2 2']);
  scene.send('3.0');
  scene.wait('3');
  t.same(scene.got.slice(2), ['3 3']);
});

t.test('of two requests with one id, the first gets the answer, and the second none', async (t) => {
  const scene = new Scene(t);
  for (const id of ['1', '1.0']) scene.wait(id);
  scene.send('1.0');
  t.same(scene.got, ['1.0 id-in-use', '1 1']);
});

t.test('an answer that nobody waits for is kept for a moment, and counted', async (t) => {
  const scene = new Scene(t);
  scene.send('1');
  t.ok(scene.keptBytes > EARLY_ANSWER_BYTES_EACH);
  scene.context.advance(2 * EARLY_ANSWER_MS);
  t.equal(scene.keptBytes, 0);
  scene.wait('1');
  t.same(scene.got, [], 'not for a later request');
  scene.send('2');
  scene.hasRoom = false;
  scene.send('3');
  for (const id of ['2', '3']) scene.wait(id);
  t.same(scene.got, ['2 2'], 'nor without room');
  t.equal(scene.keptBytes, 0);
});

t.test(
  'as many requests as a client sends at once may be answered before the 202s, but not any number of bytes',
  async (t) => {
    const scene = new Scene(t);
    const ids = Array.from({ length: 500 }, (_, id) => String(id));
    for (const id of ids) scene.send(id);
    for (const id of ids) scene.wait(id);
    await until(() => scene.got.length === ids.length, 'all answers');
    t.equal(scene.keptBytes, 0);
    for (let id = 1_000; id < 1_100; id += 1) scene.send(String(id), 'x'.repeat(10_000));
    t.ok(scene.keptBytes <= EARLY_ANSWER_BYTES_MAX && scene.keptBytes > EARLY_ANSWER_BYTES_MAX / 2);
    for (const id of ['1000', '1099']) scene.wait(id);
    t.equal(scene.got.at(-1), '1099 1099', 'the newest are likeliest to be waited for');
    t.equal(scene.got.length, ids.length + 1);
  },
);

t.test('when the stream is lost, those who wait are told, and what came early is dropped', async (t) => {
  const scene = new Scene(t);
  scene.send('1');
  scene.wait('2');
  scene.answers.forget(spanOf('3'), scene.wait('3'));
  scene.answers.close();
  t.same(scene.got, ['2 answer-incomplete']);
  t.equal(scene.keptBytes, 0);
});
