// Finds out what a server is: connects with the SDK's client, reads its identity, its capabilities and all of its lists, and ends
// its session. One deadline covers everything, and the server is not trusted: whatever it does affects only its own probe.
import { setMaxListeners } from 'node:events';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport, SseError } from '@modelcontextprotocol/sdk/client/sse.js';
import { StreamableHTTPClientTransport, StreamableHTTPError } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { McpError } from '@modelcontextprotocol/sdk/types.js';
import type { UpstreamOptions } from '../../config/index.js';
import { Names, Http1Upstream } from '../../http-client/index.js';
import { KIB, limits, PROGRAM_VERSION } from '../../shared/index.js';
import type { AllLists } from '../records/server-lists.js';
import type { ServerTransport } from '../records/server-record.js';
import { BoundedFetch } from './bounded-fetch.js';
import { LATEST_PROTOCOL_VERSION, type Era, otherVersionIn } from '../../mcp/index.js';
import { isDeeperThan, readLists } from './item-reader.js';
import { discover, openSession, PROBED_CAPABILITIES, type ProbeClient } from './probe-client.js';
import { ProbeFault, versionFaultOf, type ProbeFaultKind, ProberClosedError } from './probe-fault.js';

// Bounds what a server says about itself: it is kept in the server's record and shown in every listing, and may be
// anything. An oversized value is cut down to what matters here; nothing fails because of it.

/**
 * Bytes of a server's capabilities, and of its `serverInfo`, which are part of every listing. Of larger ones, only the names of MCP's
 * capabilities, or name, title and version, are kept.
 */
export const SERVER_SELF_BYTES_MAX = 64 * KIB;
/** Characters that are kept of each of the name, the title and the version of a larger `serverInfo`. */
const SERVER_SELF_TEXT_CHARS_MAX = 256;

type Members = Readonly<Record<string, unknown>>;

/** Unchanged if small enough, else only its name, title and version. */
function boundedServerInfo(serverInfo: Members): Members {
  if (isWithin(serverInfo)) return serverInfo;
  const kept = ['name', 'title', 'version'].filter((name) => typeof serverInfo[name] === 'string');
  return Object.fromEntries(kept.map((name) => [name, String(serverInfo[name]).slice(0, SERVER_SELF_TEXT_CHARS_MAX)]));
}

/** Unchanged if small enough, else only MCP's own capabilities, without their contents. */
function boundedCapabilities(capabilities: Members): Members {
  if (isWithin(capabilities)) return capabilities;
  const kept = CAPABILITIES.filter((name) => Object.hasOwn(capabilities, name));
  return Object.fromEntries(kept.map((name) => [name, {}]));
}

const CAPABILITIES = ['completions', 'logging', 'prompts', 'resources', 'tasks', 'tools'];

function isWithin(members: Members): boolean {
  return Buffer.byteLength(JSON.stringify(members)) <= SERVER_SELF_BYTES_MAX;
}

/** Time for a server with sessions to answer whether it also works without them. After that, the server counts as one that does not. */
export const PROBE_ERA_MS_MAX = 2_000;

/** What a server said about itself. */
export interface ServerFindings {
  /** The era in which it was probed. */
  readonly era: Era;
  /** Every era that it speaks. */
  readonly eras: readonly Era[];
  readonly serverInfo: Readonly<Record<string, unknown>>;
  readonly capabilities: Readonly<Record<string, unknown>>;
  readonly lists: AllLists;
}

export type Probe =
  | { readonly kind: 'reached'; readonly findings: ServerFindings }
  /** The reason is for people and names no URL. */
  | { readonly kind: 'failed'; readonly reason: string };

export interface ProberOptions {
  /** For one whole probe, except the end of its session. */
  readonly deadlineMs: number;
  /** As for the MCP endpoints: a server that they would not serve must not be active. Both schemes by default. */
  readonly mode?: UpstreamOptions['mode'];
  /** Name servers for host names; the system's by default. */
  readonly nameServers?: readonly string[] | undefined;
  /** The only networks that servers may be in; all by default. */
  readonly allowedNetworks?: readonly string[] | undefined;
  /** PEM of certificate authorities to trust, besides those of Node.js. */
  readonly authorities?: string | undefined;
}

export class Prober {
  readonly #options: ProberOptions;
  readonly #names: Names;
  /** One for each probe under way. */
  readonly #endings = new Set<AbortController>();
  #isClosed = false;

