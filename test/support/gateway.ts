// The built program as a child process: started with the options that a test chooses, on a port of its own; its log lines
// are collected, and it ends with the test. No code of src/ runs inside the test.
import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import type { Test } from 'tap';
import type { ListenAddress } from '../../src/config/values.js';
import type { RedisLocation, StoreOptions } from '../../src/config/table/store-options.js';
import { childPids } from './child-pids.js';
import { killWithProcess } from './leftovers.js';

/** Exceeded only by a start that hangs: on a busy machine a healthy one has taken more than a minute. */
const START_MS_MAX = 150_000;
const STOP_MS_MAX = 60_000;
const WAIT_MS_MAX = 60_000;

/** The repository's root; this file runs as build/test/support/gateway.js. */
export const projectRoot = fileURLToPath(new URL('../../..', import.meta.url));

export type GatewayBuild = 'production' | 'bootstrap';

export interface ProgramSetup {
  readonly build?: GatewayBuild;
  readonly environment?: Readonly<Record<string, string>>;
  /** Working directory; the repository's root unless given. */
  readonly directory?: string;
  /** Limits every file to this many blocks, of 512 or 1,024 bytes depending on the shell: simulates a full disk. */
  readonly fileBlocksMax?: number;
}

export interface GatewaySetup extends ProgramSetup {
  /** On this machine, with a port that the system chooses, unless given. */
  readonly address?: string;
  readonly workerCount?: number;
  readonly storeOptions: StoreOptions;
  /** Option-value pairs that name keys, such as `--token-verification-public-key`; see {@link verifyWith}. */
  readonly keyOptions?: readonly string[];
  /** Left out of the command line when `undefined`: the program's default, `tls-only`. */
  readonly upstreamConnectionMode?: 'plain-text-or-tls' | undefined;
  /** Any other options. */
  readonly options?: readonly string[];
}

export type LogLine = Readonly<Record<string, unknown>>;

export interface ProgramExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** The script of a build; throws where it was not built, so that no test passes because the program is missing. */
export function programPath(build: GatewayBuild = 'production'): string {
  const path = join(projectRoot, build === 'production' ? 'dist' : 'dist-bootstrap', 'main.js');
  if (!existsSync(path)) throw new Error(`${path} is not there: run the ${build} build first`);
  return path;
}

/** The environment of a test's child process: enough to run Node, and no fixed port for the admin listener. */
export function childEnvironment(more: Readonly<Record<string, string>> = {}): Record<string, string> {
  const { PATH = '', HOME = '/' } = process.env;
  return { PATH, HOME, SWITCHYARD_ADMIN_ADDRESS: 'off', ...more };
}

/** Options that make the gateway verify tokens with a public key. */
export function verifyWith(key: { readonly publicKeyPath: string }): readonly string[] {
  return ['--token-verification-public-key', key.publicKeyPath];
}

/** Starts a gateway and waits until it listens. It is stopped when the test ends. */
export async function startGateway(t: Pick<Test, 'teardown'>, setup: GatewaySetup): Promise<Gateway> {
  return startProgram(t, ['dataplane', ...commandLine(setup)], setup);
}

/** Starts the program with exactly this command line and waits until it listens. */
export async function startProgram(
  t: Pick<Test, 'teardown'>,
  words: readonly string[],
  setup: ProgramSetup = {},
): Promise<Gateway> {
  const gateway = launchProgram(t, words, setup);
  await gateway.waitUntilListening();
  return gateway;
}

/** Starts the program without waiting. It is stopped when the test ends. */
export function launchProgram(t: Pick<Test, 'teardown'>, words: readonly string[], setup: ProgramSetup = {}): Gateway {
  const gateway = new Gateway(spawnProgram(words, setup));
  t.teardown(() => gateway.stop());
  return gateway;
}

