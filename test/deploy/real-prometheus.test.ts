// A real Prometheus scrapes a running gateway with the shipped configuration, loads the shipped rules and answers the dashboard's queries.
// Skipped where Prometheus is not installed: Debian has it in the package prometheus.
import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { z } from 'zod';
import { backendFor, startDeployment } from '../support/deployment.js';
import { findFreePort } from '../support/free-port.js';
import { until } from '../support/until.js';

const deployed = fileURLToPath(new URL('../../../deploy/', import.meta.url));
const isInstalled = spawnSync('prometheus', ['--version']).error === undefined;

/** The pauses leave the processor to Prometheus. */
const LOOK_EVERY_MS = 50;

const answerShape = z.object({
  status: z.literal('success'),
  data: z.object({
    result: z.array(z.object({ metric: z.record(z.string(), z.string()), value: z.array(z.unknown()) })),
  }),
});
const dashboardShape = z.object({
  panels: z.array(z.object({ title: z.string(), targets: z.array(z.object({ expr: z.string() })) })),
});

t.test('the dashboard’s queries are answered', { skip: !isInstalled && 'prometheus is not installed' }, async (t) => {
  const [adminPort, port] = [await findFreePort(), await findFreePort()];
  const backend = await backendFor(t, { tools: ['add'] });
  const deployment = await startDeployment(t, {
    workerCount: 2,
    environment: { SWITCHYARD_ADMIN_ADDRESS: `127.0.0.1:${adminPort}` },
  });
  const caller = await deployment.caller({ calc: { url: backend.url } });
  const session = await caller.openSession();
  await session.call('calc-add');

  const directory = t.testdir();
  const shipped = readFileSync(join(deployed, 'prometheus/scrape.yml'), 'utf8');
  t.match(shipped, '127.0.0.1:8002');
  const config = [
    'global: { scrape_interval: 250ms, evaluation_interval: 250ms }',
    `rule_files: ['${join(deployed, 'prometheus/alerts.yml')}']`,
    shipped.replace('127.0.0.1:8002', `127.0.0.1:${adminPort}`),
  ];
  writeFileSync(join(directory, 'prometheus.yml'), config.join('\n'));
  mkdirSync(join(directory, 'data'));
  const prometheus = spawn(
    'prometheus',
    [
      `--config.file=${join(directory, 'prometheus.yml')}`,
      `--storage.tsdb.path=${join(directory, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
    ],
    { stdio: 'ignore' },
  );
  t.teardown(async () => {
    prometheus.kill();
    await until(() => prometheus.exitCode !== null || prometheus.signalCode !== null, 'Prometheus has ended');
  });
  const get = async (path: string): Promise<unknown> => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`);
    return response.json();
  };
  const query = async (expr: string): Promise<z.infer<typeof answerShape>['data']['result']> => {
    const written = expr.replaceAll('$__rate_interval', '30s').replaceAll('$job', '.*').replaceAll('$instance', '.*');
    const answer = await get(`/api/v1/query?${new URLSearchParams({ query: written }).toString()}`);
    return answerShape.parse(answer, { error: () => `${written}: ${JSON.stringify(answer)}` }).data.result;
  };
  const isUp = async (): Promise<boolean> => {
    await sleep(LOOK_EVERY_MS);
    const found = await query('up{job="switchyard"}').catch(() => []);
    return found[0]?.value[1] === '1';
  };
  await until(isUp, 'Prometheus has scraped the gateway');

  const { panels } = dashboardShape.parse(JSON.parse(readFileSync(join(deployed, 'grafana/switchyard.json'), 'utf8')));
  const exprOf = (title: string, place = 0): string =>
    panels.find((panel) => panel.title === title)?.targets[place]?.expr ?? '';
  // A rate needs two readings with a counted event in between.
  await until(async () => {
    await sleep(LOOK_EVERY_MS);
    await session.call('calc-add');
    const [first] = await query(exprOf('Requests by method'));
    return Number(first?.value[1]) > 0;
  }, 'there is a rate of requests');
  for (const { title, targets } of panels) {
    for (const { expr } of targets) t.ok(Array.isArray(await query(expr)), `${title}: ${expr}`);
  }
  t.match(await query(exprOf('Ready')), [{ value: [Number, '1'] }]);
  t.match(await query(exprOf('Workers')), [
    { metric: { state: 'absent' }, value: [Number, '0'] },
    { metric: { state: 'listening' }, value: [Number, '2'] },
  ]);
  t.match(await query(exprOf('Sessions and streams')), [{ value: [Number, '1'] }]);
  const [p99] = await query(exprOf('Backends, p99'));
  t.equal(p99?.metric['backend'], 'calc');
  t.ok(Number(p99?.value[1]) > 0, 'a latency of the backend that was called');
  t.match(await get('/api/v1/rules'), { status: 'success', data: { groups: [{ rules: [{ health: /ok|unknown/ }] }] } });
  t.match(
    await get('/api/v1/alerts'),
    { status: 'success', data: { alerts: { length: 0 } } },
    'and nothing is wrong with it',
  );
});
