// The reference server of the Model Context Protocol as a child process: an implementation of MCP independent of this
// project. It keeps its port over restarts and forgets its sessions with each; it refuses unknown ones with 400, not 404.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { createInterface } from 'node:readline';
import type { Test } from 'tap';
import { findFreePort } from './free-port.js';
import { childEnvironment } from './gateway.js';
import { killWithProcess } from './leftovers.js';

const START_TRIES_MAX = 5;
const program = fileURLToPath(import.meta.resolve('@modelcontextprotocol/server-everything/dist/index.js'));

/** @param transport the transport that it serves: `sse` is that of 2024-11-05. */
export async function startEverythingServer(
  t: Pick<Test, 'teardown'>,
  transport: 'streamableHttp' | 'sse' = 'streamableHttp',
): Promise<EverythingServer> {
  for (let tries = 1; ; tries++) {
    const server = new EverythingServer(await findFreePort(), transport);
    try {
      await server.start();
    } catch (error) {
      if (tries < START_TRIES_MAX) continue;
      throw error;
    }
    t.teardown(() => server.kill());
    return server;
  }
}

export class EverythingServer {
  readonly #port: number;
  readonly #transport: 'streamableHttp' | 'sse';
  #child: ChildProcess | undefined;

  constructor(port: number, transport: 'streamableHttp' | 'sse') {
    this.#port = port;
    this.#transport = transport;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}/${this.#transport === 'sse' ? 'sse' : 'mcp'}`;
  }

  async start(): Promise<void> {
    const child = spawn(process.execPath, [program, this.#transport], {
      env: childEnvironment({ PORT: String(this.#port) }),
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    this.#child = child;
    killWithProcess(child);
    const output: string[] = [];
    await new Promise<void>((resolve, reject) => {
      createInterface({ input: child.stderr }).on('line', (line) => {
        output.push(line);
        if (/(?:listening|running) on port/.test(line)) resolve();
      });
      child.once('error', reject);
      child.once('close', () => reject(new Error(`server-everything did not start:\n${output.join('\n')}`)));
    });
  }

  async kill(): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
  }

  async restart(): Promise<void> {
    await this.kill();
    await this.start();
  }
}
