// What operators of the control plane may run into: a full disk, a log that nobody reads, servers that send too much, and
// whether what is switched off is off.
import { setTimeout as sleep } from 'node:timers/promises';
import { memberText } from '../../support/json-text.js';
import { McpCaller, rpc } from '../../support/mcp-caller.js';
import { RawConnection, send } from '../../support/raw-http.js';
import { startControlPlane } from '../../support/control-plane.js';
import { launchProgram, storeOptionWords } from '../../support/gateway.js';
import { createScratchDirectory } from '../../support/scratch-directory.js';
import { until } from '../../support/until.js';
import { expect, tally, type Experiment } from '../experiment.js';
import { ANSWER_MS_MAX, Api, HealthWatch } from './control-plane.js';

const KIB = 1_024;
/** How soon workers must know of a change, which Redis reports to them after the control plane has its answer. */
const TOLD_MS_MAX = 2_000;
const ENDED_MS_MAX = 30_000;

export const fatMembers: Experiment = {
  name: 'control-plane-fat-members',
  isLong: true,
  expected: `servers with 800 KiB of capabilities are not kept whole: lists are answered within ${ANSWER_MS_MAX / 1_000} s, a page in 1 MiB`,
  async run(stage) {
    const experimental = { x: 'x'.repeat(800 * KIB) };
    const backend = await stage.backend({ capabilities: { tools: {}, experimental } });
    const api = await Api.startAlone(stage);
    const watch = new HealthWatch(api);
    const statuses: number[] = [];
    for (let n = 0; n < 13; n++) {
      statuses.push((await api.send('POST', '/servers', { name: `fat-${n}`, url: backend.url })).status);
    }
    const page = await api.send('GET', '/servers?limit=100');
    const seen = `registered ${tally(statuses)}; a page of ${Math.round(page.body.length / KIB)} KiB; ${await watch.end()}`;
    const isWell = watch.longestMs < ANSWER_MS_MAX && watch.failures === 0;
    expect(page.status === 200 && page.body.length < KIB * KIB && isWell, seen);
    return seen;
  },
};

export const oddVersions: Experiment = {
  name: 'control-plane-odd-versions',
  isOnceInShort: true,
  expected: '/mcp without a session refuses a protocol version that nobody speaks with 400',
  async run(stage) {
    const api = await Api.start(stage);
    const answers: string[] = [];
    for (const version of ['banana', '', '2025-11-2', '2025-11-25 ', '9999-99-99', '2025-11-25']) {
      const connection = await RawConnection.open(api.origin);
      const body = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}';
      const lines = [
        'POST /mcp HTTP/1.1',
        `host: ${new URL(api.origin).host}`,
        `authorization: Bearer ${api.token}`,
        'content-type: application/json',
        'accept: application/json, text/event-stream',
        `mcp-protocol-version: ${version}`,
        `content-length: ${body.length}`,
      ];
      connection.write(`${lines.join('\r\n')}\r\n\r\n${body}`);
      answers.push(`${JSON.stringify(version)} ${(await connection.readAnswer()).status}`);
      connection.close();
    }
    const seen = answers.join(', ');
    // White space around a header value is not part of it, and an empty value counts as absent.
    const refused = ['"banana" 400', '"2025-11-2" 400', '"9999-99-99" 400'];
    expect(refused.every((answer) => answers.includes(answer)) && answers.includes('"2025-11-25" 200'), seen);
    return seen;
  },
};

