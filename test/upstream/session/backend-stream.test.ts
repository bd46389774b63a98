// A backend's own stream: when it is requested again, and when no longer; its contents are covered in test/spec/streams.rows.ts.
import { plainRequest } from '../../../src/http-client/http-upstream.js';
import t, { type Test } from 'tap';
import { BackendStream } from '../../../src/upstream/session/backend-stream.js';
import { ModernListening } from '../../../src/upstream/session/modern-listening.js';
import { limits } from '../../../src/shared/limits.js';
import { ScriptedContext } from '../scripted-context.js';
import { BACKEND_RETRY_MS_MIN, BACKEND_RETRY_MS_MAX } from '../../../src/upstream/rpc/resumption.js';

const MESSAGE = 'data: {"jsonrpc":"2.0","method":"notifications/x"}\n\n';

/** A session's memory share, with a given amount left. */
class Memory {
  heldBytes = 0;
  bytesMax = Infinity;

  hasRoomFor(bytes: number): boolean {
    return this.heldBytes + bytes <= this.bytesMax;
  }

  keep(bytes: number): void {
    this.heldBytes += bytes;
  }

  drop(bytes: number): void {
    this.heldBytes -= bytes;
  }
}

function listen(
  t: Test,
  memory = new Memory(),
): {
  context: ScriptedContext;
  stream: BackendStream;
  heard: string[];
  answers: string[];
  lost: () => number;
  outcomes: boolean[];
  answered: () => number;
} {
  const context = new ScriptedContext(t);
  const heard: string[] = [];
  const answers: string[] = [];
  let lostCount = 0;
  const outcomes: boolean[] = [];
  let target = { origin: 'https://b.example', path: '/mcp' };
  const stream = new BackendStream({
    deadlines: context.deadlines,
    memory,
    requestStream: (lastEventId, handler) => {
      const headers = ['last-event-id', lastEventId];
      return context.http.dispatch(plainRequest('ada', target, 'GET', headers), handler);
    },
    tryFollowRedirect: (status, location) => {
      if (status !== 307) return false;
      target = { ...target, path: location };
      return true;
    },
    onOutcome: (isStream) => outcomes.push(isStream),
    onMessage: (bytes) => heard.push(bytes.toString()),
    onAnswer: (bytes) => answers.push(bytes.toString()),
    onUnclearStatus: () => (lostCount += 1),
  });
  return { context, stream, heard, answers, lost: () => lostCount, outcomes, answered: () => outcomes.length };
}

t.test('the outcome of its GET is reported once it is known', async (t) => {
  for (const answer of ['stream', 'refusal', 'trouble', 'fault']) {
    const { context, answered } = listen(t);
    t.equal(answered(), 0, answer);
    const { last } = context.http;
    if (answer === 'stream') last.head(200, 'text/event-stream');
    else if (answer === 'refusal') last.empty(405);
    else if (answer === 'trouble') last.empty(503);
    else last.fault('connection-refused');
    t.equal(answered(), 1, answer);
  }
});

t.test('a redirect is followed at once, and remembered; a second one refuses the stream', async (t) => {
  const { context, heard, answered } = listen(t);
  const { http } = context;
  const pathOf = (): string => http.last.request.target.path;
  http.last.head(307, '', '', 0, '/mcp/');
  t.same([pathOf(), answered(), http.calls[0]!.isAborted], ['/mcp/', 0, true]);
  http.last.head(200, 'text/event-stream').data('data: {"jsonrpc":"2.0","method":"notifications/x"}\n\n').end();
  t.equal(heard.length, 1);
  context.advance(2 * limits.retryDelayMsMax);
  t.same([pathOf(), http.calls.length], ['/mcp/', 3], 'asked again where it leads');
  http.last.head(307, '', '', 0, '/mcp');
  context.advance(2 * limits.retryDelayMsMax);
  t.same([http.calls.length, answered()], [3, 2], 'no chain of redirects');
});

