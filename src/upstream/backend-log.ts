// Logs, once per change and backend, that a backend has become unavailable or available again: with thousands of sessions on one backend, a
// line for each session would bury everything else.
import { type Logger, FAILURE_LOG_INTERVAL_MS } from '../shared/index.js';
import type { CompiledBackend, CompiledVirtualHost } from '../user-config/index.js';
import { dropOldest } from './reach/silence-ledger.js';
import { loggedReason, type UpstreamFault, type UpstreamFaultKind, faultReason } from '../http-client/index.js';

/** Backend origins whose last failure a worker remembers. Beyond that, the oldest is forgotten. */
export const LAST_FAULTS_KEPT = 1_024;

export interface LastFault {
  /** The backend's name in the config of the caller whose request failed. */
  readonly backend: string;
  readonly kind: string;
  /** Contains no address. */
  readonly reason: string;
  readonly during: 'request' | 'opening';
  /** In ISO 8601. */
  readonly at: string;
}

/** The last failure at each origin, of any caller's request or of an opening: shown to operators. Cold path. */
export class LastFaults {
  /** By origin, oldest first. */
  readonly #faults = new Map<string, LastFault>();

  note(backend: CompiledBackend, fault: UpstreamFault, during: LastFault['during']): void {
    const { origin } = backend.target;
    this.#faults.delete(origin);
    dropOldest(this.#faults, LAST_FAULTS_KEPT);
    const { kind } = fault;
    this.#faults.set(origin, {
      ...{ backend: backend.name, kind, reason: faultReason(fault), during },
      at: new Date().toISOString(),
    });
  }

  of(origin: string): LastFault | undefined {
    return this.#faults.get(origin);
  }
}

/**
 * Backend origins of which a worker logs that it never connects to them, such as `http:` ones with `tls-only`. Beyond that, others are not
 * logged.
 */
export const BACKEND_OBSTACLES_LOGGED = 1_024;

/** For metrics: called for each failure of a request, and of each attempt to open a session. */
export type BackendFaultHandler = (backend: string, kind: UpstreamFaultKind, during: LastFault['during']) => void;

export class BackendLog {
  readonly lastFaults = new LastFaults();
  readonly #logger: Logger;
  /** Backends last reported as unavailable, with the reason that was logged. */
  readonly #reasons = new WeakMap<CompiledBackend, string>();
  /** The left-out tools that were last logged for each backend. */
  readonly #leftOut = new WeakMap<CompiledBackend, string>();
  /** Virtual hosts whose differing extensions have been logged. */
  readonly #differing = new WeakSet<CompiledVirtualHost>();
  /** What was logged of origins that can never be reached as configured: `<reason> <origin>`. */
  readonly #obstacles = new Set<string>();
  /** When a failed request to a backend was last logged, and how many have failed since then. */
  readonly #failures = new WeakMap<CompiledBackend, { loggedAtMs: number; unloggedCount: number }>();
  readonly #nowMs: () => number;
  readonly #onFault: BackendFaultHandler | undefined;

  constructor(logger: Logger, nowMs: () => number = () => performance.now(), onFault?: BackendFaultHandler) {
    this.#logger = logger;
    this.#nowMs = nowMs;
    this.#onFault = onFault;
  }

  /** An attempt to open a session has failed; not called where no attempt was made. */
  onOpenFault(backend: CompiledBackend, fault: UpstreamFault): void {
    this.#onFault?.(backend.name, fault.kind, 'opening');
  }

  /**
   * A request in an open session has failed. Logs one line per backend and interval, with the count of failures not logged since the last.
   */
  onFailure(backend: CompiledBackend, fault: UpstreamFault): void {
    this.#onFault?.(backend.name, fault.kind, 'request');
    this.lastFaults.note(backend, fault, 'request');
    const nowMs = this.#nowMs();
    const last = this.#failures.get(backend);
    if (last !== undefined && nowMs - last.loggedAtMs < FAILURE_LOG_INTERVAL_MS) {
      last.unloggedCount += 1;
      return;
    }
    this.#failures.set(backend, { loggedAtMs: nowMs, unloggedCount: 0 });
    const unlogged = last === undefined || last.unloggedCount === 0 ? {} : { notLogged: last.unloggedCount };
    this.#logger.warn(
      { ...logFieldsOf(backend), reason: loggedReason(fault), ...unlogged },
      'request to backend failed',
    );
  }

  /** Tools are left out of a list, each with the reason. Logged again only when the list of tools has changed. */
  onToolsLeftOut(backend: CompiledBackend, tools: readonly string[]): void {
    const text = tools.join();
    if (this.#leftOut.get(backend) === text) return;
    this.#leftOut.set(backend, text);
    this.#logger.warn({ ...logFieldsOf(backend), tools }, 'tools omitted from a list: their x-mcp-header is invalid');
  }

  /** Backends of a virtual host give different settings to these extensions. */
  onExtensionsDiffering(virtualHost: CompiledVirtualHost, extensions: readonly string[]): void {
    if (this.#differing.has(virtualHost)) return;
    this.#differing.add(virtualHost);
    const meaning = 'backends declare different settings of extensions: clients get those of the first backend by name';
    this.#logger.warn({ virtualHost: virtualHost.id, extensions }, meaning);
  }

  /** Logged once for all configs that name the origin: it cannot become reachable while this process runs. */
  #onObstacle(backend: CompiledBackend, reason: string): void {
    const text = `${reason} ${backend.target.origin}`;
    if (this.#obstacles.has(text) || this.#obstacles.size >= BACKEND_OBSTACLES_LOGGED) return;
    this.#obstacles.add(text);
    this.#logger.warn({ ...logFieldsOf(backend), reason }, 'backend unavailable');
  }

  onAvailable(backend: CompiledBackend): void {
    if (!this.#reasons.delete(backend)) return;
    this.#logger.info(logFieldsOf(backend), 'backend available again');
  }

  onUnavailable(backend: CompiledBackend, fault: UpstreamFault): void {
    this.lastFaults.note(backend, fault, 'opening');
    const reason = loggedReason(fault);
    if (backend.obstacle !== undefined) return this.#onObstacle(backend, reason);
    if (this.#reasons.get(backend) === reason) return;
    this.#reasons.set(backend, reason);
    this.#logger.warn({ ...logFieldsOf(backend), reason }, 'backend unavailable');
  }
}

/** With the origin, since different backends may have the same name; without path and query, which may contain secrets. */
function logFieldsOf({ name, target: { origin } }: CompiledBackend): {
  readonly backend: string;
  readonly origin: string;
} {
  return { backend: name, origin };
}
