// A backend that hangs, at each stage of a session, beside a healthy one. No times are measured: the healthy backend responds while
// the other has not.
import t from 'tap';
import { backendFor, startDeployment } from '../support/deployment.js';
import { rpc } from '../support/mcp-caller.js';
import { until } from '../support/until.js';

const HUNG_CALLS = 50;
const GOOD_CALLS = 100;

const deployment = await startDeployment(t, { workerCount: 2, options: ['--list-timeout', '3s'] });
const good = await backendFor(t);

t.test('calls that hang at one backend do not affect calls to another', async (t) => {
  const hung = await backendFor(t, { onCall: (call) => void call.takeOver() });
  const caller = await deployment.caller({ good: { url: good.url }, hung: { url: hung.url } });
  const session = await caller.openSession();
  let hungAnswers = 0;
  const pending = Array.from({ length: HUNG_CALLS }, async (_, id) => {
    const answer = await session.call('hung-echo', '{}', { id: String(id) });
    hungAnswers++;
    return answer;
  });
  await until(() => hung.calls.length === HUNG_CALLS, 'the calls to hang');
  for (let id = HUNG_CALLS; id < HUNG_CALLS + GOOD_CALLS; id++) {
    const { result } = rpc(await session.call('good-echo', `{"id":${id}}`, { id: String(id) }));
    t.match(result, { structuredContent: { id } });
  }
  t.match(rpc(await session.list()).result, { tools: [{ name: 'good-echo' }, { name: 'hung-echo' }] });
  t.equal(hungAnswers, 0, 'all of it while the other calls were pending');
  await session.delete();
  for (const answer of await Promise.all(pending)) {
    t.match(rpc(answer), { error: { code: -32603, message: /hung/ } }, 'the end of the session ends them');
  }
});

t.test('a backend that never answers tools/list is named, and calls to another are answered meanwhile', async (t) => {
  const hung = await backendFor(t, { onRequest: ({ text }) => text.includes('tools/list') });
  const session = await (await deployment.caller({ good: { url: good.url }, hung: { url: hung.url } })).openSession();
  let isListed = false;
  const listing = session.list().finally(() => (isListed = true));
  await until(() => hung.requestsOf('tools/list').length === 1, 'the list to hang');
  t.match(rpc(await session.call('good-echo', '{"n":1}')), { result: { structuredContent: { n: 1 } } });
  t.notOk(isListed, 'the list is still pending');
  t.match(rpc(await listing).result, {
    tools: [{ name: 'good-echo' }],
    _meta: { 'switchyard/unavailable': [{ backend: 'hung' }] },
  });
});

t.test('a backend that never answers initialize is left out of a new session, which goes on at once', async (t) => {
  const hung = await backendFor(t, { onRequest: () => true });
  const bound = await deployment.caller({ good: { url: good.url }, hung: { url: hung.url } });
  const session = await bound.openSession();
  t.match(rpc(session.opening).result, { _meta: { 'switchyard/unavailable': [{ backend: 'hung' }] } });
  t.equal(hung.requestsOf('initialize').length, 1, 'its own opening goes on');
  t.equal(hung.raw.openConnections, 1);
  t.match(rpc(await session.call('good-echo', '{"n":2}')), { result: { structuredContent: { n: 2 } } });
  t.match(rpc(await session.list()).result, {
    tools: [{ name: 'good-echo' }],
    _meta: { 'switchyard/unavailable': [{ backend: 'hung', reason: 'not ready yet' }] },
  });
});