t.test('a response that is no stream is not requested again', async (t) => {
  for (const status of [202, 301, 400, 404, 405]) {
    const { context, lost } = listen(t);
    context.http.last.empty(status);
    context.advance(2 * limits.retryDelayMsMax);
    t.equal(context.http.calls.length, 1, String(status));
    t.equal(lost(), status === 404 ? 1 : 0);
  }
});

t.test('a backend that had a stream, and refuses it now, may no longer know the session', async (t) => {
  for (const [status, isDoubtful] of [
    [400, 1],
    [404, 1],
    [405, 1],
    [403, 0],
  ] as const) {
    const { context, lost } = listen(t);
    context.http.last.head(200, 'text/event-stream').end();
    context.advance(2 * limits.retryDelayMsMin);
    t.equal(context.http.calls.length, 2);
    context.http.last.empty(status);
    t.equal(lost(), isDoubtful, String(status));
  }
});

t.test('a response in another format is no stream either', async (t) => {
  const { context, heard } = listen(t);
  context.http.last.head(200, 'application/json').data(MESSAGE);
  t.same(heard, []);
  context.advance(2 * limits.retryDelayMsMax);
  t.equal(context.http.calls.length, 1);
});

t.test('a failing backend is asked less and less often, and from the beginning once it responds', async (t) => {
  const { context, heard } = listen(t);
  for (let delayMs = limits.retryDelayMsMin; delayMs < limits.retryDelayMsMax; delayMs *= 2) {
    const { length } = context.http.calls;
    if (length % 4 === 3) context.http.last.empty(409);
    else if (length % 3 === 0) context.http.last.empty(429);
    else if (length % 3 === 1) context.http.last.empty(503);
    else context.http.last.fault('connection-refused');
    context.advance(delayMs - 20);
    t.equal(context.http.calls.length, length, `${delayMs} ms are not over`);
    context.advance(40);
    t.equal(context.http.calls.length, length + 1);
  }
  for (let tries = 0; tries < 2; tries += 1) {
    const { length } = context.http.calls;
    context.http.last.empty(503);
    context.advance(limits.retryDelayMsMax + 20);
    t.equal(context.http.calls.length, length + 1, 'no longer than the longest wait');
  }
  context.http.last.head(200, 'text/event-stream').data(MESSAGE).end();
  t.equal(heard.length, 1);
  const { length } = context.http.calls;
  context.advance(limits.retryDelayMsMin + 20);
  t.equal(context.http.calls.length, length + 1);
});

t.test('a retry is obeyed exactly, within bounds, and the stream resumes after the last id', async (t) => {
  for (const [said, obeyedMs] of [
    ['5000', 5_000],
    ['0', BACKEND_RETRY_MS_MIN],
    ['99999999999', BACKEND_RETRY_MS_MAX],
  ] as const) {
    const { context } = listen(t);
    context.http.last.head(200, 'text/event-stream').data(`retry: ${said}\nid: 7\n${MESSAGE}`).end();
    context.advance(obeyedMs - 20);
    t.equal(context.http.calls.length, 1, `${said}: not before`);
    context.advance(40);
    t.equal(context.http.calls.length, 2, `${said}: and then`);
    t.equal(context.http.last.header('last-event-id'), '7');
    for (const id of ['x'.repeat(2_000), 'é', '\u{1f682}', 'a\tb']) {
      context.http.last.head(200, 'text/event-stream').data(`id: 8\n\nid: ${id}\n\n`).end();
      context.advance(obeyedMs + 20);
      t.equal(
        context.http.last.header('last-event-id'),
        '',
        `${id.slice(0, 3)}: too long for a header, or nothing for one`,
      );
    }
  }
});

