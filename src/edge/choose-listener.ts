// Chooses the HTTP library of all workers, once, before any worker starts, so that there is one warning, and all workers use the same
// library.
import type { DataplaneOptions } from '../config/index.js';
import { StartFault } from '../process/index.js';
import { exitStatus } from '../shared/index.js';
import type { HttpLibrary } from './http-library.js';
import { canSharePort, nodeLibrary } from './node-server.js';
import { loadUws, loadUwsLibrary } from './uws.js';

export interface ListenerChoice {
  /** The options with the choice made: `listener` is never `auto`. */
  readonly options: DataplaneOptions;
  readonly warnings: readonly string[];
}

/** @throws {StartFault} when uWebSockets.js is requested explicitly and does not load. */
export async function chooseListener(options: DataplaneOptions): Promise<ListenerChoice> {
  const obstacle = options.listener === 'node' ? undefined : await obstacleOfUws();
  if (options.listener !== 'node' && obstacle === undefined) {
    return { options: { ...options, listener: 'uws' }, warnings: [] };
  }
  if (options.listener === 'uws') throw new StartFault(exitStatus.unavailable, obstacle!, undefined);
  const warnings = obstacle === undefined ? [] : [`listening with node:http, which is slower: ${obstacle}`];
  const workerCount = canSharePort() ? options.workerCount : 1;
  if (workerCount < options.workerCount) {
    warnings.push(
      `one worker instead of ${options.workerCount}, and no reload: Node.js ${process.versions.node} cannot share a port ` +
        'between processes with node:http, Node.js 22.12 and 24 can',
    );
  }
  return { options: { ...options, listener: 'node', workerCount }, warnings };
}

/** Loads the chosen library in a worker. */
export async function loadLibrary(listener: DataplaneOptions['listener']): Promise<HttpLibrary> {
  return listener === 'node' ? nodeLibrary : loadUwsLibrary();
}

async function obstacleOfUws(): Promise<string | undefined> {
  try {
    await loadUws();
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
