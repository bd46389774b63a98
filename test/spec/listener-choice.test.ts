// `--listener`: the dataplane over `node:http`, chosen, or because uWebSockets.js does not load.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import t from 'tap';
import { canReusePort } from '../../src/edge/node-server.js';
import { backendFor, startDeployment } from '../support/deployment.js';
import { runProgram } from '../support/gateway.js';
import { rpc } from '../support/mcp-caller.js';
import { RawConnection, send } from '../support/raw-http.js';
import { createScratchDirectory } from '../support/scratch-directory.js';
import { until } from '../support/until.js';

/** What the package throws if the machine's C library is older than its binary: it begins with the same words whatever the cause. */
const LOADER_WORDS =
  'This version of uWS.js supports only Node.js versions 18, 20, 21 and 22.\n\n' +
  "Error: libc.so.6: version 'GLIBC_2.38' not found (required by uws.node)\nRequire stack:\n- uws.mjs";
const HOOKS = `export async function resolve(name, context, next) {
  if (name === 'uWebSockets.js') throw new Error(${JSON.stringify(LOADER_WORDS)});
  return next(name, context);
}`;
const dataUrl = (source: string): string => `data:text/javascript,${encodeURIComponent(source)}`;
const withHooks = (hooks: string): Record<string, string> => ({
  NODE_OPTIONS: `--import ${dataUrl(`import { register } from 'node:module'; register(${JSON.stringify(dataUrl(hooks))});`)}`,
});
const WITHOUT_UWS = withHooks(HOOKS);

await t.test(
  'auto: where uWebSockets.js does not load, node:http serves, with one warning and the cause',
  async (t) => {
    const backend = await backendFor(t, { withSessions: true, onCall: async () => {} });
    const deployment = await startDeployment(t, {
      workerCount: 2,
      environment: WITHOUT_UWS,
      options: ['--listener', 'auto'],
    });
    const { gateway } = deployment;
    const caller = await deployment.caller({ one: { url: backend.url } });
    const session = await caller.openSession();
    t.match(rpc(await session.call('one-echo', '{"n":1}')), { result: { structuredContent: { n: 1 } } });
    const text = 'x'.repeat(300_000);
    t.match(
      rpc(await session.call('one-echo', JSON.stringify({ text }))),
      { result: { structuredContent: { text } } },
      'large both ways',
    );
    const warnings = gateway.logs.filter(({ msg }) => String(msg).startsWith('listening with node:http'));
    t.equal(warnings.length, 1);
    t.match(warnings[0]?.['msg'], /GLIBC_2\.38/);
    const workers = canReusePort() ? 2 : 1;
    t.match(await gateway.waitForLog(({ msg }) => msg === 'listening'), { workers });
    t.equal(
      gateway.logs.some(({ msg }) => String(msg).startsWith('one worker instead of 2')),
      workers === 1,
    );

    const kept = await RawConnection.open(gateway.origin);
    t.teardown(() => kept.close());
    const authority = new URL(gateway.origin).host;
    for (const [head, status] of [
      [`GET /gw-rs/health HTTP/1.1\r\nhost: ${authority}\r\nx: ${'y'.repeat(40_000)}\r\n\r\n`, 431],
      [`GET /gw-rs/health HTTP/1.1\r\nhost: ${authority}\r\n${'x: y\r\n'.repeat(101)}\r\n`, 431],
      [`GET /gw-rs/health HTTP/1.0\r\nhost: ${authority}\r\n\r\n`, 505],
      [`GET /gw-rs/health HTTP/1.1\r\nhost ${authority}\r\n\r\n`, 400],
    ] as const) {
      const connection = await RawConnection.open(gateway.origin);
      connection.write(head);
      t.equal((await connection.readAnswer('GET')).status, status, head.slice(0, 60));
      connection.close();
    }
    t.equal((await send(gateway.origin, { method: 'GET', path: '/nowhere', headers: [] })).status, 404);
    for (const end of ['', '/']) {
      const path = `${gateway.path(caller.virtualHostId)}${end}`;
      t.equal((await send(gateway.origin, { method: 'GET', path, headers: [] })).status, 401, path);
    }

    gateway.signal('SIGTERM');
    t.same(await gateway.exit, { code: 0, signal: null });
    await until(() => backend.deletedSessions.length === 1, 'its upstream session to be ended');
  },
);

await t.test('uws: a build of the package whose module exports fewer names works as well', async (t) => {
  const wrapper = join(createScratchDirectory(t), 'wrapper.mjs');
  const names = ['App', 'SSLApp', 'us_listen_socket_close', 'us_socket_local_port'];
  const real = import.meta.resolve('uWebSockets.js');
  const exported = names.map((name) => `export const ${name} = uws.${name};`).join('\n');
  writeFileSync(wrapper, `import * as uws from ${JSON.stringify(real)};\nexport default uws;\n${exported}\n`);
  const hooks = `export async function resolve(name, context, next) {
    return name === 'uWebSockets.js' ? next(${JSON.stringify(pathToFileURL(wrapper).href)}, context) : next(name, context);
  }`;
  const { gateway } = await startDeployment(t, {
    workerCount: 1,
    environment: withHooks(hooks),
    options: ['--listener', 'uws'],
  });
  const health = await send(gateway.origin, { method: 'GET', path: '/gw-rs/health', headers: [] });
  t.equal(health.status, 200);
  t.notOk(
    health.headers.some(([name]) => name.toLowerCase() === 'uwebsockets'),
    'it is kept from announcing itself all the same',
  );
});

await t.test('uws: if it does not load, the program ends with the cause', async (t) => {
  const { code, output } = await runProgram(['dataplane', '--listener', 'uws', '--address', '127.0.0.1:0'], {
    environment: WITHOUT_UWS,
  });
  t.equal(code, 69);
  t.match(output, /GLIBC_2\.38.*--listener node/s);
});

await t.test('which versions of Node.js can share a port', async (t) => {
  for (const [version, expected] of [
    ['20.20.2', false],
    ['22.11.0', false],
    ['22.12.0', true],
    ['23.0.0', false],
    ['23.1.0', true],
    ['24.0.0', true],
  ] as const) {
    t.equal(canReusePort(version, 'linux'), expected, version);
  }
  t.equal(canReusePort('24.0.0', 'darwin'), false, 'the kernel shares it on some systems only');
});
