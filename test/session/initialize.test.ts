// `initialize`: what of the client's params is refused, how long backends are waited for, and what is declared for all of them together.
import t, { type Test } from 'tap';
import { limits, PROGRAM_VERSION } from '../../src/shared/index.js';
import { logInto } from '../support/log-lines.js';
import type { RecordedExchange } from '../support/recorded-exchange.js';
import { RelayScene } from '../relay/relay-scene.js';
import { virtualHostOf } from '../relay/virtual-host.js';
import { REQUEST_ID, type ScriptedCall } from '../upstream/scripted-upstream.js';

const CLIENT = { name: 'c', version: '1' };
const PARAMS = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: CLIENT };

interface Answer {
  readonly result?: {
    readonly protocolVersion: string;
    readonly capabilities: Readonly<Record<string, unknown>>;
    readonly instructions?: string;
    readonly _meta?: unknown;
  };
  readonly error?: { readonly code: number; readonly message: string };
}

function begin(scene: RelayScene, params: string | undefined): RecordedExchange {
  const member = params === undefined ? '' : `,"params":${params}`;
  const body = Buffer.from(`{"jsonrpc":"2.0","id":0,"method":"initialize"${member}}`);
  return scene.request({ sessionId: '', body });
}

function answerTo({ answer }: RecordedExchange): Answer {
  return JSON.parse(answer?.body.toString() ?? '{}') as Answer;
}

/** A scene with these backends, each with its call of `initialize`. */
function beginAt(
  t: Test,
  names: readonly string[],
): { scene: RelayScene; exchange: RecordedExchange; calls: ScriptedCall[] } {
  const scene = new RelayScene(t, virtualHostOf(Object.fromEntries(names.map((name) => [name, {}]))));
  const exchange = begin(scene, JSON.stringify(PARAMS));
  return { scene, exchange, calls: [...scene.http.calls] };
}

function opens(call: ScriptedCall | undefined, scene: RelayScene, result: object = {}): void {
  const whole = { protocolVersion: '2025-11-25', capabilities: { tools: {} }, ...result };
  call?.json(JSON.stringify({ jsonrpc: '2.0', id: REQUEST_ID, result: whole }), 'S');
  scene.http.last.empty();
}

t.test('params that cannot be understood are refused with what is wrong, and no backend hears of them', (t) => {
  const scene = new RelayScene(t, virtualHostOf({ a: {} }));
  const withMember = (name: string, value: unknown): string => JSON.stringify({ ...PARAMS, [name]: value });
  const large = 'x'.repeat(limits.clientMemberBytesMax);
  const cases: readonly (readonly [string | undefined, string])[] = [
    [undefined, 'params missing'],
    ['{}', 'protocolVersion must be a string'],
    [withMember('protocolVersion', 7), 'protocolVersion must be a string'],
    [withMember('capabilities', []), 'capabilities must be an object'],
    [withMember('capabilities', undefined), 'capabilities must be an object'],
    [withMember('clientInfo', 'c'), 'clientInfo must be an object'],
    [withMember('clientInfo', { version: '1' }), 'clientInfo.name must be a string'],
    [withMember('clientInfo', { name: 'c', version: 1 }), 'clientInfo.version must be a string'],
    [JSON.stringify(PARAMS).replace('{', '{"capabilities":{},'), 'capabilities must be given once'],
    [withMember('clientInfo', { ...CLIENT, title: large }), 'clientInfo must not be longer than'],
    [withMember('capabilities', { experimental: { x: { y: large } } }), 'capabilities must not be longer than'],
    [withMember('other', 'x'.repeat(limits.initializeParamsBytesMax)), 'params must not be longer than'],
  ];
  for (const [params, fault] of cases) {
    const { error } = answerTo(begin(scene, params));
    t.equal(error?.code, -32602, fault);
    t.ok(error?.message.includes(fault), fault);
  }
  t.same(scene.http.calls, []);
  const longest = 'x'.repeat(limits.clientMemberBytesMax - JSON.stringify({ ...CLIENT, title: '' }).length);
  begin(scene, withMember('clientInfo', { ...CLIENT, title: longest }));
  t.same(scene.http.summary, ['initialize'], 'what is just short enough is taken');
  t.end();
});

t.test('a client hears the version that it has asked for if that is known, and the newest otherwise', (t) => {
  for (const [asked, told] of [
    ['2025-03-26', '2025-03-26'],
    ['2025-06-18', '2025-06-18'],
    ['1999-01-01', '2025-11-25'],
  ]) {
    const scene = new RelayScene(t, virtualHostOf({ a: {} }));
    const exchange = begin(scene, JSON.stringify({ ...PARAMS, protocolVersion: asked }));
    opens(scene.http.call(0), scene);
    t.equal(answerTo(exchange).result?.protocolVersion, told);
    t.match(answerTo(exchange).result, { serverInfo: { name: 'switchyard', version: PROGRAM_VERSION } });
  }
  t.end();
});

