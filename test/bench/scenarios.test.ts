import t from 'tap';
import type { Hop } from '../../bench/scenario.js';
import { longListScript, scenarios } from '../../bench/scenarios.js';
import { backendPath } from '../../bench/virtual-hosts.js';

const gateway: Hop = {
  kind: 'gateway',
  answers: 'exact',
  path: (virtualHost) => `/gateway/${virtualHost}`,
  toolName: (backend, tool) => `${backend}-${tool}`,
  uri: (backend, uri) => `${backend}+${uri}`,
};
const plain: Hop = { kind: 'plain', path: backendPath };

t.test('a session is 13 requests to a gateway, and the 16 plain hops that it makes upstream', async (t) => {
  const { createScript } = scenarios.session;
  const toGateway = createScript(gateway, 3).loop;
  t.equal(toGateway.length, 13);
  t.equal(createScript(plain, 3).loop.length, 16);
  const called = toGateway.flatMap(({ body }) => /"name":"(\w+-add)"/.exec(body ?? '')?.[1] ?? []);
  t.same(called.slice(0, 3), ['alpha-add', 'beta-add', 'alpha-add'], 'calls go to both backends in turn');
  t.equal(called.length, 10);
});

t.test('a session starts with its opening requests, and ends', async (t) => {
  for (const hop of [gateway, plain]) {
    const { loop } = scenarios.session.createScript(hop, 0);
    t.match(loop[0], { session: 'opens', body: /"method":"initialize"/ });
    t.match(loop.at(-1), { session: 'carries', method: 'DELETE' });
  }
});

t.test('calls of one connection have its number, and neighbours call different backends', async (t) => {
  const { createScript } = scenarios.call;
  const bodies = [4, 5].map((connection) => createScript(gateway, connection).loop[0]?.body ?? '');
  t.match(bodies[0], /"id":4,.*"name":"alpha-add"/);
  t.match(bodies[1], /"id":5,.*"name":"beta-add"/);
  t.equal(createScript(plain, 5).loop[0]?.path, '/beta/json/1/none');
});

