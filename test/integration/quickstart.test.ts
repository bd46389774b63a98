// The quick start as a newcomer sees it: started, its printed steps pasted into a shell, stopped with Ctrl-C.
import { execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import t, { type Test } from 'tap';
import { childPids } from '../support/child-pids.js';
import { childEnvironment, projectRoot } from '../support/gateway.js';
import { createScratchDirectory } from '../support/scratch-directory.js';
import { findFreePort } from '../support/free-port.js';
import { killWithProcess } from '../support/leftovers.js';
import { connectSdkClient } from '../support/sdk-client.js';
import { until } from '../support/until.js';

const script = join(projectRoot, 'dist-quickstart/demo/quickstart.js');
if (!existsSync(script)) throw new Error('no build of the quick start; run: node scripts/build.mjs quickstart');
const CONTROL_PLANE = /SWITCHYARD_CONTROL_PLANE_URL='([^']+)'/;
const hasCurl = spawnSync('curl', ['--version']).status === 0;
const skip = hasCurl ? false : 'curl is not installed';

interface Quickstart {
  /** What is on the screen. */
  readonly screen: string;
  /** That, and the guide that it names. */
  readonly output: string;
  readonly pid: number;
  /** The exit status after Ctrl-C, or after another signal. */
  interrupt(signal?: NodeJS.Signals): Promise<number | null>;
}

async function startQuickstart(t: Test, addresses = ['127.0.0.1:0', '127.0.0.1:0']): Promise<Quickstart> {
  const child = spawn(process.execPath, [script, ...addresses], {
    env: childEnvironment(),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  killWithProcess(child);
  // The script's own handler stops the gateway too.
  t.teardown(() => child.kill('SIGTERM'));
  let output = '';
  const take = (chunk: Buffer): void => void (output += chunk.toString('utf8'));
  child.stdout.on('data', take);
  child.stderr.on('data', take);
  const exited = once(child, 'exit') as Promise<[number | null]>;
  await until(() => output.includes('Stop with Ctrl-C.') || child.exitCode !== null, 'the guide');
  if (child.exitCode !== null || child.pid === undefined) throw new Error(`the quick start ended: ${output}`);
  const guide = /(data\/\S+\.txt)$/m.exec(output)?.[1] ?? '';
  return {
    screen: output,
    output: output + readFileSync(join(projectRoot, guide), 'utf8'),
    pid: child.pid,
    interrupt: async (signal = 'SIGINT') => {
      child.kill(signal);
      return (await exited)[0];
    },
  };
}

function valueOf(name: string, output: string): string {
  const value = new RegExp(`^ +${name} +(\\S+)$`, 'm').exec(output)?.[1];
  if (value === undefined) throw new Error(`no ${name} in: ${output}`);
  return value;
}

/** The lines between two headings of the guide, as a reader would copy them. */
function stepsOf(output: string): string {
  const steps = /Step by step with curl.*\n([^]*?)\nMCP Inspector:/.exec(output)?.[1];
  if (steps === undefined) throw new Error(`no steps in: ${output}`);
  return steps;
}

function lifeS(token: string): number {
  const { iat, exp } = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as Record<
    string,
    number
  >;
  return (exp ?? 0) - (iat ?? 0);
}

function descendants(pid: number): number[] {
  return childPids(pid).flatMap((child) => [child, ...descendants(child)]);
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

t.test('it prints a URL and a token that work, and Ctrl-C ends all of its processes with status 0', async (t) => {
  const quickstart = await startQuickstart(t);
  const url = valueOf('URL', quickstart.output);
  const token = valueOf('TOKEN', quickstart.output);
  const processes = descendants(quickstart.pid);
  t.ok(processes.length >= 2, 'a primary and its workers');

  const lines = quickstart.screen.trim().split('\n');
  t.ok(lines.length <= 30, `${lines.length} lines`);
  t.match(lines.slice(-3).join('\n'), /^ {2}http:\S+\/ui\n\nStop with Ctrl-C\.$/, 'the address to open comes last');

  t.notMatch(quickstart.output, /^ *#/m, 'a shell that knows no comments, as zsh at its prompt, takes every line');
  // The inspector requires Node.js 22.19. Whether npx can fetch a newer Node.js is tested by hand, because it needs a network.
  const isOld = process.versions.node.startsWith('20.');
  const inspector = isOld ? '-p node@22 -p @modelcontextprotocol/inspector@2 mcp-inspector' : 'inspector@2';
  t.match(quickstart.output, `${inspector} --cli '${url}' --transport http`);
  const taken = `127.0.0.1:${new URL(url).port}`;
  const second = spawnSync(process.execPath, [script, taken, '127.0.0.1:0'], {
    env: childEnvironment(),
    encoding: 'utf8',
  });
  t.equal(second.status, 1, 'a second one on the same address ends');
  t.match(second.stdout + second.stderr, new RegExp(`cannot listen on ${taken}: it is in use; .*another address`));
  t.match(
    second.stderr,
    /If another quick start runs already, .* npm run quickstart -- 127\.0\.0\.1:9001 127\.0\.0\.1:9444\n$/,
  );

  const answer = await fetch(url, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    },
    body: '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}',
  });
  t.equal(answer.status, 200);
  t.match(await answer.json(), { result: { serverInfo: { name: 'switchyard' } } });

  await t.test('the steps for curl do what they say', { skip }, async (t) => {
    const { stdout, stderr } = await promisify(execFile)('bash', ['-c', stepsOf(quickstart.output)], {
      env: childEnvironment(),
    });
    t.equal(stderr, '');
    const lines = stdout.split('\n').filter((line) => line !== '' && !line.startsWith(':'));
    const [listed, added, ...streamed] = lines.map((line) => line.replace(/^data: /, ''));
    t.match(JSON.parse(listed ?? ''), {
      id: 2,
      result: {
        tools: ['calculator-add', 'calculator-now', 'wordsmith-countdown', 'wordsmith-reverse'].map((name) => ({
          name,
        })),
      },
    });
    t.match(JSON.parse(added ?? ''), { id: 3, result: { content: [{ text: '42' }] } });
    const messages = streamed
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line) as { params?: { progress?: number } });
    t.same(
      messages.slice(0, -1).map(({ params }) => params?.progress),
      [1, 2, 3, 4, 5],
      'the countdown reports its progress',
    );
    t.match(messages.at(-1), { id: 4, result: { content: [{ text: 'Lift-off!' }] } });
  });

  const ready = await fetch(/^ +(http:\S+\/ready)$/m.exec(quickstart.output)?.[1] ?? '');
  t.match(await ready.json(), { status: 'ready' }, 'the listener for operators is where it says');

  t.equal(await quickstart.interrupt(), 0);
  await until(() => !processes.some(isAlive), 'every process to be gone');
});