  constructor(options: ProberOptions) {
    this.#options = options;
    const { nameServers, allowedNetworks } = options;
    this.#names = new Names({ nameServers, allowedNetworks });
  }

  /**
   * Rejects with a `ProberClosedError` only.
   * @param authHeaders that the server requires: name, value, …
   * @param transport that the server uses.
   */
  async probe(
    url: string,
    authHeaders: readonly string[] = [],
    transport: ServerTransport = 'STREAMABLEHTTP',
  ): Promise<Probe> {
    if (this.#isClosed) throw new ProberClosedError();
    const { deadlineMs, mode, authorities } = this.#options;
    if (mode === 'tls-only' && new URL(url).protocol !== 'https:') {
      return { kind: 'failed', reason: new ProbeFault('plain-text-refused').message };
    }
    const ending = new AbortController();
    // The client adds a listener for each request, and removes none before the end.
    setMaxListeners(0, ending.signal);
    this.#endings.add(ending);
    const deadline = setTimeout(() => ending.abort(new ProbeFault('out-of-time')), deadlineMs);
    const http = new Http1Upstream({ connectTimeoutMs: deadlineMs, names: this.#names, authorities });
    const bounded = new BoundedFetch(http, ending.signal, authHeaders);
    try {
      const findings = await this.#find(url, transport, bounded, ending.signal);
      const isDual =
        findings.era === 'legacy' && transport !== 'SSE' && (await this.#isAlsoModern(url, bounded, ending.signal));
      return { kind: 'reached', findings: isDual ? { ...findings, eras: ['legacy', 'modern'] } : findings };
    } catch (error) {
      const { aborted, reason } = ending.signal as { aborted: boolean; reason: unknown };
      const cause = bounded.fault ?? (aborted ? reason : error);
      if (cause instanceof ProberClosedError) throw cause;
      return { kind: 'failed', reason: faultOf(cause).message };
    } finally {
      clearTimeout(deadline);
      this.#endings.delete(ending);
      await http.close();
    }
  }

  /** Ends the probes under way. */
  close(): void {
    this.#isClosed = true;
    for (const ending of this.#endings) ending.abort(new ProberClosedError());
    this.#names.close();
  }

  async #find(url: string, kind: ServerTransport, bounded: BoundedFetch, signal: AbortSignal): Promise<ServerFindings> {
    const inSession = async (version?: string): Promise<ServerFindings> =>
      this.#ask(url, kind, bounded, signal, openSession, findingsOf, version);
    try {
      return await inSession().catch((error: unknown) => {
        // A server that refuses the latest version is offered the newest of those that it names, as by the MCP endpoints.
        const version = error instanceof Error ? otherVersionIn(wordsOf(error)) : undefined;
        if (version === undefined) throw error;
        bounded.forgetFault();
        return inSession(version);
      });
    } catch (error) {
      if (kind === 'SSE' || !mayBeSessionless(error)) throw error;
      bounded.forgetFault();
      const discoverOr: typeof discover = (...asked) =>
        discover(...asked).catch(() => {
          bounded.forgetFault();
          throw new NotModern(error);
        });
      return this.#ask(url, kind, bounded, signal, discoverOr, findingsOf);
    }
  }

  /** Whether a server with sessions also works without them. Any other response, or none, means no. */
  async #isAlsoModern(url: string, bounded: BoundedFetch, ending: AbortSignal): Promise<boolean> {
    // Not `AbortSignal.timeout`: inside of `any` it may be collected as garbage before its time (nodejs/node#57736).
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(), PROBE_ERA_MS_MAX);
    const signal = AbortSignal.any([ending, late.signal]);
    try {
      return await this.#ask(url, 'STREAMABLEHTTP', bounded.also(signal), signal, discover, async () => true);
    } catch {
      return false;
    } finally {
      clearTimeout(timer);
    }
  }

  /** Connects with the SDK's client, asks, and ends the session. */
  async #ask<Found>(
    url: string,
    kind: ServerTransport,
    bounded: BoundedFetch,
    signal: AbortSignal,
    open: typeof discover,
    ask: (client: ProbeClient, signal: AbortSignal) => Promise<Found>,
    version = LATEST_PROTOCOL_VERSION,
  ): Promise<Found> {
    const breaking = new AbortController();
    const fetch: typeof bounded.fetch = (to, init) => {
      // The client would send a cancellation, but there is nothing to cancel.
      if (breaking.signal.aborted && init?.method === 'POST') throw new ProbeFault('answer-invalid');
      return bounded.fetch(to, init, version);
    };
    const Transport = kind === 'SSE' ? SSEClientTransport : StreamableHTTPClientTransport;
    const transport = new Transport(new URL(url), { fetch });
    const client = new Client({ name: 'switchyard', version: PROGRAM_VERSION }, { capabilities: PROBED_CAPABILITIES });
    // The client reports the failure of an event stream only here, and would keep waiting for a response. It reports heartbeats too, and
    // skips them as it skips whatever is no message.
    client.onerror = (error) => {
      if (!isSkipped(error)) breaking.abort(error);
    };
    const either = AbortSignal.any([signal, breaking.signal]);
    setMaxListeners(0, either);
    // The probe's own deadline ends it first.
    const options = { signal: either, timeout: 2 * this.#options.deadlineMs };
    try {
      const opened = await open(client, transport, options).catch((error: unknown) => {
        throw (error instanceof McpError && versionFaultOf(error)) || error;
      });
      return await ask(opened, either);
    } catch (error) {
      if (error instanceof NotModern) throw error.cause;
      if (signal.aborted) throw error;
      throw bounded.fault ?? (breaking.signal.aborted ? breaking.signal.reason : error);
    } finally {
      client.onerror = () => {};
      await endSession(client, transport);
    }
  }
}

/** A server that refuses sessions does not work without them either: its cause is how it refused them. */
class NotModern extends Error {
  constructor(cause: unknown) {
    super('', { cause });
  }
}

function wordsOf(error: Error): string {
  return error instanceof McpError ? `${error.message} ${JSON.stringify(error.data)}` : error.message;
}

/** Faults of servers that speak no revision of MCP with sessions. */
const SESSIONLESS: ReadonlySet<ProbeFaultKind> = new Set(['version-later', 'initialize-unknown']);
/** Statuses with which servers refuse what they do not understand, whatever the body: as N11 says for backends. */
const NOT_UNDERSTOOD: ReadonlySet<number | undefined> = new Set([400, 404, 405, 406]);

function mayBeSessionless(error: unknown): boolean {
  if (error instanceof ProbeFault) return SESSIONLESS.has(error.kind);
  return error instanceof StreamableHTTPError && NOT_UNDERSTOOD.has(error.code);
}

async function findingsOf(client: ProbeClient, signal: AbortSignal): Promise<ServerFindings> {
  const lists = await readLists(client, signal);
  const { era, serverInfo, capabilities } = client;
  if (isDeeperThan([serverInfo, capabilities], limits.jsonDepthMax)) throw new ProbeFault('answer-invalid');
  return {
    era,
    eras: [era],
    serverInfo: boundedServerInfo(serverInfo),
    capabilities: boundedCapabilities(capabilities),
    lists,
  };
}

/** JSON that cannot be read, or that is no JSON-RPC message. */
function isSkipped(error: Error): boolean {
  return error instanceof SyntaxError || error.name === 'ZodError' || error.name === '$ZodError';
}

type ProbeTransport = StreamableHTTPClientTransport | SSEClientTransport;

async function endSession(client: Client, transport: ProbeTransport): Promise<void> {
  try {
    // A session of the SSE transport ends with its stream.
    if (transport instanceof StreamableHTTPClientTransport) await transport.terminateSession();
  } catch {
    // A session that cannot be ended is left to the server.
  }
  await client.close();
}

function faultOf(cause: unknown): ProbeFault {
  if (cause instanceof ProbeFault) return cause;
  if (cause instanceof McpError) return new ProbeFault('rpc-error', cause.code, { cause });
  if (cause instanceof StreamableHTTPError && (cause.code ?? 0) > 0) {
    return new ProbeFault('http-status', cause.code, { cause });
  }
  if (cause instanceof SseError && (cause.code ?? 0) >= 400) {
    return new ProbeFault('http-status', cause.code, { cause });
  }
  // The client's message would contain the URL.
  const isElsewhere = cause instanceof Error && cause.message.startsWith('Endpoint origin does not match');
  return new ProbeFault(isElsewhere ? 'endpoint-elsewhere' : 'answer-invalid', undefined, { cause });
}