t.test('a session begins with the backends that are open when the patience is over, and names the others', (t) => {
  const { scene, exchange, calls } = beginAt(t, ['a', 'b', 'c']);
  opens(calls[1], scene);
  calls[2]?.empty(500);
  t.equal(exchange.outcome, 'none', 'it waits for the slow one');
  scene.context.advance(scene.context.options.initializePatienceMs + 20);
  const { _meta } = answerTo(exchange).result ?? {};
  const unavailable = (_meta as { 'switchyard/unavailable': { backend: string }[] })['switchyard/unavailable'];
  t.same(
    unavailable.map(({ backend }) => backend),
    ['a', 'c'],
  );
  t.end();
});

t.test('without an open backend the first one that opens ends the wait', (t) => {
  const { scene, exchange, calls } = beginAt(t, ['a', 'b']);
  scene.context.advance(scene.context.options.initializePatienceMs + 20);
  t.equal(exchange.outcome, 'none');
  opens(calls[0], scene);
  t.match(answerTo(exchange).result, { _meta: { 'switchyard/unavailable': [{ backend: 'b' }] } });
  t.end();
});

t.test('a session without backends begins at once', (t) => {
  const { exchange } = beginAt(t, []);
  t.match(answerTo(exchange), { result: { protocolVersion: '2025-11-25' } });
  t.notMatch(answerTo(exchange).result, { _meta: {} });
  t.end();
});

t.test('instructions are told under the names of their backends', (t) => {
  const { scene, exchange, calls } = beginAt(t, ['a', 'b', 'c']);
  opens(calls[0], scene, { instructions: 'Be "kind".' });
  opens(calls[1], scene);
  opens(calls[2], scene, { instructions: 'Be quick.' });
  t.equal(answerTo(exchange).result?.instructions, '# a\n\nBe "kind".\n\n# c\n\nBe quick.');
  const none = beginAt(t, ['a']);
  opens(none.calls[0], none.scene);
  t.notOk('instructions' in (answerTo(none.exchange).result ?? {}));
  t.end();
});

t.test('an extension has the settings of the first backend by name, and an operator hears of others', (t) => {
  const lines: string[] = [];
  const hosts = virtualHostOf({ b: {}, a: {} });
  const scene = new RelayScene(t, hosts, {}, undefined, {}, { logger: logInto(lines) });
  const exchange = begin(scene, JSON.stringify(PARAMS));
  const calls = [...scene.http.calls];
  const extended = (depth: number, more: object): object => ({
    capabilities: { tools: {}, extensions: { 'org.example/notes': { depth }, 'org.example/same': {}, ...more } },
  });
  opens(calls[0], scene, extended(1, { 'org.example/of-b': {} }));
  opens(calls[1], scene, extended(2, {}));
  t.same(answerTo(exchange).result?.capabilities['extensions'], {
    'org.example/notes': { depth: 2 },
    'org.example/same': {},
    'org.example/of-b': {},
  });
  const told = lines.filter((line) => line.includes('extension'));
  t.equal(told.length, 1);
  t.match(told[0], /org\.example\/notes/);
  t.notMatch(told[0], /org\.example\/same/);
  t.end();
});

t.test('an experimental capability is declared if one backend has it, and not if several do', (t) => {
  const { scene, exchange, calls } = beginAt(t, ['a', 'b']);
  opens(calls[0], scene, { capabilities: { experimental: { one: { x: 1 }, both: {} } } });
  opens(calls[1], scene, { capabilities: { experimental: { both: {} } } });
  t.same(answerTo(exchange).result?.capabilities['experimental'], { one: { x: 1 } });
  const sentCount = scene.http.calls.length;
  scene.post('both', {}, 1);
  scene.post('one', {}, 2);
  t.same(scene.http.summary.slice(sentCount), ['one'], 'its method leads to that backend');
  t.equal(scene.http.last.request.target, scene.virtualHost.backends.get('a')?.target);
  t.end();
});

t.test('a session whose caller has gone is ended at its backends', (t) => {
  const { scene, exchange, calls } = beginAt(t, ['a']);
  exchange.isForgiving = true;
  exchange.abort();
  opens(calls[0], scene);
  t.equal(scene.http.last.summary, 'DELETE');
  t.equal(scene.accounts.size, 0, 'nothing is counted for it any more');
  t.end();
});

t.test('a level that does not exist is refused, and no backend hears of it', (t) => {
  const { scene, calls } = beginAt(t, ['a']);
  opens(calls[0], scene, { capabilities: { logging: {} } });
  const sentCount = scene.http.calls.length;
  for (const params of [
    undefined,
    {},
    { level: 'loud' },
    { level: 7 },
    { level: 'info', x: 'x'.repeat(limits.logLevelParamsBytesMax) },
  ])
    t.match(
      answerTo(scene.post('logging/setLevel', params, 1)),
      { error: { code: -32602 } },
      JSON.stringify(params)?.slice(0, 40),
    );
  t.equal(scene.http.calls.length, sentCount);
  t.end();
});
