// The admin listener of a gateway of two workers, as an operator uses it: the workers and sessions, which backends can be reached,
// the outcome of a request, and why a tool is listed or not.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import t from 'tap';
import { backendFor, startDeployment } from '../support/deployment.js';
import { childEnvironment, programPath, runProgram } from '../support/gateway.js';
import { killWithProcess } from '../support/leftovers.js';
import { findFreePort } from '../support/free-port.js';
import { send } from '../support/raw-http.js';
import { subjectHash } from '../../src/shared/logger.js';
import { PROGRAM_VERSION } from '../../src/shared/program.js';
import { until } from '../support/until.js';
import { AdminConnection } from '../../src/cli/admin-commands.js';
import { watchDataplane } from '../../src/cli/top.js';

/** Runs a command in a terminal of its own, with the program `script`. */
function onTerminal(words: readonly string[]): { pid: number; shown: () => string; ended: Promise<unknown> } {
  const command = words.map((word) => `'${word}'`).join(' ');
  const child = spawn('script', ['-qefc', command, '/dev/null'], {
    env: childEnvironment({ TERM: 'xterm' }),
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  killWithProcess(child);
  let shown = '';
  child.stdout.on('data', (chunk: Buffer) => (shown += chunk.toString()));
  return { pid: child.pid ?? 0, shown: () => shown, ended: once(child, 'close') };
}

function tryKill(pid: number): void {
  try {
    process.kill(pid, 'SIGTERM');
  } catch {
    // The process has already ended.
  }
}

t.test('the views of the admin listener', async (t) => {
  const [port, deadPort] = [await findFreePort(), await findFreePort()];
  const admin = `http://127.0.0.1:${port}`;
  const backend = await backendFor(t, { tools: ['add', 'sub'] });
  const deployment = await startDeployment(t, {
    workerCount: 2,
    environment: { SWITCHYARD_ADMIN_ADDRESS: `127.0.0.1:${port}` },
  });
  const get = async (path: string): Promise<{ status: number; body: Record<string, unknown>; text: string }> => {
    const { status, text } = await send(admin, { method: 'GET', path, headers: [] });
    return { status, text, body: JSON.parse(text) as Record<string, unknown> };
  };
  const caller = await deployment.caller({
    calc: { url: backend.url, allowed_tool_names: ['add'] },
    dead: { url: `http://user-secret-path.localhost:${deadPort}/secret-path?key=secret-key` },
  });
  const session = await caller.openSession();
  const answer = await session.call('calc-add');
  const requestId = answer.header('x-request-id') ?? '';

  t.test('workers', async (t) => {
    const { body } = await get('/workers');
    t.match(body, {
      workers: [
        { slot: 0, health: 'ok', state: 'listening', logLevel: 'info', version: PROGRAM_VERSION },
        { slot: 1, health: 'ok' },
      ],
    });
  });

  t.test('`switchyard top` shows current activity', async (t) => {
    let isRead = false;
    const reading = watchDataplane(new AdminConnection({ host: '127.0.0.1', port }), 1_100, undefined)
      .next()
      .finally(() => (isRead = true));
    while (!isRead) await session.call('calc-add');
    const { answer, text } = (await reading).value;
    t.match(answer, {
      isReady: true,
      sessions: 1,
      workers: [{ slot: 0 }, { slot: 1 }],
      methods: [{ name: 'tools/call', requestsPerSecond: Number, failuresPerSecond: 0 }],
      backends: [{ name: 'calc', p99S: Number }],
    });
    t.match(String(text), /^ready, 2 of 2 workers, 1 session, /);
  });

  t.test('sessions, by subject and by hash, and never an id', async (t) => {
    const { body, text } = await get(`/sessions?subject=${encodeURIComponent(caller.subject)}`);
    t.match(body, {
      total: 1,
      silent: { length: 0 },
      sessions: [
        {
          subject: subjectHash(caller.subject),
          virtualHost: caller.virtualHostId,
          client: 'spec 1.0.0',
          backends: [
            { name: 'calc', state: 'open', era: 'legacy' },
            { name: 'dead', state: 'unavailable', reason: /./ },
          ],
        },
      ],
    });
    t.notMatch(text, session.id);
    t.notMatch(text, caller.subject);
    const [{ session: hash } = { session: '' }] = body['sessions'] as { session: string }[];
    t.match((await get(`/sessions?session=${hash}`)).body, { total: 1, sessions: [{ session: hash }] });
    t.match((await get('/sessions?subject=nobody')).body, { total: 0, sessions: { length: 0 } });
  });

  t.test('backends, without the secrets in their URLs', async (t) => {
    const { body, text } = await get('/backends');
    const { origin } = new URL(backend.url);
    const backends = body['backends'] as { origin: string; circuit: string; lastFault: unknown }[];
    t.match(
      backends.filter((one) => one.origin === origin),
      [{ circuit: 'closed', lastFault: null }],
    );
    t.match(
      backends.filter((one) => one.origin.endsWith(`:${deadPort}`)),
      [{ lastFault: { backend: 'dead', during: 'opening', reason: /./ } }],
    );
    t.notMatch(text, /secret-key|\/secret-path/);
  });

  t.test('the outcome of a request', async (t) => {
    t.not(requestId, '');
    await until(async () => (await get(`/requests/${requestId}`)).status === 200, 'the worker keeps the request');
    t.match((await get(`/requests/${requestId}`)).body, {
      requests: [{ requestId, method: 'tools/call', backend: 'calc', tool: 'add', outcome: 'ok', status: 200 }],
    });
    t.match(await get('/requests/nobodys'), { status: 404, body: { detail: /no worker knows/ } });
    t.equal((await get('/requests/')).status, 404);
  });

  t.test('why a tool is listed, or is not', async (t) => {
    const explained = async (tool: string, subject = caller.subject, host = caller.virtualHostId): Promise<string> => {
      const query = new URLSearchParams({ subject, virtual_host: host, tool });
      const { text, body } = await get(`/explain?${query.toString()}`);
      t.notMatch(text, /secret-key|\/secret-path/);
      const [worker = { verdict: '' }] = body['workers'] as { verdict: string }[];
      return worker.verdict;
    };
    t.match(await explained('calc-add'), /^allowed: a call goes to calc as "add"/);
    t.match(await explained('calc-sub'), /^not allowed: this virtual host does not have the tool "sub" of calc/);
    t.match(await explained('other-x'), /^unknown backend: .*available: calc, dead/);
    t.match(await explained('x', caller.subject, 'nowhere'), /no such virtual host/);
    t.match(await explained('x', 'nobody@example.com'), /no user config for this subject/);
    t.equal((await get('/explain?subject=x')).status, 400);
  });

  t.test('the commands of the program print it', async (t) => {
    const words = ['--admin-address', `127.0.0.1:${port}`];
    const told = async (...asked: readonly string[]): Promise<string> => {
      const { code, output, errorOutput } = await runProgram([...asked, ...words]);
      t.match({ code, errorOutput }, { code: 0, errorOutput: '' }, asked.join(' '));
      t.notMatch(output, /secret-key|\/secret-path/);
      return output;
    };
    const why = ['explain', '--subject', caller.subject, '--virtual-host', caller.virtualHostId, '--tool', 'calc-sub'];
    t.match(await told(...why), /^verdict +not allowed: this virtual host does not have the tool "sub" of calc/m);
    t.match(JSON.parse(await told(...why, '--json')), { workers: [{ verdict: /^not allowed/ }, {}] });
    t.match(await told('explain', requestId), /^outcome +ok$/m);
    const { sessions } = JSON.parse(await told('sessions', '--subject', caller.subject, '--json')) as {
      sessions: readonly { session: string }[];
    };
    t.match(await told('explain', sessions[0]?.session ?? ''), /^calc +open$/m);
    t.match(JSON.parse(await told('log-level', 'info', '--json')), { level: 'info' });
  });

  t.test('`switchyard top` prints one round as JSON, and its table again and again on a terminal', async (t) => {
    const words = ['top', '--admin-address', `127.0.0.1:${port}`];
    let isPrinted = false;
    const printing = runProgram([...words, '--json']).finally(() => (isPrinted = true));
    while (!isPrinted) await session.call('calc-add');
    const { code, output, errorOutput } = await printing;
    t.match({ code, errorOutput }, { code: 0, errorOutput: '' });
    t.match(JSON.parse(output), {
      isReady: true,
      workers: [{ slot: 0 }, { slot: 1 }],
      methods: [{ name: 'tools/call', requestsPerSecond: Number }],
      backends: [{ name: 'calc' }],
    });

    const { pid, shown, ended } = onTerminal([process.execPath, programPath(), ...words]);
    t.teardown(() => tryKill(pid));
    const rounds = (): string[] => shown().split('\u001b[H\u001b[J').slice(1);
    await until(async () => (await session.call('calc-add'), rounds().length > 2), 'two rounds');
    const [first = '', second = ''] = rounds();
    for (const round of [first, second]) t.match(round, /^ready, 2 of 2 workers, 1 session, [^]*\r\nSLOT +STATE /);
    t.match(second, /\r\nMETHOD [^]*\r\ntools\/call +\d[^]*\r\nBACKEND [^]*\r\ncalc +\d/);
    tryKill(pid);
    await ended;
  });

  t.test('an unrecognised config member is logged once in each worker, and explained', async (t) => {
    const other = await deployment.caller({ calc: { url: backend.url, allowed_tools: ['add'] } });
    const session = await other.openSession();
    for (let look = 0; look < 8; look++) t.same(await session.toolNames(), ['calc-add', 'calc-sub']);
    const warnings = deployment.gateway.logs.filter(({ msg }) => msg === 'user config has unrecognised members');
    t.ok(warnings.length === 1 || warnings.length === 2, `${warnings.length} warnings`);
    const oddities = /backends\.calc\.allowed_tools: is not known; did you mean allowed_tool_names\?/;
    for (const warning of warnings) t.match(warning, { level: 40, subject: subjectHash(other.subject), oddities });
    const query = new URLSearchParams({ subject: other.subject, virtual_host: other.virtualHostId, tool: 'calc-sub' });
    t.match((await get(`/explain?${query.toString()}`)).body, { workers: [{ oddities, verdict: /^allowed/ }] });
  });

  t.test('the log level changes in all processes, and nothing else does', async (t) => {
    const put = async (body: string, origin?: string): Promise<number> => {
      const headers = origin === undefined ? [] : [['origin', origin] as const];
      return (await send(admin, { method: 'PUT', path: '/log-level', headers, body })).status;
    };
    t.equal(await put('{"level":"loud"}'), 400);
    t.equal(await put('{"level":"warn"}', 'https://evil.example'), 403);
    t.equal(await put('{"level":"debug"}'), 200);
    await until(async () => {
      const workers = (await get('/workers')).body['workers'] as { logLevel: string }[];
      return workers.every(({ logLevel }) => logLevel === 'debug');
    }, 'the workers have it');
    t.equal((await send(admin, { method: 'GET', path: '/log-level', headers: [] })).status, 405);
    t.equal((await send(admin, { method: 'PUT', path: '/workers', headers: [], body: '' })).status, 405);
  });
});
