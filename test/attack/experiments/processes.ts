// Failures of a gateway's processes, and who notices them.
import { rmSync } from 'node:fs';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { ownerOf } from '../../../src/worker/session-id.js';
import type { Deployment } from '../../support/deployment.js';
import { inParallel } from '../../support/in-parallel.js';
import { latenciesOf } from '../../support/latencies.js';
import type { McpCaller, McpSession } from '../../support/mcp-caller.js';
import { send } from '../../support/raw-http.js';
import { until } from '../../support/until.js';
import { expect, tally, type Experiment } from '../experiment.js';
import { runDirectoryOf } from '../run-directory.js';
import type { Stage } from '../stage.js';

/** For a worker to be replaced, on a machine with other load. */
const REPLACED_MS_MAX = 60_000;
const DEBUG = ['--log-level', 'debug'];
const LINES_MAX = 200;

/** A session and a kept connection that belong to the same worker. */
interface Line {
  readonly slot: number;
  readonly session: McpSession;
}

export const workerKilled: Experiment = {
  name: 'worker-killed',
  expected: 'kill -9 of a worker: nobody on another worker loses a call; the slot is back',
  gateway: { kind: 'own', options: DEBUG },
  workersMin: 2,
  endsProcesses: true,
  async run(stage) {
    const { pid, others } = await linesAndVictim(stage);
    const loads = startLoads(others);
    await until(() => loads.answers() > 5 * others.length, 'calls before the kill');
    const killedAtMs = performance.now();
    process.kill(pid, 'SIGKILL');
    await isBack(stage.deployment, pid);
    const backMs = Math.round(performance.now() - killedAtMs);
    await loads.end();
    const seen = `${loads.answers()} calls, ${loads.failures.length} failed; back after ${backMs} ms`;
    expect(loads.failures.length === 0, `${seen}: ${loads.failures.slice(0, 3).join(' | ')}`);
    return seen;
  },
};

export const runDirectoryRemoved: Experiment = {
  name: 'run-directory-removed',
  expected: 'the directory of the sockets is gone and a worker dies: others serve on, the slot is back, sessions hop',
  gateway: { kind: 'own', options: DEBUG },
  workersMin: 2,
  endsProcesses: true,
  async run(stage) {
    const { deployment } = stage;
    const { pid, others } = await linesAndVictim(stage);
    rmSync(runDirectoryOf(deployment.gateway.workerPids()), { recursive: true });
    const loads = startLoads(others);
    process.kill(pid, 'SIGKILL');
    await isBack(deployment, pid);
    await loads.end();
    const seen = `${loads.answers()} calls, ${loads.failures.length} failed`;
    expect(loads.failures.length === 0, `${seen}: ${loads.failures.slice(0, 3).join(' | ')}`);
    // Fresh connections reach every worker, so most of these calls take a hop, also to the new worker.
    const backend = await stage.backend();
    const caller = await stage.caller({ one: { url: backend.url } });
    const statuses: number[] = [];
    await until(async () => {
      statuses.length = 0;
      const session = await caller.openSession().catch(() => undefined);
      for (let turn = 0; session !== undefined && turn < 20; turn++) {
        statuses.push((await session.call('one-echo')).status);
      }
      return statuses.length === 20 && statuses.every((status) => status === 200);
    }, 'sessions to hop between all workers').catch(() => undefined);
    const hops = `then over fresh connections ${tally(statuses)}`;
    expect(statuses.length === 20 && statuses.every((status) => status === 200), `${seen}; ${hops}`);
    return `${seen}; ${hops}`;
  },
};

export const massEnd: Experiment = {
  name: 'mass-end',
  expected:
    'SIGTERM with thousands of sessions on two backends: exit 0, every backend told or the rest counted in the log',
  gateway: { kind: 'own', options: ['--drain-timeout', '30s'] },
  endsProcesses: true,
  async run(stage) {
    const { deployment } = stage;
    const backends = await Promise.all([0, 1].map(() => stage.backend({ withSessions: true })));
    const [one, two] = backends.map(({ url }) => ({ url }));
    const perSubject = 500;
    for (let subject = 0; subject < stage.scaled(16, 2); subject++) {
      const caller = await stage.caller({ one: one!, two: two! });
      const lanes = await Promise.all(Array.from({ length: 8 }, () => stage.kept(caller)));
      await inParallel(lanes, 8, async (lane) => {
        for (let turn = 0; turn < perSubject / 8; turn++) {
          const { status, text } = await lane.initialize();
          expect(status === 200, `initialize: ${status} ${text.slice(0, 200)}`);
        }
      });
      for (const lane of lanes) lane.close();
    }
    const open = backends.reduce((sum, { sessions }) => sum + sessions.size, 0);
    deployment.gateway.signal('SIGTERM');
    const { code, signal } = await deployment.gateway.exit;
    const told = backends.reduce((sum, { deletedSessions }) => sum + deletedSessions.length, 0);
    const untold = deployment.gateway.logs
      .map((line) => line['untold'])
      .reduce((sum: number, count) => sum + (typeof count === 'number' ? count : 0), 0);
    const killed = deployment.gateway.logs.filter(({ msg }) => typeof msg === 'string' && /kill/.test(msg)).length;
    const seen = `${signal ?? `exit ${code}`}; ${told} of ${open} told, ${untold} counted in the log, ${killed} lines of a kill`;
    expect(code === 0 && killed === 0 && told + untold >= open, seen);
    return seen;
  },
};