function spawnProgram(words: readonly string[], setup: ProgramSetup): ChildProcessByStdio<null, Readable, Readable> {
  const program = [programPath(setup.build), ...words];
  const limited = ['-c', `ulimit -f ${setup.fileBlocksMax}; exec "$0" "$@"`, process.execPath, ...program];
  const isLimited = setup.fileBlocksMax !== undefined;
  const child = spawn(isLimited ? 'sh' : process.execPath, isLimited ? limited : program, {
    cwd: setup.directory ?? projectRoot,
    env: childEnvironment(setup.environment),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  killWithProcess(child);
  return child;
}

function commandLine(setup: GatewaySetup): string[] {
  const { address = '127.0.0.1:0', workerCount = 1 } = setup;
  const line = ['--address', address, '--number-of-cpus', String(workerCount)];
  line.push(...storeOptionWords(setup.storeOptions), ...(setup.keyOptions ?? []));
  // `npm test` uses this to run the gateway's tests over the other HTTP library as well.
  const { TEST_LISTENER: listener } = process.env;
  if (listener !== undefined) line.push('--listener', listener);
  if (setup.upstreamConnectionMode !== undefined) line.push('--upstream-connection-mode', setup.upstreamConnectionMode);
  return [...line, ...(setup.options ?? [])];
}

/** Store options as words of the command line. */
export function storeOptionWords(store: StoreOptions): string[] {
  if (store.kind === 'embedded') return ['--store-path', store.path];
  if (store.tls.mode !== 'plain-text') throw new Error('name the TLS files of a Redis among the other options');
  return [...locationWords(store.location), '--redis-mode', store.tls.mode];
}

function locationWords(location: RedisLocation): string[] {
  if ('port' in location) return ['--redis-address', location.host, '--redis-port', String(location.port)];
  if ('nodes' in location) return ['--redis-cluster', listOf(location.nodes)];
  return ['--redis-sentinels', listOf(location.sentinels), '--redis-sentinel-name', location.name];
}

function listOf(addresses: readonly ListenAddress[]): string {
  return addresses.map(({ host, port }) => `${host}:${port}`).join(',');
}

export class Gateway {
  readonly #child: ChildProcessByStdio<null, Readable, Readable>;
  readonly logs: LogLine[] = [];
  /** Lines of standard output that are not JSON objects; there should be none. */
  readonly strayLines: string[] = [];
  /** Everything written to standard error. */
  errorOutput = '';
  readonly exit: Promise<ProgramExit>;
  #isExited = false;
  #origin: string | undefined;
  readonly #onLine = new Set<() => void>();

  constructor(child: ChildProcessByStdio<null, Readable, Readable>) {
    this.#child = child;
    createInterface({ input: child.stdout }).on('line', (line) => this.#takeLine(line));
    child.stderr.on('data', (chunk: Buffer) => {
      this.errorOutput += chunk.toString('utf8');
    });
    this.exit = new Promise((resolve) => {
      child.once('close', (code, signal) => {
        this.#isExited = true;
        for (const wake of this.#onLine) wake();
        resolve({ code, signal });
      });
    });
  }

  /** Scheme, address and port of the plain listener. */
  get origin(): string {
    if (this.#origin === undefined) throw new Error('the gateway does not listen yet');
    return this.#origin;
  }

  get pid(): number {
    if (this.#child.pid === undefined) throw new Error('the gateway was never started');
    return this.#child.pid;
  }

  /** Path of a virtual host's MCP endpoint, percent-encoded. */
  path(virtualHostId: string): string {
    return `/gw-rs/servers/${encodeURIComponent(virtualHostId)}/mcp`;
  }

  url(virtualHostId: string): string {
    return this.origin + this.path(virtualHostId);
  }

  async waitUntilListening(): Promise<void> {
    const line = await this.waitForLog(({ msg }) => msg === 'listening', START_MS_MAX);
    if (typeof line['address'] !== 'string') throw new Error('the line "listening" carries no address');
    this.#origin = `http://${line['address']}`;
  }

  /** The first matching log line, past or future. Rejects when the program ends, or the time is up, before it is logged. */
  async waitForLog(fits: (line: LogLine) => boolean, timeoutMs = WAIT_MS_MAX): Promise<LogLine> {
    const deadline = Date.now() + timeoutMs;
    for (;;) {
      const found = this.logs.find(fits);
      if (found !== undefined) return found;
      const leftMs = deadline - Date.now();
      if (this.#isExited || leftMs <= 0) {
        const why = this.#isExited ? 'the gateway ended' : `no such log line in ${timeoutMs} ms`;
        throw new Error(`${why}; its output: ${this.#describeOutput()}`);
      }
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, leftMs);
        const wake = (): void => {
          clearTimeout(timer);
          this.#onLine.delete(wake);
          resolve();
        };
        this.#onLine.add(wake);
      });
    }
  }

  /** Process ids of the workers that run now. */
  workerPids(): number[] {
    return childPids(this.pid);
  }

  /** Closes the reading end of its standard output. */
  closeOutput(): void {
    this.#child.stdout.destroy();
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** Stops the gateway as an operator does; kills it, workers included, when that takes too long. */
  async stop(): Promise<ProgramExit> {
    if (this.#isExited) return this.exit;
    this.signal('SIGTERM');
    const timer = setTimeout(() => {
      for (const pid of [...this.workerPids(), this.pid]) tryKill(pid);
    }, STOP_MS_MAX);
    try {
      return await this.exit;
    } finally {
      clearTimeout(timer);
    }
  }

  #takeLine(line: string): void {
    const parsed = tryParseObject(line);
    if (parsed === undefined) this.strayLines.push(line);
    else this.logs.push(parsed);
    for (const wake of this.#onLine) wake();
  }

  #describeOutput(): string {
    return JSON.stringify({ logs: this.logs.slice(-20), stray: this.strayLines, errors: this.errorOutput }, null, 1);
  }
}

function tryParseObject(line: string): LogLine | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' && value !== null ? (value as LogLine) : undefined;
  } catch {
    return undefined;
  }
}

function tryKill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has exited in the meantime.
  }
}

/** The outcome of a run of the program to its end. */
export interface ProgramRun extends ProgramExit {
  readonly output: string;
  readonly errorOutput: string;
}

/** Runs the program with exactly this command line until it ends. */
export async function runProgram(words: readonly string[], setup: ProgramSetup = {}): Promise<ProgramRun> {
  const child = spawnProgram(words, setup);
  const timer = setTimeout(() => child.kill('SIGKILL'), START_MS_MAX);
  let output = '';
  let errorOutput = '';
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString('utf8')));
  child.stderr.on('data', (chunk: Buffer) => (errorOutput += chunk.toString('utf8')));
  const [code, signal] = await new Promise<[number | null, NodeJS.Signals | null]>((resolve) => {
    child.once('close', (...result) => resolve(result));
  });
  clearTimeout(timer);
  return { code, signal, output, errorOutput };
}