t.test(
  'an event that is too large ends the stream; answers are told apart, and invalid messages skipped',
  async (t) => {
    const { context, heard, answers, outcomes } = listen(t);
    const call = context.http.last.head(200, 'text/event-stream');
    call.data('data: {"jsonrpc":"2.0","id":1,"result":{}}\n\ndata: nonsense\n\n').data(MESSAGE);
    t.equal(heard.length, 1);
    t.same(answers, ['{"jsonrpc":"2.0","id":1,"result":{}}']);
    call.data(`data: ${'x'.repeat(limits.backendStreamEventBytesMax)}`);
    t.ok(call.isAborted);
    t.same(outcomes, [true, false], 'it may have been an answer that a request waits for');
    context.advance(limits.retryDelayMsMin + 20);
    t.equal(context.http.calls.length, 2);
    context.http.last.head(200, 'text/event-stream').data(MESSAGE);
    t.equal(heard.length, 2, 'the next stream is read anew');
  },
);

t.test('an event that is too large is not requested again, one without room for it is', async (t) => {
  const memory = new Memory();
  const { context, heard } = listen(t, memory);
  const asked: (string | undefined)[] = [];
  const events = [`id: 1\n${MESSAGE}`, `id: 2\ndata: ${'x'.repeat(limits.backendStreamEventBytesMax)}\n\n`];
  events.push(`id: 3\n${MESSAGE}`, `id: 4\ndata: ${'x'.repeat(10_000)}`);
  for (let time = 0; time < 4; time += 1) {
    const from = context.http.last.header('last-event-id') ?? '';
    asked.push(from);
    memory.bytesMax = time === 1 ? 5_000 : Infinity;
    const call = context.http.last.head(200, 'text/event-stream');
    for (const event of events.slice(Number(from))) call.data(event);
    if (!call.isAborted) call.end();
    context.advance(limits.retryDelayMsMax + 20);
  }
  t.same(asked, ['', '2', '3', '3']);
  t.equal(heard.length, 2, 'nothing twice');
});

t.test('a closed stream reports and requests nothing more', async (t) => {
  const { context, stream, heard } = listen(t);
  const call = context.http.last.head(200, 'text/event-stream');
  stream.close();
  t.ok(call.isAborted);
  context.advance(2 * limits.retryDelayMsMax);
  t.equal(context.http.calls.length, 1);
  t.same(heard, []);
  const other = listen(t);
  other.context.http.last.empty(503);
  other.stream.close();
  other.context.advance(2 * limits.retryDelayMsMax);
  t.equal(other.context.http.calls.length, 1, 'while it waited');
});

t.test('the received part of an event counts until the event is complete, or the stream ends', async (t) => {
  const memory = new Memory();
  const { context, stream, heard } = listen(t, memory);
  const begun = `data: ${'x'.repeat(10_000)}`;
  context.http.last.head(200, 'text/event-stream').data(begun);
  t.ok(memory.heldBytes >= 10_000, `${memory.heldBytes} bytes`);
  context.http.last.data('\n\n');
  t.equal(memory.heldBytes, 0);
  context.http.last.data(begun).end();
  t.equal(memory.heldBytes, 0, 'nothing is kept of a stream that has ended');
  context.advance(limits.retryDelayMsMin + 20);
  memory.bytesMax = 5_000;
  context.http.last.head(200, 'text/event-stream').data(MESSAGE).data(begun);
  t.equal(heard.length, 1, 'what is whole is heard');
  t.ok(context.http.last.isAborted, 'without room the stream is closed');
  t.equal(memory.heldBytes, 0);
  const { length } = context.http.calls;
  context.advance(2 * limits.retryDelayMsMin + 20);
  t.equal(context.http.calls.length, length + 1, 'and opened again');
  context.http.last.head(200, 'text/event-stream').data('data: x');
  t.ok(memory.heldBytes > 0);
  stream.close();
  t.equal(memory.heldBytes, 0);
});

