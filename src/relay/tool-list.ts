// `tools/list`: the tools of every backend as one sorted list (decisions 2.5). A tool is carried over as bytes, with the
// backend's prefix set into its name and nothing else touched.
import type { CompiledBackend, CompiledVirtualHost } from '../store/compiled-config.js';
import type { Exchange } from './exchange.js';
import { passthroughHeadersFor } from './passthrough.js';
import { isAllowed, isReachable } from './routing.js';
import type { Session } from './session.js';
import { unavailableMeta, type UnavailableBackend } from './unavailable.js';
import { ToolPages, type ReceivedToolPage } from './upstream/tool-pages.js';
import type { UpstreamContext } from './upstream/upstream-context.js';
import { faultReason } from './upstream/upstream-fault.js';

export interface MergedList {
  /** The `tools/list` result, as JSON. */
  readonly result: Buffer;
  /** Merged names of tools that no call could reach, because a longer backend name takes them (decisions 2.5). */
  readonly unreachable: readonly string[];
}

/** One backend's part of the list. */
export interface BackendTools {
  readonly backend: CompiledBackend;
  readonly pages: readonly ReceivedToolPage[];
}

/** Asks every backend at once; `done` is called when each has answered or failed. */
export function listTools(
  context: UpstreamContext,
  session: Session,
  virtualHost: CompiledVirtualHost,
  exchange: Exchange,
  done: (list: MergedList) => void,
): void {
  const parts: BackendTools[] = [];
  const unavailable: UnavailableBackend[] = [];
  let pendingCount = virtualHost.backends.size;
  const settle = (): void => {
    if (pendingCount === 0) done(mergeTools(virtualHost, parts, unavailable));
  };
  settle();
  for (const backend of virtualHost.backends.values()) {
    const passthrough = passthroughHeadersFor(backend, exchange.request);
    const reader = new ToolPages(context, session.upstream(backend), passthrough, (pages, fault) => {
      if (fault === undefined) parts.push({ backend, pages });
      else unavailable.push({ backend: backend.name, reason: faultReason(fault) });
      pendingCount -= 1;
      settle();
    });
    reader.start();
  }
}

interface MergedTool {
  readonly name: string;
  readonly bytes: Buffer;
  readonly start: number;
  /** Where the prefix goes: behind the opening quote of the name. */
  readonly nameAt: number;
  readonly end: number;
  readonly prefix: Buffer;
}

export function mergeTools(
  virtualHost: CompiledVirtualHost,
  parts: readonly BackendTools[],
  unavailable: readonly UnavailableBackend[],
): MergedList {
  const tools: MergedTool[] = [];
  const unreachable: string[] = [];
  for (const part of parts) collectTools(virtualHost, part, tools, unreachable);
  tools.sort((one, other) => (one.name < other.name ? -1 : one.name > other.name ? 1 : 0));
  const { _meta: meta } = unavailableMeta(unavailable);
  const tail = meta === undefined ? ']}' : `],"_meta":${JSON.stringify(meta)}}`;
  return { result: writeTools(tools, tail), unreachable };
}

function collectTools(
  virtualHost: CompiledVirtualHost,
  { backend, pages }: BackendTools,
  tools: MergedTool[],
  unreachable: string[],
): void {
  const prefix = Buffer.from(JSON.stringify(`${backend.name}-`).slice(1, -1));
  const seen = new Set<string>();
  for (const { bytes, tools: pageTools } of pages) {
    for (const { name: bareName, start, nameStart, end } of pageTools) {
      // Of two tools with one name the first counts: a call could reach only one of them anyway.
      if (!isAllowed(backend, bareName) || seen.has(bareName)) continue;
      seen.add(bareName);
      const name = `${backend.name}-${bareName}`;
      if (isReachable(virtualHost, backend, bareName)) {
        tools.push({ name, bytes, start, nameAt: nameStart + 1, end, prefix });
      } else {
        unreachable.push(name);
      }
    }
  }
}

function writeTools(tools: readonly MergedTool[], tail: string): Buffer {
  const head = '{"tools":[';
  let length = head.length + Math.max(0, tools.length - 1) + Buffer.byteLength(tail);
  for (const { start, end, prefix } of tools) length += end - start + prefix.length;
  const result = Buffer.allocUnsafe(length);
  let at = result.write(head);
  for (const [index, { bytes, start, nameAt, end, prefix }] of tools.entries()) {
    if (index > 0) result[at++] = COMMA;
    at += bytes.copy(result, at, start, nameAt);
    at += prefix.copy(result, at);
    at += bytes.copy(result, at, nameAt, end);
  }
  result.write(tail, at);
  return result;
}

const COMMA = 0x2c;
