// The life of the program: what it says of its readiness, and how it ends. The parts that it runs are tested in control-plane.test.ts.
import { once } from 'node:events';
import { connect } from 'node:net';
import { mock } from 'node:test';
import t, { type Test } from 'tap';
import { controlPlaneOptions, type ControlPlaneOptions } from '../../src/config/dataplane-options.js';
import { runControlPlane, watchReadiness } from '../../src/control-plane/run-control-plane.js';
import { STOP_SIGNAL_REPEAT_MS_MAX } from '../../src/process/stop-signals.js';
import { optionLoader } from '../config/option-loader.js';
import { createKeyPair } from '../support/keys.js';
import { logInto } from '../support/log-lines.js';
import { createScratchDirectory } from '../support/scratch-directory.js';
import { until } from '../support/until.js';

const { load } = optionLoader('control-plane', controlPlaneOptions);
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
const key = createKeyPair(t, 'ed25519');
const keyWords = ['--token-verification-public-key', key.publicKeyPath];

type Line = Readonly<Record<string, unknown>>;
const parsed = (lines: readonly string[]): Line[] => lines.map((line) => JSON.parse(line) as Line);

t.test('it is ready while its store responds and a token key is there, and says each change once', async (t) => {
  mock.timers.enable({ apis: ['setTimeout'] });
  t.teardown(() => mock.timers.reset());
  const [said, lines]: [string[], string[]] = [[], []];
  const store = { kind: 'redis', isReachable: false, pings: 0 };
  const ping = async (): Promise<boolean> => ((store.pings += 1), store.isReachable);
  const notifier = {
    notifyReady: () => void said.push('READY'),
    notifyStatus: (words: string) => void said.push(words),
  };
  const watch = (areKeysConfigured: boolean): AbortController =>
    watchReadiness({ kind: 'redis', ping }, areKeysConfigured, notifier, logInto(lines));
  const settle = async (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  const ending = watch(true);
  const next = async (isReachable: boolean): Promise<void> => {
    await settle();
    store.isReachable = isReachable;
    mock.timers.tick(1_000);
    await settle();
  };
  await next(false);
  t.same(said, ['not ready: the redis store cannot be reached'], 'once');
  await next(true);
  await next(true);
  await next(false);
  t.same(said.splice(0).slice(1), ['ready', 'READY', 'not ready: the redis store cannot be reached']);
  t.match(parsed(lines.splice(0)), [
    { level: 40, msg: 'not ready', obstacles: ['the redis store cannot be reached'] },
    { level: 30, msg: 'ready' },
    { level: 40, msg: 'not ready' },
  ]);
  mock.timers.tick(1_000);
  ending.abort();
  store.isReachable = true;
  await settle();
  const { pings } = store;
  mock.timers.tick(10_000);
  await settle();
  t.same([said, store.pings], [[], pings], 'at its end nothing is asked or said any more');
  watch(false).abort();
  store.isReachable = false;
  const without = watch(false);
  await settle();
  without.abort();
  t.match(said, [/^not ready: the redis store cannot be reached; no token verification key/]);
});

interface Run {
  readonly lines: string[];
  readonly exit: Promise<number>;
  readonly origin: () => Promise<URL>;
  readonly signal: (signal: (typeof SIGNALS)[number]) => void;
  readonly said: () => (string | undefined)[];
}

function run(t: Test, options: ControlPlaneOptions, isOnTerminal = false): Run {
  const before = SIGNALS.map((signal) => process.listeners(signal));
  const lines: string[] = [];
  const serviceManager = { notifySocket: undefined, watchdogMs: undefined };
  const exit = runControlPlane(options, { isOnTerminal, serviceManager, childEnvironment: {} }, logInto(lines));
  const added = SIGNALS.map((signal, at) => process.listeners(signal).filter((each) => !before[at]!.includes(each)));
  t.teardown(() => {
    for (const [at, signal] of SIGNALS.entries()) for (const each of added[at]!) process.off(signal, each);
  });
  const signal: Run['signal'] = (name) => {
    for (const each of added[SIGNALS.indexOf(name)]!) each(name);
  };
  const lineOf = (msg: string): Line | undefined => parsed(lines).find((line) => line['msg'] === msg);
  const origin = async (): Promise<URL> => {
    await until(
      () => lineOf('listening') !== undefined && lineOf('ready') !== undefined,
      'the control plane to be ready',
    );
    return new URL(`http://${String(lineOf('listening')?.['address'])}`);
  };
  return { lines, exit, origin, signal, said: () => parsed(lines).map(({ msg }) => String(msg)) };
}

const optionsOf = (t: Test, words: readonly string[] = keyWords): ControlPlaneOptions =>
  load(['--address', '127.0.0.1:0', '--store-path', createScratchDirectory(t), ...words]);

t.test('a signal ends it in order, and a hangup only where a terminal was closed', async (t) => {
  const away = run(t, optionsOf(t));
  const { href } = await away.origin();
  t.equal((await fetch(`${href}health`, { headers: { connection: 'close' } })).status, 200);
  away.signal('SIGHUP');
  t.match(parsed(away.lines).at(-1), { level: 40, msg: /^SIGHUP reloads nothing/ });
  t.equal((await fetch(`${href}health`, { headers: { connection: 'close' } })).status, 200, 'and it goes on');
  away.signal('SIGTERM');
  t.equal(await away.exit, 0);
  t.same(
    away.said().filter((msg) => ['listening', 'ready', 'draining', 'stopped'].includes(String(msg))),
    [...['listening', 'ready', 'draining', 'stopped']],
  );
  t.match(parsed(away.lines), [{ level: 40, msg: /^everybody with a valid token may change everything/ }]);
  t.match(
    parsed(away.lines).find(({ msg }) => msg === 'listening'),
    { store: 'embedded' },
  );
  t.match(
    parsed(away.lines).find(({ msg }) => msg === 'draining'),
    { signal: 'SIGTERM' },
  );
  const terminal = run(t, optionsOf(t), true);
  await terminal.origin();
  terminal.signal('SIGHUP');
  t.equal(await terminal.exit, 0);
});

t.test('a second signal does not wait for requests any more', async (t) => {
  const { origin, signal, exit, lines } = run(t, optionsOf(t, [...keyWords, '--token-roles-claim', 'role']));
  const { port } = await origin();
  t.notMatch(lines[0], /valid token/, 'where tokens say who may, nothing is said about it');
  const socket = connect(Number(port), '127.0.0.1');
  socket.write(
    `POST /ui/sign-in/token HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\ncontent-type: application/json\r\ncontent-length: 2\r\nexpect: 100-continue\r\n\r\n`,
  );
  await once(socket, 'readable');
  signal('SIGTERM');
  const atMs = performance.now();
  const { restore } = t.capture(performance, 'now', () => atMs + STOP_SIGNAL_REPEAT_MS_MAX + 1_000);
  signal('SIGINT');
  t.equal(await exit, 128 + 2);
  restore();
  t.match(parsed(lines).at(-1), { level: 40, signal: 'SIGINT', msg: 'second signal: drain aborted' });
  socket.destroy();
});

t.test('what stands in the way of a start is said, with its exit status; anything else is thrown', async (t) => {
  const { exit, lines } = run(t, load(['--address', '127.0.0.1:0', '--store-path', '/dev/null/store']));
  t.equal(await exit, 73);
  t.match(parsed(lines), [
    { level: 40, msg: /^no token verification key or secret is configured/ },
    { level: 60, msg: /^the store cannot be opened/ },
  ]);
  const broken = { ...optionsOf(t), connections: undefined } as unknown as ControlPlaneOptions;
  await t.rejects(run(t, broken).exit, TypeError);
});
