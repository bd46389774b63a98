// Finds out what a server is: opens a session as for a client, reads its identity, capabilities and lists, and ends the
// session. One deadline covers everything. The server is not trusted: nothing that it sends affects other probes.
import type { UpstreamOptions } from '../../config/index.js';
import { Credentials } from '../../credentials/index.js';
import { DeadlineWheel } from '../../fair/index.js';
import {
  Names,
  type NamesOptions,
  Http1Upstream,
  type HttpUpstream,
  NO_METADATA,
  OneWayRequests,
  type UpstreamCall,
  upstreamFault,
  type UpstreamHandler,
  type UpstreamRequest,
} from '../../http-client/index.js';
import type { Era } from '../../mcp/index.js';
import { KIB, limits } from '../../shared/index.js';
import {
  BackendEndpoints,
  type ClientIntroduction,
  OwnRequestIds,
  type UpstreamDependencies,
} from '../../upstream/index.js';
import type { ServerTransport, AllLists } from '../records/server-record.js';
import { readLists } from './item-reader.js';
import { ProbeFault, ProberClosedError } from './probe-fault.js';
import { BARE_INTRODUCTION, INTRODUCTION, probedBackend, ProbedSession } from './probed-session.js';

/** The most bytes of a server's capabilities, and of its `serverInfo`. Of a larger object, only the essential members are kept. */
export const SERVER_SELF_BYTES_MAX = 64 * KIB;
/** The most characters that are kept of the name, title and version in a larger `serverInfo`. */
const SERVER_SELF_TEXT_CHARS_MAX = 256;

type Members = Readonly<Record<string, unknown>>;

function boundedServerInfo(serverInfo: Members): Members {
  if (isWithinBytesMax(serverInfo)) return serverInfo;
  const kept = ['name', 'title', 'version'].filter((name) => typeof serverInfo[name] === 'string');
  return Object.fromEntries(kept.map((name) => [name, String(serverInfo[name]).slice(0, SERVER_SELF_TEXT_CHARS_MAX)]));
}

function boundedCapabilities(capabilities: Members): Members {
  if (isWithinBytesMax(capabilities)) return capabilities;
  const kept = KNOWN_CAPABILITIES.filter((name) => Object.hasOwn(capabilities, name));
  return Object.fromEntries(kept.map((name) => [name, {}]));
}

const KNOWN_CAPABILITIES = ['completions', 'logging', 'prompts', 'resources', 'tasks', 'tools'];

function isWithinBytesMax(members: Members): boolean {
  return Buffer.byteLength(JSON.stringify(members)) <= SERVER_SELF_BYTES_MAX;
}

/** The most JSON values in all responses to one probe, by `countValues`: parsing costs more per value than per byte. */
export const PROBE_VALUES_MAX = 524_288;

/** Bounds the bytes and JSON values of all responses to one probe together. */
class BoundedHttp implements HttpUpstream {
  readonly #http: HttpUpstream;
  #bytesLeft: number = limits.probeBytesMax;
  #valuesLeft: number = PROBE_VALUES_MAX;

  constructor(http: HttpUpstream) {
    this.#http = http;
  }

  get isExceeded(): boolean {
    return this.#bytesLeft < 0 || this.#valuesLeft < 0;
  }

  dispatch(request: UpstreamRequest, handler: UpstreamHandler): UpstreamCall {
    const call = this.#http.dispatch(request, {
      onHead: (...head) => handler.onHead(...head),
      onData: (piece) => {
        this.#bytesLeft -= piece.length;
        this.#valuesLeft -= countValues(piece);
        if (!this.isExceeded) return handler.onData(piece);
        call.abort();
        handler.onFault(upstreamFault('answer-too-large'));
      },
      onEnd: () => handler.onEnd(),
      onFault: (fault) => handler.onFault(fault),
    });
    return call;
  }

  async close(): Promise<void> {
    await this.#http.close();
  }
}

/** An upper bound of the number of JSON values: each value but the first follows a comma or an opening bracket. */
function countValues(bytes: Buffer): number {
  let count = 0;
  for (const byte of bytes) if (byte === COMMA || byte === BRACE || byte === BRACKET) count += 1;
  return count;
}

const COMMA = 0x2c;
const BRACE = 0x7b;
const BRACKET = 0x5b;

/** Time for a server with sessions to say whether it also works without them. */
export const PROBE_ERA_MS_MAX = 2_000;

export interface ServerFindings {
  /** The era of the probe's session. */
  readonly era: Era;
  readonly eras: readonly Era[];
  readonly serverInfo: Readonly<Record<string, unknown>>;
  readonly capabilities: Readonly<Record<string, unknown>>;
  readonly lists: AllLists;
}

export type ProbeResult =
  | { readonly kind: 'reached'; readonly findings: ServerFindings }
  /** The reason is for people, and contains no URL. */
  | { readonly kind: 'failed'; readonly reason: string };

