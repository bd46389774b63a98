// A flood of requests at full force, from a separate process, so that only the gateway limits it.
//
//   const seen = await runFlood(scope, caller, { laneCount: 1_000, forMs: 3_000 });
//   ... seen['200'] ... seen['429'] ...
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Scope } from '../attack/scope.js';
import { childEnvironment } from './gateway.js';
import { killWithProcess } from './leftovers.js';
import type { McpCaller } from './mcp-caller.js';

export interface FloodSetup {
  readonly laneCount: number;
  readonly forMs: number;
  /** Sends `tools/list` in these sessions; when there are none, opens and ends sessions instead. */
  readonly sessionIds?: readonly string[];
}

export interface FloodOrder extends Required<FloodSetup> {
  readonly origin: string;
  readonly path: string;
  readonly token: string;
}

/** Counts by status, with a distinct key for refusals that do not say when to try again; and by the error that broke a lane. */
export type FloodReport = Readonly<Record<string, number>>;

const program = fileURLToPath(new URL('./flood-process.js', import.meta.url));

/** Resolves when the time is up and each request was answered. */
export async function runFlood(scope: Scope, like: McpCaller, setup: FloodSetup): Promise<FloodReport> {
  const child = fork(program, { env: childEnvironment(), stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  killWithProcess(child);
  scope.teardown(() => child.kill('SIGKILL'));
  const { origin, path, token } = like;
  child.send({ sessionIds: [], ...setup, origin, path, token } satisfies FloodOrder);
  const [report] = (await Promise.race([
    once(child, 'message'),
    once(child, 'exit').then(([code]) => Promise.reject(new Error(`the flood's process ended: ${code}`))),
  ])) as [FloodReport];
  child.disconnect();
  return report;
}
