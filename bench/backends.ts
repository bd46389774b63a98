// The backends' processes as the orchestrator sees them. With nothing in front, they are the `direct` yardstick.
import { fileURLToPath } from 'node:url';
import { calledBackendNames, listedBackendNames, type BackendName } from './backend-names.js';
import type { ChildProcesses } from './child-processes.js';
import { COLLECTOR_PATH } from './credentials.js';
import type { Target } from './targets.js';
import { backendPath } from './virtual-hosts.js';

export interface Backends {
  readonly pids: readonly number[];
  /** A port for each, so that the gateway takes them for different servers. */
  readonly ports: ReadonlyMap<BackendName, number>;
}

/** @param firstPort of the called backends, which then have consecutive ports; 0: any free ones. */
export async function startBackends(children: ChildProcesses, firstPort = 0): Promise<Backends> {
  const called = await startProcess(children, 'backends', calledBackendNames, firstPort);
  const listed = await startProcess(children, 'listed-backends', listedBackendNames, 0);
  return { pids: [called.pid, listed.pid], ports: new Map([...called.ports, ...listed.ports]) };
}

async function startProcess(
  children: ChildProcesses,
  name: string,
  backends: readonly BackendName[],
  firstPort: number,
): Promise<{ pid: number; ports: [BackendName, number][] }> {
  const words = backends.map((_, index) => String(firstPort === 0 ? 0 : firstPort + index));
  const child = await children.start({
    name,
    core: 'load',
    command: process.execPath,
    words: [fileURLToPath(new URL('backend.js', import.meta.url)), ...words],
    hasChannel: true,
  });
  const ports = await new Promise<number[]>((resolve) => child.once('message', resolve));
  return { pid: child.pid, ports: backends.map((backend, index) => [backend, ports[index] ?? 0]) };
}

export function backendUrl({ ports }: Backends, ...[virtualHost, backend]: Parameters<typeof backendPath>): string {
  return `http://127.0.0.1:${ports.get(backend)}${backendPath(virtualHost, backend)}`;
}

/** Where spans go. Not a port that calls go to, so that no backend's connections are shared with it. */
export function collectorUrl({ ports }: Backends): string {
  return `http://127.0.0.1:${ports.get(listedBackendNames[0])}${COLLECTOR_PATH}`;
}

/** Every called backend answers for all of them: the path says which one is meant. */
export function directTarget({ ports }: Backends): Target {
  return {
    name: 'direct',
    origin: `http://127.0.0.1:${ports.get(calledBackendNames[0])}`,
    hop: { kind: 'plain', path: backendPath },
    rootPid: undefined,
  };
}
