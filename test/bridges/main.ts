// `npm run bridges`: real servers on standard input and output, as clients' configuration files name them. `switchyard servers import` says
// how to run each behind a bridge; each is run so, registered, and called through the control plane's `/mcp`. The last line says how many
// of the bridges worked. Exit status 1 when one did not. The bridges are installed when first needed, from a lock file of their own.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { runProgram } from '../../bench/program.js';
import { Scope } from '../attack/scope.js';
import { startControlPlane, type ControlPlane } from '../support/control-plane.js';
import { findFreePort } from '../support/free-port.js';
import { childEnvironment, projectRoot, runProgram as runSwitchyard } from '../support/gateway.js';
import { killWithProcess } from '../support/leftovers.js';
import { createScratchDirectory } from '../support/scratch-directory.js';
import { connectSdkClient } from '../support/sdk-client.js';
import { until } from '../support/until.js';

const usage = `Usage: npm run bridges [-- --bridge name]
  --bridge name  supergateway or mcp-proxy; both when not given. May be given again`;

const BRIDGES = ['supergateway', 'mcp-proxy'];
const tools = join(projectRoot, 'test', 'bridges', 'tools');
const server = fileURLToPath(import.meta.resolve('@modelcontextprotocol/server-everything/dist/index.js'));
const CALLS = [
  { name: 'echo', arguments: { message: 'to and fro: “é”' } },
  { name: 'get-sum', arguments: { a: 19.5, b: 23 } },
  { name: 'get-tiny-image', arguments: {} },
];

/** After this the registry counts as unreachable; an installation takes half a minute on a slow machine. */
const INSTALL_MS_MAX = 300_000;

await runProgram(usage, parse, tryAll);

function parse(words: readonly string[]): readonly string[] {
  const { values } = parseArgs({ args: [...words], options: { bridge: { type: 'string', multiple: true } } });
  const bridges = values.bridge ?? BRIDGES;
  for (const bridge of bridges) if (!BRIDGES.includes(bridge)) throw new Error(`no such bridge: ${bridge}`);
  return bridges;
}

async function tryAll(bridges: readonly string[]): Promise<number> {
  await install();
  const scope = new Scope();
  let passedCount = 0;
  try {
    const controlPlane = await startControlPlane(scope);
    for (const bridge of bridges) {
      const faults = await faultsOf(scope, controlPlane, bridge);
      print(`${bridge}: ${faults.length === 0 ? 'the server is as it is without it' : faults.join('; ')}`);
      if (faults.length === 0) passedCount += 1;
    }
  } finally {
    await scope.end();
  }
  print(`${passedCount} of ${bridges.length} bridges`);
  return passedCount === bridges.length ? 0 : 1;
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

async function install(): Promise<void> {
  if (BRIDGES.every((bridge) => existsSync(join(tools, 'node_modules', '.bin', bridge)))) return;
  const words = ['ci', '--no-audit', '--no-fund', '--ignore-scripts', '--engine-strict=false'];
  const npm = spawn('npm', words, { cwd: tools, stdio: 'ignore', timeout: INSTALL_MS_MAX });
  const [code] = (await once(npm, 'exit')) as [number | null];
  if (code !== 0) throw new Error('the bridges could not be installed');
}

/** @returns what is not as it must be, in words. */
async function faultsOf(scope: Scope, controlPlane: ControlPlane, bridge: string): Promise<readonly string[]> {
  const name = `stdio-${bridge}`;
  const file = join(createScratchDirectory(scope), 'mcp.json');
  const servers = { [name]: { command: process.execPath, args: [server, 'stdio'] } };
  writeFileSync(file, JSON.stringify({ mcpServers: servers }));
  const token = await controlPlane.token('bridges@example.com');
  const environment = { SWITCHYARD_TOKEN: token, SWITCHYARD_CONTROL_PLANE_URL: controlPlane.origin };
  const switchyard = async (...words: string[]): Promise<string> => {
    const { output, errorOutput } = await runSwitchyard(words, { environment });
    if (errorOutput !== '') throw new Error(`switchyard ${words.join(' ')}: ${errorOutput}`);
    return output;
  };

  const port = String(await findFreePort());
  const way = ['--bridge', bridge, '--bridge-port', port, '--json'];
  const [filed] = JSON.parse(await switchyard('servers', 'import', file, ...way)) as FiledServer[];
  if (filed?.command === undefined || filed.url === undefined) return [`it says no command: ${JSON.stringify(filed)}`];
  const bridged = spawn('sh', ['-c', `exec ${filed.command}`], {
    cwd: tools,
    env: childEnvironment(),
    stdio: 'ignore',
    detached: true,
  });
  killWithProcess(bridged);
  scope.teardown(() => endGroup(bridged.pid));
  const { url } = filed;
  await until(() => isThere(url), `${bridge} at ${url}`);
  await switchyard('servers', 'add', name, url);

  const { client } = await connectSdkClient(scope, `${controlPlane.origin}/mcp`, token);
  const direct = new Client({ name: 'direct', version: '1.0.0' });
  await direct.connect(
    new StdioClientTransport({ command: process.execPath, args: [server, 'stdio'], stderr: 'ignore' }),
  );
  scope.teardown(() => direct.close());
  const faults: string[] = [];
  const own = (await direct.listTools()).tools.map((tool) => `${name}-${tool.name}`).sort();
  const listed = (await client.listTools()).tools
    .map((tool) => tool.name)
    .filter((each) => each.startsWith(`${name}-`));
  if (JSON.stringify(listed) !== JSON.stringify(own))
    faults.push(`it lists ${listed.join(', ')} for ${own.join(', ')}`);
  for (const call of CALLS) {
    // Only the content is compared: a bridge may add information of its own beside it.
    const answer = JSON.stringify((await client.callTool({ ...call, name: `${name}-${call.name}` })).content);
    const expected = JSON.stringify((await direct.callTool(call)).content);
    if (answer !== expected) faults.push(`${call.name} answers ${answer} for ${expected}`);
  }
  return faults;
}

interface FiledServer {
  readonly command?: string;
  readonly url?: string;
}

async function isThere(url: string): Promise<boolean> {
  try {
    await (await fetch(url)).body?.cancel();
    return true;
  } catch {
    return false;
  }
}

/** npx has replaced the shell, and has started the bridge, which has started the server. */
function endGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // It has already ended.
  }
}