t.test('a backend without sessions is asked anew when what is wanted changes, and only then', async (t) => {
  const context = new ScriptedContext(t);
  const target = { origin: 'https://b.example', path: '/mcp' };
  const told: string[] = [];
  let wanted = 'a';
  const listening = new ModernListening({
    deadlines: context.deadlines,
    memory: new Memory(),
    filter: () => wanted,
    requestStream: (filter, handler) =>
      context.http.dispatch(plainRequest('ada', target, 'POST', ['filter', filter]), handler),
    tryFollowRedirect: () => false,
    onRequesting: () => told.push('asking'),
    onOutcome: () => told.push('settled'),
    onLost: () => told.push('lost'),
    onMessage: () => undefined,
  });
  const acknowledge = (): unknown =>
    context.http.last
      .head(200, 'text/event-stream')
      .data('data: {"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{}}\n\n');
  acknowledge();
  const renew = async (filter: string): Promise<string[]> => {
    wanted = filter;
    listening.renew();
    await Promise.resolve();
    return context.http.calls.map((call) => `${call.header('filter')}${call.isAborted ? ' (closed)' : ''}`);
  };
  t.same(await renew('a'), ['a']);
  t.same(await renew('b'), ['a', 'b'], 'until the new one is acknowledged nothing is lost');
  const settledCount = (): number => told.filter((each) => each === 'settled').length;
  const before = settledCount();
  await renew('a');
  t.equal(settledCount(), before, 'until then nothing is settled, whatever is wanted meanwhile');
  await renew('b');
  acknowledge();
  t.same(await renew('b'), ['a (closed)', 'b']);
  t.equal(told.at(-1), 'settled');
  await renew('c');
  context.http.last.empty(400);
  t.equal(told.at(-1), 'settled', 'refused, while the one before goes on');
  t.notOk(listening.isOver);
  t.same(await renew('d'), ['a (closed)', 'b', 'c (closed)', 'd']);
  acknowledge();
  t.notOk(told.includes('lost'));
  context.http.last.end();
  context.advance(2 * limits.retryDelayMsMin);
  context.http.last.empty(404);
  t.ok(told.includes('lost'), 'a backend that no longer knows the method');
  t.ok(listening.isOver);
});

t.test('a backend that never knew how to be listened to is not lost', async (t) => {
  const context = new ScriptedContext(t);
  const told: string[] = [];
  const target = { origin: 'https://b.example', path: '/mcp' };
  const { deadlines } = context;
  new ModernListening({
    ...{
      deadlines,
      memory: new Memory(),
      filter: () => 'a',
      onRequesting: () => undefined,
      onMessage: () => undefined,
    },
    tryFollowRedirect: () => false,
    requestStream: (_filter, handler) => context.http.dispatch(plainRequest('ada', target, 'POST', []), handler),
    onOutcome: () => told.push('settled'),
    onLost: () => told.push('lost'),
  });
  context.http.last.empty(404);
  t.ok(told.includes('settled'));
  t.notOk(told.includes('lost'));
});

t.test(
  'a backend that does not acknowledge what is wanted now has some time, in which nothing else is asked',
  async (t) => {
    const context = new ScriptedContext(t);
    let wanted = 'a';
    const target = { origin: 'https://b.example', path: '/mcp' };
    const listening = new ModernListening({
      deadlines: context.deadlines,
      memory: new Memory(),
      filter: () => wanted,
      requestStream: (filter, handler) =>
        context.http.dispatch(plainRequest('ada', target, 'POST', ['filter', filter]), handler),
      tryFollowRedirect: () => false,
      onRequesting: () => undefined,
      onOutcome: () => undefined,
      onLost: () => undefined,
      onMessage: () => undefined,
    });
    const renew = async (filter: string): Promise<string[]> => {
      wanted = filter;
      listening.renew();
      await Promise.resolve();
      return context.http.calls.map((call) => `${call.header('filter')}${call.isAborted ? ' (closed)' : ''}`);
    };
    context.http.last.head(200, 'text/event-stream');
    t.same(await renew('b'), ['a']);
    context.advance(2 * limits.remoteAnswerMsMax);
    t.ok(listening.isOffered);
    t.same(await renew('c'), ['a', 'b']);
    context.advance(2 * limits.remoteAnswerMsMax);
    t.same(await renew('c'), ['a (closed)', 'b', 'c'], 'b has got no response at all');
    context.advance(2 * limits.remoteAnswerMsMax);
    t.same(await renew('c'), ['a (closed)', 'b (closed)', 'c']);
    listening.close();
    t.ok(context.http.last.isAborted);
  },
);
