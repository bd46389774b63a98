// The virtual hosts of every user of a bench: which backends they have, how these answer, how many tools they list and what
// else they offer.
import { calledBackendNames, listedBackendNames, type BackendName } from './backend-names.js';
import type { AnswerStyle } from './tool.js';

export const virtualHostNames = [
  'calls',
  'event-streams',
  'lists',
  'long-lists',
  'resources',
  'changes',
  'modern',
  'promises',
  'headers',
  'tokens',
  'kept-lists',
] as const;

export type VirtualHostName = (typeof virtualHostNames)[number];

export interface BenchVirtualHost {
  readonly id: string;
  readonly backends: readonly BackendName[];
  readonly style: AnswerStyle;
  readonly toolsPerBackend: number;
  /**
   * What the backends declare beside tools: resources; that their list of tools changes, which they announce on a GET stream (`changes`),
   * or declare without offering one (`promises`). Or what they require: a header (`headers`), or an access token (`tokens`). `modern`
   * ones speak only MCP 2026-07-28.
   */
  readonly offer: 'none' | 'resources' | 'changes' | 'modern' | 'promises' | 'headers' | 'tokens';
}

export const virtualHosts: Readonly<Record<VirtualHostName, BenchVirtualHost>> = {
  calls: {
    id: '5f0e1b8a4c6d4f7f9a3b2c1d0e9f8a7b',
    backends: calledBackendNames,
    style: 'json',
    toolsPerBackend: 1,
    offer: 'none',
  },
  'event-streams': {
    id: 'c2a7d9e46b1f4a0d8e5c3f7a9b6d1e20',
    backends: calledBackendNames,
    style: 'event-stream',
    toolsPerBackend: 1,
    offer: 'none',
  },
  lists: {
    id: '0b7d4c1e92a84f35b6c8d0e1f2a39475',
    backends: calledBackendNames,
    style: 'json',
    toolsPerBackend: 250,
    offer: 'none',
  },
  'long-lists': {
    id: '9e3f5a7c1d2b4e608f9a0b1c2d3e4f56',
    backends: listedBackendNames,
    style: 'json',
    toolsPerBackend: 1_000,
    offer: 'none',
  },
  resources: {
    id: '3d8c6e0a5b7f4912a4c0e6d8b1f37a52',
    backends: calledBackendNames,
    style: 'json',
    toolsPerBackend: 1,
    offer: 'resources',
  },
  changes: {
    id: '71b4f09e2c8d4a35b6e1d7c3a9f05e84',
    // Only one, because each session costs a connection to each backend.
    backends: ['alpha'],
    style: 'json',
    toolsPerBackend: 1,
    offer: 'changes',
  },
  modern: {
    id: 'e8a15b6c0d3f4c729b1e4a6d8f0c2b95',
    backends: calledBackendNames,
    style: 'json',
    toolsPerBackend: 1,
    offer: 'modern',
  },
  promises: {
    id: '4b9d2f7e6a1c4805b3d7e9f1a5c08d62',
    backends: ['alpha'],
    style: 'json',
    toolsPerBackend: 1,
    offer: 'promises',
  },
  headers: {
    id: 'a6e0c4d82b9f4175863d0a7e5c1f9b24',
    backends: calledBackendNames,
    style: 'json',
    toolsPerBackend: 1,
    offer: 'headers',
  },
  tokens: {
    id: '2f8b7d1a5e0c4936bd4a6f9c3e7180d5',
    backends: calledBackendNames,
    style: 'json',
    toolsPerBackend: 1,
    offer: 'tokens',
  },
  'kept-lists': {
    id: 'd51c9e7f3a084b62a1f7c05e8b9d4263',
    backends: calledBackendNames,
    style: 'json',
    toolsPerBackend: 100,
    offer: 'none',
  },
};

/** The path of a virtual host's backend on the backend's own port: it contains all that the backend must know. */
export function backendPath(virtualHost: VirtualHostName, backend: BackendName): string {
  const { style, toolsPerBackend, offer } = virtualHosts[virtualHost];
  return `/${backend}/${style}/${toolsPerBackend}/${offer}`;
}