t.test('event streams pass a plain hop unchanged, and become one object in the gateway', async (t) => {
  const { createScript } = scenarios['call-sse'];
  const [toGateway, hop] = [gateway, plain].map((each) => createScript(each, 1).loop[0]?.expectedBody);
  t.match(toGateway, /^{"jsonrpc":"2.0","id":1,"result"/);
  t.equal(hop, `event: message\ndata: ${toGateway}\n\n`);
});

t.test('every scenario measures the gateway first, and its yardstick', async (t) => {
  for (const { name, measures, yardstick } of Object.values(scenarios)) {
    t.equal(measures[0]?.target, 'gateway', name);
    if (yardstick !== undefined)
      t.ok(
        measures.slice(1).some(({ target }) => target === yardstick),
        name,
      );
    const targets = measures.map(({ target }) => target);
    t.equal(new Set(targets).size, targets.length, `${name}: no two runs have one name`);
  }
});

t.test('a list is one request to a gateway, and without it one to each backend', async (t) => {
  const { createScript } = scenarios.list;
  const [merged] = createScript(gateway, 1).loop;
  const tools = (JSON.parse(merged?.expectedBody ?? '') as { result: { tools: { name: string }[] } }).result.tools;
  t.equal(tools.length, 500);
  const names = tools.map(({ name }) => name);
  t.same(names, [...names].sort(), 'in the order in which a gateway lists them');
  t.match(names[0], /^alpha-/);
  t.same(
    createScript(plain, 1).loop.map(({ path }) => path),
    ['/alpha/json/250/none', '/beta/json/250/none'],
  );
  t.equal(longListScript(plain, 0).loop.length, 10);
});

t.test("a read through a gateway has the caller's URI, and 4 KiB of text", async (t) => {
  const { createScript } = scenarios.read;
  const [through, without] = [gateway, plain].map((hop) => createScript(hop, 1).loop[0]);
  t.match(through?.body, /"method":"resources\/read","params":{"uri":"beta\+bench:/);
  t.match(without?.body, /"params":{"uri":"bench:/);
  t.equal(without?.path, '/beta/json/1/resources');
  t.equal(through?.expectedBody, without?.expectedBody?.replace('"uri":"', '"uri":"beta+'));
  const { result } = JSON.parse(without?.expectedBody ?? '') as { result: { contents: { text: string }[] } };
  t.equal(result.contents[0]?.text.length, 4_096);
});

t.test('a caller that can be asked something declares that beforehand', async (t) => {
  for (const hop of [gateway, plain]) {
    const { opening, loop } = scenarios.elicit.createScript(hop, 0);
    t.match(opening[0]?.body, /"capabilities":{"elicitation":{}}/);
    t.equal(loop.length, 1);
    t.match(loop[0]?.reply, /"action":"accept"/);
    t.match(loop[0]?.expectedBody, /^{"jsonrpc":"2.0","id":0,"result"/);
  }
});

t.test('a gateway that answers in its own way is checked for the text alone', async (t) => {
  const [step] = scenarios.call.createScript({ ...gateway, answers: 'own' }, 0).loop;
  t.equal(step?.expectedBody, undefined);
  t.match(step?.expectedPart, /^Backend alpha was asked/);
});

t.test('a scenario that needs no session opens none, and its requests identify themselves', async (t) => {
  for (const [name, virtualHost] of [
    ['call-modern', 'modern'],
    ['bridge-to-legacy', 'calls'],
  ] as const) {
    const { opening, loop, closing } = scenarios[name].createScript(gateway, 4);
    t.strictSame([opening, closing, loop.length], [[], [], 1]);
    const [{ headers, body, path, expectedBody } = {}] = loop;
    t.equal(path, `/gateway/${virtualHost}`);
    t.match(headers, { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'alpha-add' });
    t.match(JSON.parse(body ?? ''), { id: 4, params: { name: 'alpha-add', _meta: {} } });
    t.match(JSON.parse(expectedBody ?? ''), { id: 4, result: { resultType: 'complete' } });
  }
  const [step] = scenarios['call-modern'].createScript(plain, 5).loop;
  t.match(step, { path: '/beta/json/1/modern', headers: { 'mcp-name': 'add' } });
  t.match(scenarios.listen.createScript(gateway, 0).loop, [{ body: /subscriptions.listen/ }]);
});

t.test('the cost of a session directory is compared with the same sessions without one', async (t) => {
  for (const name of ['session-process', 'session-store'] as const) {
    const { measures, createScript, yardstick } = scenarios[name];
    t.equal(yardstick, 'no directory', name);
    t.same(createScript(gateway, 1), scenarios.session.createScript(gateway, 1));
    const [written, bare] = measures.map((measure) => (measure.kind === 'load' ? measure.place : undefined));
    t.equal(bare, `${written}-without-directory`);
  }
});

t.test('a session is adopted by another gateway than the one that opened it', async (t) => {
  const [adopted, home] = scenarios.adopt.measures;
  if (adopted?.kind !== 'first-call' || home?.kind !== 'first-call') throw new Error('no first calls');
  t.not(adopted.opensAt, adopted.place);
  t.equal(home.opensAt, home.place);
  t.equal(home.place, adopted.place, 'the same gateway is called');
});

t.test('a bridge is compared with the same calls without it', async (t) => {
  for (const name of ['bridge-to-legacy', 'bridge-to-modern'] as const) {
    const { measures, createScript } = scenarios[name];
    const [bridged, unbridged] = measures;
    t.equal(bridged?.kind === 'load' && bridged.createScript, undefined, name);
    const script = unbridged?.kind === 'load' ? unbridged.createScript?.(gateway, 1) : undefined;
    t.strictSame(script, scenarios.call.createScript(gateway, 1));
    t.notSame(createScript(gateway, 1), script);
  }
});
