// /metrics of a real gateway with two workers: every outcome is counted under the right name, whichever worker served the request,
// and no count is lost when a worker dies.
import { spawnSync } from 'node:child_process';
import t from 'tap';
import { backendFor, startDeployment } from '../support/deployment.js';
import { send, type HttpAnswer } from '../support/raw-http.js';
import { until } from '../support/until.js';

t.test('the requests of callers are counted by their outcome', async (t) => {
  const options = ['--admin-address', '127.0.0.1:0'];
  const deployment = await startDeployment(t, { workerCount: 2, options });
  const { gateway } = deployment;
  const { address } = await gateway.waitForLog(({ msg }) => msg === 'admin listener');
  const page = async (accept = '*/*'): Promise<HttpAnswer> =>
    send(`http://${String(address)}`, { method: 'GET', path: '/metrics', headers: [['accept', accept]] });
  /** The sum of all samples whose line begins with the text and contains all labels. */
  const sumOf = async (beginning: string, ...labels: readonly string[]): Promise<number> => {
    const lines = (await page()).text.split('\n').filter((line) => line.startsWith(beginning));
    const chosen = lines.filter((line) => labels.every((label) => line.includes(label)));
    return chosen.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0);
  };
  const calls = (outcome: string): Promise<number> =>
    sumOf('switchyard_requests_total{method="tools/call"', 'backend="one"', `outcome="${outcome}"`);

  const backend = await backendFor(t, {
    tools: ['good', 'bad', 'ugly'],
    onCall: async (call) => {
      if (call.name === 'ugly') await call.fail({ code: -32000, message: 'no' });
      return { content: [], ...(call.name === 'bad' && { isError: true }) };
    },
  });
  const caller = await deployment.caller({ one: { url: backend.url } });
  const session = await caller.openSession();
  t.same((await session.toolNames()).length, 3);
  // Each call has a connection of its own, so that both workers serve some.
  const rounds = 8;
  for (let round = 0; round < rounds; round++) {
    for (const tool of ['good', 'bad', 'ugly']) t.equal((await session.call(`one-${tool}`)).status, 200);
  }
  t.equal((await caller.initialize({ token: 'x.y.z' })).status, 401);
  t.equal((await session.send('{')).status, 400);

  await until(async () => (await calls('rpc-error')) === rounds, 'the calls to be counted');
  t.equal(await calls('ok'), rounds);
  t.equal(await calls('tool-error'), rounds);
  t.equal(await sumOf('switchyard_backend_seconds_count{backend="one"'), 3 * rounds);
  t.equal(await sumOf('switchyard_gateway_seconds_count'), 3 * rounds);
  t.equal(await sumOf('switchyard_request_seconds_count{method="tools/list"'), 1);
  t.equal(await sumOf('switchyard_refusals_total{code="token-invalid"'), 1);
  t.equal(await sumOf('switchyard_refusals_total{code="not-json"'), 1);
  t.equal(await sumOf('switchyard_sessions '), 1);
  t.equal(await sumOf('switchyard_ready '), 1);
  t.equal(await sumOf('switchyard_workers{state="listening"'), 2);
  t.ok((await sumOf('switchyard_store_reads_total{')) > 0);
  t.equal(await sumOf('switchyard_token_verifications_total{result="invalid"'), 1);
  t.ok((await sumOf('switchyard_token_verifications_total{result="remembered"')) > 0);
  t.ok((await sumOf('switchyard_memory_bytes{worker="1",kind="resident"')) > 1e6);
  t.ok((await sumOf('switchyard_event_loop_delay_seconds_count{')) > 0);
  t.ok((await sumOf('switchyard_upstream_connections{use="calls"')) >= 1);
  t.ok((await sumOf('switchyard_hops_total{result="passed"')) > 0);
  t.ok((await sumOf('switchyard_cpu_seconds_total{worker="1"')) > 0);
  const leaving = new AbortController();
  const { headers } = caller.request({ method: 'GET', accept: 'text/event-stream', session: session.id });
  const url = `${gateway.origin}${caller.path}`;
  const stream = await fetch(url, { headers: Object.fromEntries(headers), signal: leaving.signal });
  t.equal(stream.status, 200);
  await until(async () => (await sumOf('switchyard_streams ')) === 1, 'the stream to be counted');
  leaving.abort();
  await until(async () => (await sumOf('switchyard_streams ')) === 0, 'its end to be counted');
  const { text } = await page();
  for (const secret of [caller.subject, caller.virtualHostId, session.id]) t.notOk(text.includes(secret), secret);

  await backend.close();
  await session.call('one-good');
  await until(async () => (await calls('fault')) === 1, 'the failure to be counted');
  t.ok((await sumOf('switchyard_backend_faults_total{backend="one"')) >= 1);

  const pids = gateway.workerPids();
  process.kill(pids[0] ?? 0, 'SIGKILL');
  await until(async () => (await sumOf('switchyard_worker_deaths_total')) === 1, 'the death to be counted');
  t.equal(await calls('ok'), rounds, 'what the dead worker had told is still there');

  const open = await page('application/openmetrics-text');
  t.match(open.header('content-type'), /^application\/openmetrics-text/);
  t.match(open.text, /# EOF\n$/);
  const judged = spawnSync('promtool', ['check', 'metrics'], { input: (await page()).text, encoding: 'utf8' });
  if (judged.error === undefined) t.equal(judged.status, 0, judged.stderr);
  else t.comment('promtool is not installed: nobody else has judged the page');
});

t.test('without --metrics there is no metrics page', async (t) => {
  const options = ['--admin-address', '127.0.0.1:0', '--metrics', 'off'];
  const { gateway } = await startDeployment(t, { workerCount: 1, options });
  const { address } = await gateway.waitForLog(({ msg }) => msg === 'admin listener');
  const answer = await send(`http://${String(address)}`, { method: 'GET', path: '/metrics', headers: [] });
  t.equal(answer.status, 404);
});