export const switchedOff: Experiment = {
  name: 'control-plane-switched-off',
  isLong: true,
  expected: 'a server that was switched off, and one that was taken out: no call behind the answer reaches it',
  async run(stage) {
    const api = await Api.start(stage);
    const backend = await stage.backend({ tools: ['echo'] });
    const subject = stage.deployment.newSubject();
    const token = await stage.deployment.token(subject);
    const server = { name: 'switched', url: backend.url };
    expect((await api.send('POST', '/servers', server)).status === 201, 'not registered');
    const composition = { name: 'switching', servers: [{ name: 'switched', tools: ['echo'] }], subjects: [subject] };
    const created = await api.send('POST', '/compositions', composition);
    const id = JSON.parse(memberText(created.text, 'id') ?? 'null') as string;
    const caller = new McpCaller(stage.origin, stage.deployment.gateway.path(id), token);
    const isServed = async (): Promise<boolean> => {
      const session = await caller.openSession().catch(() => undefined);
      const answer = await session?.call('switched-echo');
      return answer?.status === 200 && rpc(answer).result !== undefined;
    };
    await until(isServed, 'the composition to be served');
    const outcomes: string[] = [];
    for (let round = 0; round < stage.scaled(10, 2); round++) {
      const session = await caller.openSession();
      const off = await api.send('PUT', '/servers/switched', { ...server, enabled: false });
      const offAtMs = performance.now();
      const before = backend.calls.length;
      await session.call('switched-echo');
      // Redis notifies the workers of a change after it has answered the control plane.
      if (stage.deployment.storeOptions.kind === 'redis') await until(async () => !(await isServed()), 'the change');
      const isInTime = performance.now() - offAtMs < TOLD_MS_MAX;
      const reached = stage.deployment.storeOptions.kind === 'redis' ? !isInTime : backend.calls.length > before;
      outcomes.push(`${off.status} and ${reached ? 'reached' : 'obeyed'}`);
      await api.send('PUT', '/servers/switched', { ...server, enabled: true });
      await until(isServed, 'the server to be served again');
    }
    const session = await caller.openSession();
    await api.send('DELETE', `/compositions/${id}`);
    if (stage.deployment.storeOptions.kind === 'redis') await until(async () => !(await isServed()), 'the removal');
    const before = backend.calls.length;
    await session.call('switched-echo');
    outcomes.push(`removed and ${backend.calls.length > before ? 'reached' : 'obeyed'}`);
    const seen = tally(outcomes);
    expect(!outcomes.some((outcome) => outcome.endsWith('reached')), seen);
    return seen;
  },
};

export const fullDisk: Experiment = {
  name: 'control-plane-full-disk',
  isLong: true,
  expected: 'a full disk: 503 for what has to be written, health and lists go on, and it heals when there is room',
  async run(stage) {
    const description = 'd'.repeat(1_000);
    const tools = Array.from({ length: 50 }, (_, n) => ({
      name: `t${n}`,
      description,
      inputSchema: { type: 'object' },
    }));
    const backend = await stage.backend({ tools });
    const controlPlane = await startControlPlane(stage.scope, { key: stage.deployment.key, fileBlocksMax: 3_000 });
    const api = await Api.of(controlPlane);
    const names: string[] = [];
    let status = 201;
    while (status === 201 && names.length < 200) {
      const name = `server-${names.length}`;
      status = (await api.send('POST', '/servers', { name, url: backend.url })).status;
      if (status === 201) names.push(name);
    }
    const health = (await api.send('GET', '/health')).status;
    for (const name of names) await api.send('DELETE', `/servers/${name}`);
    let healed = 0;
    await until(async () => {
      healed = (await api.send('POST', '/servers', { name: 'again', url: backend.url })).status;
      return healed === 201;
    }, 'servers to be taken again').catch(() => undefined);
    const seen = `${status} after ${names.length} servers, health ${health}, then ${healed}`;
    expect(status === 503 && health === 200 && healed === 201, seen);
    return seen;
  },
};

export const unreadLog: Experiment = {
  name: 'control-plane-unread-log',
  isLong: true,
  expected: 'nobody reads the log any more: the control plane serves on, and ends on SIGTERM',
  async run(stage) {
    const words = ['control-plane', '--address', '127.0.0.1:0', '--log-level', 'trace'];
    const path = `${createScratchDirectory(stage.scope)}/store`;
    const controlPlane = launchProgram(stage.scope, [...words, ...storeOptionWords({ kind: 'embedded', path })]);
    await controlPlane.waitUntilListening();
    controlPlane.closeOutput();
    const statuses: number[] = [];
    for (let turn = 0; turn < stage.scaled(400, 40); turn++) {
      statuses.push((await send(controlPlane.origin, { method: 'GET', path: '/servers', headers: [] })).status);
    }
    controlPlane.signal('SIGTERM');
    const ended = await Promise.race([controlPlane.exit, sleep(ENDED_MS_MAX, undefined, { ref: false })]);
    const seen = `${tally(statuses)}; ${ended === undefined ? 'does not end' : `exit ${ended.code}`}`;
    expect(ended?.code === 0 && statuses.every((status) => status === 401), seen);
    return seen;
  },
};
