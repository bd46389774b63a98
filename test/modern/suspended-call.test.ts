// Calls that are suspended while a client answers what their backend asks; the test plays the backend and its session.
import { randomBytes } from 'node:crypto';
import t, { type Test } from 'tap';
import { readClientMessage, type ClientMessage } from '../../src/mcp/json-rpc.js';
import type { Exchange, ExchangeRequest } from '../../src/exchange/exchange.js';
import { argumentsIn } from '../../src/messages/wrapped-call.js';
import { answer } from '../../src/exchange/answers.js';
import type { ForwardRequest } from '../../src/session/session.js';
import { AnswerOnlyExchange, QUESTIONS_GATHER_MS, type SuspendedCall } from '../../src/modern/suspended-call.js';
import { SuspendedCalls } from '../../src/modern/suspended-calls.js';
import { argumentsHash } from '../../src/modern/request-state.js';
import { DeadlineWheel } from '../../src/fair/deadline-wheel.js';
import { limits, perSubject } from '../../src/shared/limits.js';
import type { RpcError } from '../../src/shared/rpc-errors.js';
import type { CompiledVirtualHost } from '../../src/user-config/compiled-config.js';
import { hasten } from '../support/hasten.js';
import { RecordedExchange } from '../support/recorded-exchange.js';
import { createAccounts } from '../support/shares.js';
import { until } from '../support/until.js';

const META =
  '"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}';
const virtualHost = { id: 'vh' } as unknown as CompiledVirtualHost;

interface AnswerMessage {
  readonly resultType?: string;
  readonly inputRequests?: Readonly<Record<string, unknown>>;
  readonly requestState?: string;
}

interface Answered {
  readonly id: unknown;
  readonly result?: AnswerMessage;
  readonly error?: RpcError;
}

function answerOf({ answer }: RecordedExchange): Answered {
  return JSON.parse(answer?.body.toString() ?? '{}') as Answered;
}

/** One worker that holds calls; the one that began last is the current one. */
class Scene {
  readonly accounts = createAccounts({ subjectBytesInFlightMax: 1_048_576 });
  readonly calls: SuspendedCalls;
  readonly passedOn: { readonly slot: number; readonly onGone: Parameters<ForwardRequest>[2] }[] = [];
  /** The client's answers, as the backend gets them. */
  readonly passed: string[] = [];
  gaveUp = 0;
  /** Why the caller may not continue the call any more, if so. */
  obstacle: RpcError | undefined;
  /** Where the call's answer goes at present. */
  exchange: Exchange;
  #nowMs = 0;
  readonly #deadlines = new DeadlineWheel(10, () => this.#nowMs);

