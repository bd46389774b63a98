// Logs when backends fail and recover: one line per change, not one per session, since thousands of sessions may use one backend.
import { type Logger, FAILURE_LOG_INTERVAL_MS, dropOldest } from '../shared/index.js';
import type { CompiledBackend, CompiledVirtualHost } from '../user-config/index.js';
import { loggedReason, type UpstreamFault, type UpstreamFaultKind, faultReason } from '../http-client/index.js';

/** Origins whose last failure is kept. Beyond that, the oldest is forgotten. */
export const LAST_FAULTS_MAX = 1_024;

export interface LastFault {
  /** The backend's name in the config of the caller whose request failed. */
  readonly backend: string;
  readonly kind: string;
  readonly reason: string;
  readonly during: 'request' | 'opening';
  readonly at: string;
}

/** Origins that are logged as forbidden, such as an `http:` origin with `tls-only`. Beyond that, no more are logged. */
export const BACKEND_OBSTACLES_MAX = 1_024;

/** Called for each failed request, and each failed opening, for metrics. */
export type BackendFaultHandler = (backend: string, kind: UpstreamFaultKind, during: LastFault['during']) => void;

export class BackendLog {
  readonly #lastFaults = new Map<string, LastFault>();
  readonly #logger: Logger;
  /** Unavailable backends, with the reason that was logged. */
  readonly #loggedReasons = new WeakMap<CompiledBackend, string>();
  readonly #loggedOmissions = new WeakMap<CompiledBackend, string>();
  readonly #loggedConflicts = new WeakSet<CompiledVirtualHost>();
  /** The obstacles that were logged: `<reason> <origin>`. */
  readonly #loggedObstacles = new Set<string>();
  /** By backend: when a failed request was last logged, and how many have failed since. */
  readonly #failures = new WeakMap<CompiledBackend, { loggedAtMs: number; unloggedCount: number }>();
  readonly #nowMs: () => number;
  readonly #onFault: BackendFaultHandler | undefined;

  constructor(logger: Logger, nowMs: () => number = () => performance.now(), onFault?: BackendFaultHandler) {
    this.#logger = logger;
    this.#nowMs = nowMs;
    this.#onFault = onFault;
  }

  /** The last failure at the origin, whoever the caller was; for operators. */
  lastFaultOf(origin: string): LastFault | undefined {
    return this.#lastFaults.get(origin);
  }

  #noteLastFault(backend: CompiledBackend, fault: UpstreamFault, during: LastFault['during']): void {
    const { origin } = backend.target;
    this.#lastFaults.delete(origin);
    dropOldest(this.#lastFaults, LAST_FAULTS_MAX);
    const at = new Date().toISOString();
    this.#lastFaults.set(origin, { backend: backend.name, kind: fault.kind, reason: faultReason(fault), during, at });
  }

  onOpenFault(backend: CompiledBackend, fault: UpstreamFault): void {
    this.#onFault?.(backend.name, fault.kind, 'opening');
  }

  /** Logs a failed request: at most one line per backend and interval, with the number of failures not logged in the interval before. */
  onFailure(backend: CompiledBackend, fault: UpstreamFault): void {
    this.#onFault?.(backend.name, fault.kind, 'request');
    this.#noteLastFault(backend, fault, 'request');
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

  /** Logs which tools a list omits, and again only when other tools are omitted. */
  onToolsOmitted(backend: CompiledBackend, tools: readonly string[]): void {
    const text = tools.join();
    if (this.#loggedOmissions.get(backend) === text) return;
    this.#loggedOmissions.set(backend, text);
    this.#logger.warn({ ...logFieldsOf(backend), tools }, 'tools omitted from a list: their x-mcp-header is invalid');
  }

  onExtensionConflict(virtualHost: CompiledVirtualHost, extensions: readonly string[]): void {
    if (this.#loggedConflicts.has(virtualHost)) return;
    this.#loggedConflicts.add(virtualHost);
    const meaning = 'backends declare different settings of extensions: clients get those of the first backend by name';
    this.#logger.warn({ virtualHost: virtualHost.id, extensions }, meaning);
  }

  /** Logs that an origin is forbidden: once, because it stays forbidden while this process runs. */
  #logObstacle(backend: CompiledBackend, reason: string): void {
    const text = `${reason} ${backend.target.origin}`;
    if (this.#loggedObstacles.has(text) || this.#loggedObstacles.size >= BACKEND_OBSTACLES_MAX) return;
    this.#loggedObstacles.add(text);
    this.#logger.warn({ ...logFieldsOf(backend), reason }, 'backend unavailable');
  }

  onAvailable(backend: CompiledBackend): void {
    if (!this.#loggedReasons.delete(backend)) return;
    this.#logger.info(logFieldsOf(backend), 'backend available again');
  }

  onUnavailable(backend: CompiledBackend, fault: UpstreamFault): void {
    this.#noteLastFault(backend, fault, 'opening');
    const reason = loggedReason(fault);
    if (backend.obstacle !== undefined) return this.#logObstacle(backend, reason);
    if (this.#loggedReasons.get(backend) === reason) return;
    this.#loggedReasons.set(backend, reason);
    this.#logger.warn({ ...logFieldsOf(backend), reason }, 'backend unavailable');
  }
}

/** The backend's fields in the log: its origin, too, as names are not unique, but no path or query, which may contain secrets. */
function logFieldsOf({ name, target: { origin } }: CompiledBackend): Record<'backend' | 'origin', string> {
  return { backend: name, origin };
}
