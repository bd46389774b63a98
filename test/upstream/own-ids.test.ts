// The ids of the gateway's own requests: none is used twice in an upstream session, and a real server, which tells its responses apart by
// them, answers lists that are requested at once.
import t from 'tap';
import { startDemoBackend } from '../../demo/demo-backend.js';
import { createCalculator } from '../../demo/demo-servers.js';
import { memberText } from '../support/json-text.js';
import { startMcpBackend } from '../support/mcp-backend.js';
import type { ReceivedRequest } from '../support/raw-backend.js';
import { OwnRequestIds } from '../../src/upstream/upstream-context.js';
import { RelayScene } from '../relay/relay-scene.js';
import { REQUEST_ID } from './scripted-upstream.js';
import { virtualHostOf } from '../relay/virtual-host.js';
import { WiredRelay } from '../relay/wired-relay.js';

const LISTS_AT_ONCE = 5;
const PAGE = JSON.stringify({ jsonrpc: '2.0', id: REQUEST_ID, result: { tools: [], nextCursor: 'more' } });
const LAST_PAGE = JSON.stringify({ jsonrpc: '2.0', id: REQUEST_ID, result: { tools: [] } });

t.test('every handshake, list and page has an id of its own', async (t) => {
  const scene = new RelayScene(t, virtualHostOf({ a: {} })).open();
  scene.post('tools/list', {}, 1);
  scene.post('tools/list', {}, 2);
  const [first, second] = [scene.http.call(-2), scene.http.call(-1)];
  first.json(PAGE);
  scene.http.last.json(LAST_PAGE);
  second.empty(404);
  t.equal(scene.http.last.summary, 'initialize', 'the session is opened again');
  scene.http.last.json(
    JSON.stringify({ jsonrpc: '2.0', id: REQUEST_ID, result: { protocolVersion: '2025-11-25', capabilities: {} } }),
    'second',
  );
  scene.http.last.empty();
  t.equal(scene.http.last.summary, 'tools/list');
  scene.http.last.json(LAST_PAGE);
  const requests = scene.http.calls.filter(({ summary }) => summary !== 'notifications/initialized');
  const ids = requests.map(({ idText }) => idText);
  t.equal(ids.length, 6, 'two handshakes, the first list with two pages, the second list twice');
  t.equal(new Set(ids).size, ids.length);
});

t.test('another process uses other ids: it may continue the same upstream session', async (t) => {
  const [one, other] = [new OwnRequestIds(), new OwnRequestIds()];
  t.not(one.next().toString(), other.next().toString());
});

t.test('the ids are integers that any server can read, and that callers hardly ever use', async (t) => {
  const ids = new OwnRequestIds();
  for (let count = 0; count < 1_000; count += 1) {
    const id: unknown = JSON.parse(ids.next().toString());
    t.ok(Number.isInteger(id), String(id));
    t.ok(Number(id) >= 2 ** 30 && Number(id) < 1_700_000_000, 'neither small nor a time of today, and of 31 bits');
  }
});

t.test('a server that reads no ids but integers is opened and listed like any other', async (t) => {
  const readsNoStrings = (request: ReceivedRequest): boolean => {
    if (!/^"/.test(memberText(request.text, 'id') ?? '')) return false;
    request.json('{"jsonrpc":"2.0","id":0,"error":{"code":-32600,"message":"Invalid Request"}}');
    return true;
  };
  const backend = await startMcpBackend({ tools: ['add'], onRequest: readsNoStrings });
  t.teardown(() => backend.close());
  const caller = new WiredRelay(t).caller({ calc: backend.url });
  t.notHas((await caller.open()).result, { _meta: {} });
  t.match((await caller.list(1)).result, { tools: [{ name: 'calc-add' }] });
});

for (const answerAs of ['json', 'event-stream'] as const) {
  t.test(`a server of the SDK answers lists that are asked for at once, as ${answerAs}`, async (t) => {
    const backend = await startDemoBackend({ createMcpServer: createCalculator, answerAs });
    t.teardown(() => backend.close());
    const caller = new WiredRelay(t).caller({ calc: backend.url });
    t.notHas((await caller.open()).result, { _meta: {} });
    const lists = await Promise.all(Array.from({ length: LISTS_AT_ONCE }, (_, id) => caller.list(id)));
    for (const { result } of lists) {
      t.equal(result?.['_meta'], undefined, 'the backend is there');
      t.same(result, lists[0]?.result);
    }
  });
}