t.test(
  'the control plane: its printed steps do what they say, also when an earlier run has left data behind',
  async (t) => {
    for (const run of ['first', 'second']) {
      const quickstart = await startQuickstart(t);
      const commands = /^ {2}export SWITCHYARD_TOKEN=[^]*?tools\/list"\}'$/m.exec(quickstart.output)?.[0] ?? '';
      const { stdout, stderr } = await promisify(execFile)('bash', ['-c', commands], {
        cwd: projectRoot,
        env: childEnvironment(),
      });
      t.equal(stderr, '', run);
      t.match(stdout, /^calculator +active +2 +demo /m);
      t.match(stdout, /^wordsmith +active +2 +demo /m);
      t.match(stdout, /^tools +calculator:add, calculator:now, wordsmith:reverse$/m);
      t.match(stdout, /"name":"wordsmith-countdown"/, 'the aggregate has all of them');

      const sessions = await fetch(`${CONTROL_PLANE.exec(commands)?.[1]}/dataplane/sessions`, {
        headers: { authorization: `Bearer ${valueOf('TOKEN', quickstart.output)}` },
      });
      t.equal(sessions.status, 200, 'the console tells what happens in the gateway');

      const file = join(createScratchDirectory(t), 'mcp.json');
      writeFileSync(file, '{"mcpServers":{}}');
      const calculator = /^calculator .* (http:\S+)/m.exec(stdout)?.[1] ?? '';
      const own = /^ {2}node \S+ servers add mine[^]*?\n\n/m.exec(quickstart.output)?.[0] ?? '';
      const words = own.replace('http://127.0.0.1:3000/mcp', calculator).replace('~/.cursor/mcp.json', file);
      const cli = 'node dist-quickstart/main.js';
      const removal = `${cli} compositions delete bobs && ${cli} servers remove mine`;
      const added = await promisify(execFile)('bash', ['-c', `${commands}\n${words}\n${removal}`], {
        cwd: projectRoot,
        env: childEnvironment(),
      });
      t.match(added.stdout, /name +mine\nstatus +active\n[^]*^tools +mine:\*$[^]*^subjects +bob@example\.com$/m);
      t.equal(added.stderr, '');

      const secret = /^ {2}(printf .* secrets set .*)$/m.exec(quickstart.output)?.[1] ?? '';
      const told = await promisify(execFile)('bash', ['-c', secret], {
        cwd: projectRoot,
        env: childEnvironment({ GITHUB_TOKEN: 'x' }),
      });
      t.match(told.stdout, /^Set github,/, 'secrets can be set');

      const docs = / (http:\S+\/docs) /.exec(quickstart.output)?.[1] ?? '';
      t.equal((await fetch(docs)).status, 200);
      const token = valueOf('TOKEN', quickstart.output);
      const urls = [...quickstart.output.matchAll(/^ +(http:\S+\/servers\/[0-9a-f]{32}\/mcp) {3}the /gm)].map(
        ([, url]) => url,
      );
      t.equal(urls.length, 2);
      for (const url of urls) {
        const { client } = await connectSdkClient(t, url ?? '', token);
        const { tools } = await client.listTools();
        t.same(
          tools.map(({ name }) => name),
          ['calculator-add', 'calculator-now', 'wordsmith-reverse'],
          String(url),
        );
      }
      t.equal(await quickstart.interrupt(), 0);
    }
  },
);

