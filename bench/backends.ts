// The backends' process as the orchestrator sees it. Without anything in front it is the `direct` yardstick.
import { fileURLToPath } from 'node:url';
import { backendNames, type BackendName } from './backend-names.js';
import type { ChildProcesses } from './child-processes.js';
import type { Target } from './targets.js';
import type { AnswerStyle } from './tool.js';

export interface Backends {
  readonly pid: number;
  /** A port for each, so that they are different servers to a gateway. */
  readonly ports: Readonly<Record<BackendName, number>>;
}

export async function startBackends(children: ChildProcesses): Promise<Backends> {
  const child = await children.start({
    name: 'backends',
    core: 'load',
    command: process.execPath,
    words: [fileURLToPath(new URL('backend.js', import.meta.url))],
    hasChannel: true,
  });
  const [alpha, beta] = await new Promise<number[]>((resolve) => child.once('message', resolve));
  if (alpha === undefined || beta === undefined) throw new Error('the backends did not tell their ports');
  return { pid: child.pid, ports: { alpha, beta } };
}

/** The same on every backend's port: the path says which one is meant. */
export function backendPath(backend: BackendName, style: AnswerStyle): string {
  return `/${backend}/${style}`;
}

export function directTarget({ ports }: Backends): Target {
  return {
    name: 'direct',
    origin: `http://127.0.0.1:${ports[backendNames[0]]}`,
    hop: { kind: 'plain', path: (style, backend) => backendPath(backend, style) },
    rootPid: undefined,
  };
}