/** A line to every worker, and one worker to kill. */
async function linesAndVictim(stage: Stage): Promise<{ pid: number; others: Line[] }> {
  const { deployment } = stage;
  const slots = deployment.workerCount;
  const lost = slots - 1;
  const backend = await stage.backend();
  const caller = await stage.caller({ one: { url: backend.url } });
  const lines: Line[] = [];
  while (new Set(lines.map(({ slot }) => slot)).size < slots) {
    if (lines.length === LINES_MAX) throw new Error(`${LINES_MAX} connections did not reach every worker`);
    lines.push(await openLine(stage, caller, slots));
  }
  const line = await deployment.gateway.waitForLog(({ msg, slot }) => msg === 'worker listening' && slot === lost);
  const pid = line['workerPid'];
  if (typeof pid !== 'number') throw new Error('the log does not name the worker');
  return { pid, others: lines.filter(({ slot }) => slot !== lost) };
}

async function openLine(stage: Stage, caller: McpCaller, slots: number): Promise<Line> {
  const kept = await stage.kept(caller);
  const session = await kept.openSession();
  return { slot: ownerOf(session.id, slots), session };
}

/** Resolves when the gateway has as many workers as before, without the lost one, and all of them listen. */
async function isBack({ gateway, workerCount }: Deployment, lostPid: number): Promise<void> {
  const listening = (): number => gateway.logs.filter(({ msg }) => msg === 'worker listening').length;
  const deadlineMs = performance.now() + REPLACED_MS_MAX;
  while (
    gateway.workerPids().includes(lostPid) ||
    gateway.workerPids().length < workerCount ||
    listening() <= workerCount
  ) {
    expect(performance.now() < deadlineMs, `the slot is not back after ${REPLACED_MS_MAX / 1_000} s`);
    expect(gateway.workerPids().length > 0, 'the gateway ended');
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** Calls without a pause over each line. */
function startLoads(lines: readonly Line[]): { failures: string[]; answers(): number; end(): Promise<void> } {
  const failures: string[] = [];
  let answers = 0;
  let isEnding = false;
  const ended = Promise.all(
    lines.map(async ({ slot, session }) => {
      while (!isEnding) {
        const id = String(++answers);
        const { status, text } = await session.call('one-echo', `{"id":${id}}`, { id }).catch((error: unknown) => {
          isEnding = true;
          return { status: 0, text: String(error) };
        });
        if (status !== 200 || !text.includes(`{"id":${id}}`))
          failures.push(`worker ${slot}: ${status} ${text.slice(0, 200)}`);
      }
    }),
  );
  const end = async (): Promise<void> => {
    isEnding = true;
    await ended;
  };
  return { failures, answers: () => answers, end };
}

/** What a caller sends that keeps its place as long as it can. */
const TAKERS: readonly string[] = [
  '',
  'GET /live HTTP/1.1\r\nhost: localhost\r\nx: ',
  'PUT /log-level HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1000\r\n\r\n',
  'PUT /log-level HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n1\r\nx\r\n',
  'GET /live HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1000\r\n\r\n',
];

export const silentAdmin: Experiment = {
  name: 'admin-silent',
  report: 'X9',
  isOnceInShort: true,
  expected:
    '80 connections to the admin listener with all kinds of unfinished requests, remade every 3 s: GET /live is answered',
  gateway: { kind: 'own', options: ['--admin-address', '127.0.0.1:0'] },
  harmless: (stage) => lookBeside(stage, ['GET /live HTTP/1.1\r\nhost: localhost\r\n\r\n']),
  run: (stage) => lookBeside(stage, TAKERS),
};

async function lookBeside(stage: Stage, takers: readonly string[]): Promise<string> {
  const { address } = await stage.deployment.gateway.waitForLog(({ msg }) => msg === 'admin listener');
  const { hostname, port, origin } = new URL(`http://${String(address)}`);
  const outcomes: string[] = [];
  const timesMs: number[] = [];
  for (const taker of takers) {
    for (let round = 0; round < stage.scaled(4, 2); round += 1) {
      const sockets = Array.from({ length: 80 }, () => {
        const socket = connect({ host: hostname, port: Number(port) });
        socket.on('error', () => undefined).resume();
        socket.write(taker);
        return socket;
      });
      const endMs = performance.now() + 3_000;
      while (performance.now() < endMs) {
        const beganMs = performance.now();
        const answer = send(origin, { method: 'GET', path: '/live', headers: [] });
        outcomes.push(
          await answer.then(
            ({ status }) => String(status),
            () => `no answer beside ${JSON.stringify(taker)}`,
          ),
        );
        timesMs.push(performance.now() - beganMs);
        await sleep(50);
      }
      for (const socket of sockets) socket.destroy();
    }
  }
  const seen = `${tally(outcomes)}; p99 ${latenciesOf(timesMs).p99Ms.toFixed(0)} ms`;
  expect(
    outcomes.every((outcome) => outcome === '200'),
    seen,
  );
  return seen;
}