t.test('the settings that it prints for other programs are JSON with the same URL and token', async (t) => {
  const quickstart = await startQuickstart(t);
  const url = valueOf('URL', quickstart.output);
  const token = valueOf('TOKEN', quickstart.output);
  const settings = [...quickstart.output.matchAll(/^ {2}\{\n[^]*?^ {2}\}$/gm)].map(
    ([text]) => JSON.parse(text) as unknown,
  );
  const entry = { switchyard: { type: 'http', url, headers: { Authorization: `Bearer ${token}` } } };
  const remote = {
    command: 'npx',
    args: ['-y', 'mcp-remote', url, '--header', 'Authorization:${AUTHORIZATION}'],
    env: { AUTHORIZATION: `Bearer ${token}` },
  };
  t.same(settings, [{ mcpServers: entry }, { mcpServers: { switchyard: remote } }, { servers: entry }]);
  const renewal = /A new one: +(.+)/.exec(quickstart.output)?.[1] ?? '';
  const { stdout } = await promisify(execFile)('bash', ['-c', renewal], { cwd: projectRoot, env: childEnvironment() });
  t.ok(lifeS(stdout) === 86_400 && lifeS(token) === 86_400, 'tokens outlive a working day');
  t.equal(await quickstart.interrupt('SIGHUP'), 0, 'a terminal that is closed ends it');
});

t.test('words that are no addresses start nothing, and are answered with the usage', async (t) => {
  for (const words of [['--help'], ['--port', '9001'], ['127.0.0.1:0', '127.0.0.1:0', 'x']]) {
    const { status, stderr } = spawnSync(process.execPath, [script, ...words], { encoding: 'utf8' });
    t.match([status, stderr], [64, /^Usage: npm run quickstart -- .*host:port/], words.join(' '));
  }
});

t.test('when it is killed, nothing of it is left', async (t) => {
  const quickstart = await startQuickstart(t);
  const processes = descendants(quickstart.pid);
  t.ok(processes.length >= 3, 'two programs and the workers of one');
  await quickstart.interrupt('SIGKILL');
  await until(() => !processes.some(isAlive), 'every process to be gone');
});

t.test('`npm run quickstart` is one process beside npm, so a signal that npm passes on reaches it', async () => {
  const { scripts } = JSON.parse(readFileSync(join(projectRoot, 'package.json'), 'utf8')) as {
    readonly scripts: Readonly<Record<string, string>>;
  };
  // As npm runs it, without the build.
  const command = scripts['quickstart']?.replace('node scripts/build.mjs quickstart && ', '') ?? '';
  const shell = spawn('sh', ['-c', `true && ${command} 127.0.0.1:0 127.0.0.1:0`], {
    cwd: projectRoot,
    env: childEnvironment(),
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  killWithProcess(shell);
  let output = '';
  shell.stdout.on('data', (chunk: Buffer) => void (output += chunk.toString('utf8')));
  await until(() => output.includes('Stop with Ctrl-C.'), 'the guide');
  const processes = [shell.pid!, ...descendants(shell.pid!)];
  shell.kill('SIGTERM');
  await until(() => !processes.some(isAlive), 'every process to be gone');
});

t.test('a second quick start on other ports does not affect the first', async (t) => {
  const start = async (): Promise<Quickstart> => {
    const ports = [await findFreePort(), await findFreePort()];
    const ofPorts = (name: string): boolean => name.includes(ports.join('-'));
    const data = join(projectRoot, 'data');
    t.teardown(() =>
      readdirSync(data)
        .filter(ofPorts)
        .forEach((name) => rmSync(join(data, name), { recursive: true })),
    );
    const addresses = ports.map((port) => `127.0.0.1:${port}`);
    return startQuickstart(t, addresses);
  };
  const first = await start();
  const second = await start();
  t.equal(await second.interrupt(), 0, 'its backends are gone');
  const { client } = await connectSdkClient(t, valueOf('URL', first.output), valueOf('TOKEN', first.output));
  const { tools } = await client.listTools();
  t.ok(
    tools.some(({ name }) => name === 'calculator-add'),
    'the first one has backends of its own',
  );
  t.equal(await first.interrupt(), 0);
});