  constructor(t: Test, slot = 1, secret: Uint8Array = randomBytes(32)) {
    t.teardown(() => this.#deadlines.stop());
    const forwardToSlot = (to: number, ...[, , onGone]: Parameters<ForwardRequest>): void => {
      this.passedOn.push({ slot: to, onGone });
    };
    this.calls = new SuspendedCalls({ deadlines: this.#deadlines, secret, slot, forwardToSlot });
    this.exchange = new RecordedExchange();
  }

  advance(ms: number): void {
    this.#nowMs += ms;
    this.#deadlines.tick();
  }

  begin(subject = 'alice', body = request(1)): SuspendedCall | undefined {
    const message = readClientMessage(body) as ClientMessage;
    const exchange = new RecordedExchange({ body });
    this.exchange = exchange;
    return this.calls.trySuspend({
      binding: {
        subject,
        virtualHostId: 'vh',
        method: 'tools/call',
        name: 'b-t',
        argsHash: argumentsHash(argumentsIn(body, message)),
        headersHash: '',
      },
      backendName: 'b',
      allowList: undefined,
      account: this.accounts.of(subject),
      backendRequests: { onAnswer: (answered: ExchangeRequest) => void this.passed.push(answered.body.toString()) },
      request: {
        pauseWith: (said, meanwhile) => {
          const { exchange: present } = this;
          this.exchange = meanwhile;
          answer(present, said);
        },
        continueWith: (next) => (this.exchange = next),
        obstacleFor: () => this.obstacle,
        giveUp: () => (this.gaveUp += 1),
      },
      caller: { exchange, message },
    });
  }

  /** Sends the request again. */
  retry(body: Buffer, subject = 'alice'): RecordedExchange | undefined {
    const exchange = new RecordedExchange({ body });
    const message = readClientMessage(body) as ClientMessage;
    return this.calls.continueCall({ subject, virtualHost }, exchange, message) ? exchange : undefined;
  }

  /** Sends the request again, and waits until the answers in it have been read, which may be in a later turn of the event loop. */
  async readRetry(body: Buffer): Promise<RecordedExchange> {
    const exchange = this.retry(body);
    if (exchange === undefined) throw new Error('the request is not of a suspended call');
    await until(() => exchange.outcome === 'responded' || this.exchange === exchange, 'the retry to be read');
    return exchange;
  }
}

function request(id: number, more = '', args = '{"a":1}'): Buffer {
  return Buffer.from(
    `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"b-t","arguments":${args},${META}${more}}}`,
  );
}

function retryOf(id: number, state: string | undefined, answers?: unknown): Buffer {
  const responses = answers === undefined ? '' : `,"inputResponses":${JSON.stringify(answers)}`;
  return request(id, `,"requestState":"${state}"${responses}`);
}

function question(id: string, method = 'elicitation/create', params = '{"message":"?"}'): [Buffer, Buffer] {
  const json = JSON.stringify(id);
  const said = params === '' ? '' : `,"params":${params}`;
  return [Buffer.from(json), Buffer.from(`{"jsonrpc":"2.0","id":${json},"method":"${method}"${said}}`)];
}

/** Asks the questions, and returns the result that the client gets for the round. */
async function roundOf(
  scene: Scene,
  call: SuspendedCall | undefined,
  ...asked: [Buffer, Buffer][]
): Promise<AnswerMessage> {
  const exchange = scene.exchange as RecordedExchange;
  for (const each of asked) if (call?.ask(...each) !== undefined) throw new Error('not asked');
  await until(() => exchange.outcome === 'responded', 'the round');
  return answerOf(exchange).result ?? {};
}

t.test('questions asked at once are one round, and the retry continues the call', async (t) => {
  const scene = new Scene(t);
  const call = scene.begin();
  const first = scene.exchange as RecordedExchange;
  const round = await roundOf(scene, call, question('x1'), question('x2', 'roots/list', ''));
  t.equal(answerOf(first).id, 1);
  t.match(round, {
    resultType: 'input_required',
    inputRequests: {
      1: { method: 'elicitation/create', params: { message: '?' } },
      2: { method: 'roots/list', params: {} },
    },
    _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'switchyard' } },
  });
  t.equal(scene.exchange.isAborted, true, 'nobody hears it meanwhile');

  const answers = { 1: { action: 'accept', content: { n: 'ü' } }, 2: { roots: [] } };
  const retry = await scene.readRetry(retryOf(2, round.requestState, answers));
  t.same(scene.passed, [
    `{"jsonrpc":"2.0","id":"x1","result":${JSON.stringify(answers[1])}}`,
    '{"jsonrpc":"2.0","id":"x2","result":{"roots":[]}}',
  ]);
  t.equal(scene.exchange, retry, 'what comes next is for the retry');
  t.equal(call?.caller.exchange, retry);
  call?.onRequestOver();
  t.equal(scene.calls.count, 0);
  t.equal(scene.accounts.size, 0, 'nothing is counted for it any more');
});

t.test('a state can be used once', async (t) => {
  const scene = new Scene(t);
  const call = scene.begin();
  const { requestState } = await roundOf(scene, call, question('x1'));
  t.ok(await scene.readRetry(retryOf(2, requestState, { 1: { action: 'decline' } })));
  const replayed = await scene.readRetry(retryOf(3, requestState, { 1: { action: 'accept' } }));
  t.match(answerOf(replayed), { id: 3, error: { code: -32602, message: /call again without/ } });
  const bare = scene.retry(retryOf(3, requestState));
  t.match(bare && answerOf(bare), { id: 3, error: { code: -32602 } }, 'nor without answers');
  t.equal(scene.passed.length, 1, 'the backend hears nothing of it');

  const next = await roundOf(scene, call, question('x3'));
  const older = await scene.readRetry(retryOf(4, requestState, { 2: { action: 'accept' } }));
  t.match(answerOf(older), { error: { code: -32602 } }, 'nor that of an earlier round of it');
  t.ok(await scene.readRetry(retryOf(5, next.requestState, { 2: { action: 'accept' } })));
  t.equal(scene.passed.length, 2);
});

t.test('of two retries that are read at the same time, one continues the call', async (t) => {
  const scene = new Scene(t);
  const { requestState } = await roundOf(scene, scene.begin(), question('x1'));
  const large = `{"1":{"x":[${'0,'.repeat(512 * 1024)}0]}}`;
  const body = request(2, `,"requestState":"${requestState}","inputResponses":${large}`);
  const retries = [scene.retry(body), scene.retry(body)];
  t.same([scene.passed.length, retries.map((retry) => retry?.outcome === 'responded')], [0, [false, false]]);
  await until(() => scene.passed.length === 1, 'the first one to go on');
  await until(() => retries.some((retry) => retry?.outcome === 'responded'), 'the other one to be told');
  t.equal(scene.exchange, retries[0]);
  t.match(retries[1] && answerOf(retries[1]), { error: { code: -32602, message: /call again without/ } });
});

t.test('the number of rounds in one request is bounded', async (t) => {
  t.teardown(hasten(QUESTIONS_GATHER_MS, 1));
  const scene = new Scene(t);
  const call = scene.begin();
  for (let round = 1; round <= limits.suspendedCallRoundsMax; round += 1) {
    const { requestState } = await roundOf(scene, call, question(`x${round}`));
    await scene.readRetry(retryOf(round + 1, requestState, { [round]: {} }));
  }
  t.equal(scene.passed.length, limits.suspendedCallRoundsMax);
  t.match(call?.ask(...question('more')), { code: -32603, message: /Too many requests were sent/ });
});

t.test(
  'what is kept of a large call, and an answer that waits, count in the share of the subject until the end',
  async (t) => {
    const scene = new Scene(t);
    const used = (): number => scene.accounts.used('requestBytes');
    const args = JSON.stringify('x'.repeat(limits.countedFromBytes));
    const call = scene.begin('alice', request(1, '', args));
    const { length } = request(1, '', args);
    t.equal(used(), length);
    await roundOf(scene, call, question('x1'));
    const message = '{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete"}}';
    scene.exchange.respond(200, 'application/json', message);
    t.equal(used(), length + message.length);
    scene.advance(limits.personMsMax + 100);
    t.equal(used(), 0);
  },
);

t.test('a state opens for its own request alone; any other state is left to the backend', async (t) => {
  const scene = new Scene(t);
  const { requestState } = await roundOf(scene, scene.begin(), question('x1'));
  t.equal(scene.retry(retryOf(2, requestState), 'bob'), undefined, 'of another subject');
  t.equal(scene.retry(request(2, `,"requestState":"${requestState}"`, '{"a":2}')), undefined, 'of other arguments');
  t.equal(scene.retry(retryOf(2, 'the-backends-own')), undefined);
  t.equal(scene.retry(request(2, ',"requestState":7')), undefined);
  t.equal(scene.retry(request(2)), undefined);
  t.equal(scene.passed.length, 0);
  t.ok(scene.retry(retryOf(2, requestState)), 'the call is suspended still');
});

t.test('invalid answers use nothing up, and questions without an answer are asked again', async (t) => {
  const scene = new Scene(t);
  const call = scene.begin();
  const round = await roundOf(scene, call, question('x1'), question('x2'));
  for (const answers of [[], 'x', { 1: 'x' }, { 1: [] }]) {
    const invalid = await scene.readRetry(retryOf(2, round.requestState, answers));
    t.match(answerOf(invalid), { error: { code: -32602, message: /inputResponses/ } }, JSON.stringify(answers));
  }
  const gone = new RecordedExchange({ body: retryOf(3, round.requestState, { 1: {} }) });
  gone.isAborted = true;
  const endings: string[] = [];
  gone.onDone = (_status, _bytes, ending) => endings.push(ending);
  scene.calls.continueCall(
    { subject: 'alice', virtualHost },
    gone,
    readClientMessage(gone.request.body) as ClientMessage,
  );
  await until(() => endings.length > 0, 'its request to be over');
  t.same(endings, ['unheard']);
  t.equal(scene.passed.length, 0, 'a caller that is gone has not answered');

  const partial = await scene.readRetry(retryOf(4, round.requestState, { 2: { action: 'cancel' }, other: {} }));
  await until(() => partial.outcome === 'responded', 'the next round');
  t.match(answerOf(partial), { id: 4, result: { resultType: 'input_required', inputRequests: { 1: {} } } });
  t.strictSame(Object.keys(answerOf(partial).result?.inputRequests ?? {}), ['1']);
  t.equal(scene.passed.length, 1);
});

t.test('an answer that comes before the client’s is given to the retry, under its id', async (t) => {
  const scene = new Scene(t);
  const call = scene.begin();
  const { requestState } = await roundOf(scene, call, question('x1'));
  scene.exchange.respond(200, 'application/json', '{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete"}}');
  call?.onRequestOver();
  t.equal(scene.calls.count, 1, 'it waits for who comes for it');
  const retry = await scene.readRetry(retryOf(22, requestState, { 1: {} }));
  t.same(answerOf(retry), { jsonrpc: '2.0', id: 22, result: { resultType: 'complete' } });
  t.equal(scene.passed.length, 0);
  t.equal(scene.calls.count, 0);
});

t.test('an answer that is too large to be kept is replaced by an error', async (t) => {
  for (const isInParts of [false, true]) {
    const scene = new Scene(t);
    const call = scene.begin();
    const { requestState } = await roundOf(scene, call, question('x1'));
    const large = Buffer.alloc(limits.suspendedAnswerBytesMax + 1, ' ');
    if (isInParts) {
      scene.exchange.openBody('application/json', large.length);
      scene.exchange.write(large);
      scene.exchange.end();
    } else {
      scene.exchange.respond(200, 'application/json', large);
    }
    call?.onRequestOver();
    const retry = scene.retry(retryOf(2, requestState));
    t.match(retry && answerOf(retry), { id: 2, error: { code: -32603, message: /too large/ } });
  }
});

t.test('a withdrawn question is not asked', async (t) => {
  const scene = new Scene(t);
  const call = scene.begin();
  const first = scene.exchange as RecordedExchange;
  call?.ask(...question('x1'));
  call?.withdraw(Buffer.from('"x1"'));
  const round = await roundOf(scene, call, question('x2'));
  t.equal(first.outcome, 'responded', 'there is one round');
  t.strictSame(Object.keys(round.inputRequests ?? {}), ['2']);
});

t.test('a backend is told when its question cannot be asked: unknown, too large, or after the end', async (t) => {
  const scene = new Scene(t);
  const call = scene.begin();
  t.match(call?.ask(...question('x1', 'tasks/get')), { code: -32603 });
  const large = question('x2', 'sampling/createMessage', `{"x":"${'x'.repeat(limits.suspendedQuestionBytesMax)}"}`);
  t.match(call?.ask(...large), { code: -32603 });
  t.equal(call?.ask(...question('x3')), undefined);
  call?.onRequestOver();
  t.match(call?.ask(...question('x4')), { code: -32603 }, 'of a call that is over');
});

t.test('the number of suspended calls of each subject is bounded', async (t) => {
  const scene = new Scene(t);
  const calls = Array.from({ length: perSubject(limits.suspendedCallsMax) }, () => scene.begin());
  t.notOk(calls.includes(undefined));
  t.equal(scene.begin(), undefined);
  t.ok(scene.begin('bob'));
  calls[0]?.onRequestOver();
  t.ok(scene.begin());
});

t.test(
  'what waits for a client counts in its subject’s share, and no more is kept than that has room for',
  async (t) => {
    const scene = new Scene(t);
    // Their leases.
    for (const subject of ['alice', 'bob']) scene.accounts.of(subject).sessions.take(1);
    const [id, text] = question('x', 'sampling/createMessage', `{"x":"${'x'.repeat(200_000)}"}`);
    const calls = Array.from({ length: 6 }, () => scene.begin());
    const refused = calls.map((call) => call?.ask(id, text)).filter((error) => error !== undefined);
    t.match(refused, [{ message: /too many calls already wait for input/ }], 'five questions of 200 kB in one MiB');
    t.ok(scene.accounts.used('requestBytes') > 1_000_000);
    t.equal(scene.begin('bob')?.ask(id, text), undefined, 'another subject is not refused');
    calls[0]?.withdraw(id);
    t.equal(calls[5]?.ask(id, text), undefined, 'room that is free again is used');
    for (const call of calls) call?.onRequestOver();
    t.ok(scene.accounts.of('alice').requestBytes.used === 0, 'and all of it comes back');
  },
);

t.test('a call whose client does not come back is given up', async (t) => {
  const scene = new Scene(t);
  const args = `{"a":"${'x'.repeat(limits.countedFromBytes)}"}`;
  const call = scene.begin('alice', request(1, '', args));
  const { requestState } = await roundOf(scene, call, question('x1'));
  t.ok(scene.accounts.used('requestBytes') > 0);
  scene.advance(limits.personMsMax + 100);
  t.equal(scene.gaveUp, 1);
  call?.onRequestOver();
  t.equal(scene.accounts.used('requestBytes'), 0, 'what it used is given back, once');
  t.equal(scene.calls.count, 0);
  const late = scene.retry(request(2, `,"requestState":"${String(requestState)}","inputResponses":{"1":{}}`, args));
  t.match(late && answerOf(late), { error: { code: -32602 } });
});

t.test(
  'a process that ends gives up its suspended calls, so that beginning again never carries a call out twice at once',
  async (t) => {
    const scene = new Scene(t);
    const { requestState } = await roundOf(scene, scene.begin(), question('x1'));
    const served = scene.begin();
    t.equal(scene.begin()?.ask(...question('x2')), undefined);
    scene.calls.giveUpAll();
    t.equal(scene.gaveUp, 2, 'also what was about to be');
    t.equal(scene.calls.count, 1, 'what nobody waits for an answer to goes on');
    t.equal(scene.begin(), undefined, 'and no more are suspended');
    t.match(served?.ask(...question('x3')), { code: -32603, message: /about to end/ }, 'nor this one, from then on');
    served?.onRequestOver();
    const late = await scene.readRetry(retryOf(2, requestState, { 1: {} }));
    t.match(answerOf(late), { error: { code: -32602 } });
  },
);

t.test('a call that the config no longer allows is not continued', async (t) => {
  const scene = new Scene(t);
  const { requestState } = await roundOf(scene, scene.begin(), question('x1'));
  scene.obstacle = { code: -32602, message: 'Unknown tool: b-t' };
  const retry = await scene.readRetry(retryOf(2, requestState, { 1: {} }));
  t.match(answerOf(retry), { id: 2, error: scene.obstacle });
  t.same([scene.passed.length, scene.gaveUp, scene.calls.count], [0, 1, 0], 'its backend is told that nobody waits');
});

t.test('a retry is passed on to the worker that holds the call', async (t) => {
  const secret = randomBytes(32);
  const [one, other] = [new Scene(t, 1, secret), new Scene(t, 2, secret)];
  const { requestState } = await roundOf(one, one.begin(), question('x1'));
  const retry = other.retry(retryOf(2, requestState, { 1: {} }));
  t.match(other.passedOn, [{ slot: 1 }]);
  other.passedOn[0]?.onGone(undefined);
  t.match(retry && answerOf(retry), { error: { code: -32602 } }, 'which is gone');
  const foreign = new Scene(t, 1, secret);
  const lost = await foreign.readRetry(retryOf(3, requestState, { 1: {} }));
  t.match(answerOf(lost), { error: { code: -32602 } }, 'or was started again');
  t.ok(await one.readRetry(retryOf(4, requestState, { 1: {} })));
  t.equal(one.passed.length, 1);
});

t.test('the end of an answer that nobody hears is reported once, however it ends', (t) => {
  const { request } = new RecordedExchange();
  const rows: readonly (readonly [
    string,
    (exchange: AnswerOnlyExchange) => void,
    readonly [number, string | undefined],
  ])[] = [
    ['broken off', (exchange) => exchange.reset(), [502, undefined]],
    [
      'in parts',
      (exchange) => (
        exchange.openBody('application/json', 2),
        exchange.write(Buffer.from('{')),
        exchange.end(Buffer.from('}')),
        exchange.reset()
      ),
      [200, '{}'],
    ],
    [
      'broken off in parts',
      (exchange) => (exchange.openBody('application/json', 2), exchange.reset(), exchange.end()),
      [502, undefined],
    ],
    ['a stream', (exchange) => (exchange.openStream(), exchange.end()), [200, undefined]],
    [
      'too large',
      (exchange) => (exchange.openBody('application/json', limits.suspendedAnswerBytesMax + 1), exchange.end()),
      [200, undefined],
    ],
  ];
  for (const [name, play, told] of rows) {
    const heard: unknown[] = [];
    play(new AnswerOnlyExchange(request, (status, message) => heard.push([status, message?.toString()])));
    t.same(heard, [told], name);
  }
  const room = new AnswerOnlyExchange(request, () => undefined).reserve(1, { onRoom: () => {}, onNoRoom: () => {} });
  t.equal(room, 'room', 'what nobody hears waits for nothing');
  t.end();
});

t.test('a backend can ask a client of this era only for what a result can ask for', async (t) => {
  const scene = new Scene(t);
  const call = scene.begin();
  for (const method of ['tasks/get', 'tasks/cancel', 'tools/call', 'ping', 'x/any', 'Elicitation/create', ''])
    t.match(call?.ask(...question('x', method, '{}')), { code: -32603, message: /./ }, method);
  const kinds = ['elicitation/create', 'sampling/createMessage', 'roots/list'];
  const round = await roundOf(scene, call, ...kinds.map((method, at) => question(`x${at}`, method, '{}')));
  const asked = Object.values(round.inputRequests ?? {}) as { readonly method: string }[];
  t.same(
    asked.map(({ method }) => method),
    kinds,
    'and of the others it hears nothing',
  );
});