export interface ProberOptions {
  /** Time for everything except ending the session. */
  readonly timeoutMs: number;
  /** The mode in which the MCP endpoints reach servers: a server that they cannot reach must not be active. */
  readonly mode?: UpstreamOptions['mode'];
  readonly names?: NamesOptions;
  /** PEM of certificate authorities to trust besides those of Node.js. */
  readonly authorities?: string | undefined;
  readonly deadlines?: DeadlineWheel;
}

const doNothing = (): void => undefined;
/** Logs nothing: the registry logs failed probes. */
const NO_LOG = { onAvailable: doNothing, onUnavailable: doNothing, onOpenFault: doNothing, onFailure: doNothing };

export class Prober {
  readonly #options: ProberOptions;
  readonly #names: Names;
  readonly #deadlines: DeadlineWheel;
  readonly #aborts = new Set<(cause: Error) => void>();
  #isClosed = false;

  constructor(options: ProberOptions) {
    this.#options = options;
    const { names, deadlines = new DeadlineWheel() } = options;
    this.#names = new Names(names);
    this.#deadlines = deadlines;
  }

  /**
   * Probes a server. Rejects only with a `ProberClosedError`.
   * @param authHeaders headers: name, value, …
   */
  async probe(
    url: string,
    authHeaders: readonly string[] = [],
    transport: ServerTransport = 'STREAMABLEHTTP',
  ): Promise<ProbeResult> {
    if (this.#isClosed) throw new ProberClosedError();
    const { timeoutMs, mode = 'plain-text-or-tls', authorities } = this.#options;
    const http = new BoundedHttp(new Http1Upstream({ connectTimeoutMs: timeoutMs, names: this.#names, authorities }));
    const dependencies = this.#dependenciesOf(http, authHeaders);
    let session: ProbedSession | undefined;
    let cause: Error | undefined;
    // A probe whose time is over succeeds nevertheless if only `isAlsoModern` was still running.
    const endEarly = (because: Error): void => {
      cause ??= because;
      session?.close(NO_METADATA);
    };
    const open = async (introduction: ClientIntroduction): Promise<ProbedSession> => {
      session?.close(NO_METADATA);
      session = new ProbedSession(dependencies, probedBackend(url, transport, authHeaders, mode), introduction);
      await session.open();
      return session;
    };
    this.#aborts.add(endEarly);
    const deadline = this.#deadlines.after(timeoutMs, () => endEarly(new ProbeFault('answer-timeout')));
    try {
      const opened = await open(INTRODUCTION).catch(async (error: unknown) => {
        if (cause !== undefined || !(error instanceof ProbeFault && error.isUnreadRequest)) throw error;
        return open(BARE_INTRODUCTION);
      });
      const findings = await findingsOf(opened);
      if (cause instanceof ProberClosedError) throw cause;
      return { kind: 'reached', findings };
    } catch (error) {
      const fault = cause ?? (http.isExceeded ? new ProbeFault('answer-too-large') : error);
      if (fault instanceof ProberClosedError) throw fault;
      const { message: reason } = fault instanceof ProbeFault ? fault : new ProbeFault('answer-invalid');
      return { kind: 'failed', reason };
    } finally {
      deadline.cancel();
      this.#aborts.delete(endEarly);
      session?.close(NO_METADATA);
      await dependencies.oneWayRequests.whenSettled(limits.oneWayRequestMsMax);
      dependencies.endpoints.stop();
      await http.close();
    }
  }

  /** Ends the probes in progress. */
  close(): void {
    this.#isClosed = true;
    for (const end of this.#aborts) end(new ProberClosedError());
    this.#names.close();
  }

  /** What an upstream session needs. Only the deadline wheel is shared, so that probes do not affect each other. */
  #dependenciesOf(http: BoundedHttp, authHeaders: readonly string[]): UpstreamDependencies {
    const deadlines = this.#deadlines;
    const { timeoutMs } = this.#options;
    const nowMs = (): number => deadlines.nowMs();
    const oneWayRequests = new OneWayRequests(http, deadlines);
    // These timeouts are never reached, because the probe's own deadline comes first.
    const options = { initializeTimeoutMs: 2 * timeoutMs, callIdleTimeoutMs: 2 * timeoutMs };
    return {
      ...{ http, streams: http, deadlines, options, oneWayRequests, replies: oneWayRequests, nowMs, log: NO_LOG },
      ownIds: new OwnRequestIds(),
      endpoints: new BackendEndpoints({ http, deadlines, connectTimeoutMs: timeoutMs, nowMs }),
      answerMemory: undefined,
      credentialsOf: () => Credentials.ofHeaders(authHeaders),
    };
  }
}

async function findingsOf(session: ProbedSession): Promise<ServerFindings> {
  const lists = await readLists(session);
  const { serverInfo, capabilities, isModern } = session;
  const era = isModern ? 'modern' : 'legacy';
  const isDual = !isModern && session.backend.transport !== 'SSE' && (await session.isAlsoModern(PROBE_ERA_MS_MAX));
  return {
    era,
    eras: isDual ? ['legacy', 'modern'] : [era],
    serverInfo: boundedServerInfo(serverInfo),
    capabilities: boundedCapabilities(capabilities),
    lists,
  };
}
