// Another gateway instead of ours: somebody started it with the bench's backends behind it, and gives its endpoint.
import type { Target } from './targets.js';

export interface Peer {
  /** Of its MCP endpoint. */
  readonly url: URL;
  /** The same for every connection. */
  readonly token: string;
  /** Between a backend's name and a tool's. */
  readonly separator: string;
  /** `undefined`: its CPU time is not known. */
  readonly pid: number | undefined;
}

export function peerTarget({ url, separator, pid }: Peer): Target {
  return {
    name: 'gateway',
    origin: url.origin,
    hop: {
      kind: 'gateway',
      answers: 'own',
      path: () => url.pathname + url.search,
      toolName: (backend, tool) => `${backend}${separator}${tool}`,
      // Each gateway has its own way with these; none is asked for a resource.
      uri: (_, uri) => uri,
    },
    rootPid: pid,
  };
}
