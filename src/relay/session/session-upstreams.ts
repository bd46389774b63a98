// The upstream sessions of one downstream session: one with each backend of the config applied last, made on first use.
import { limits } from '../../shared/limits.js';
import type { CompiledBackend, CompiledVirtualHost } from '../../user-config/compiled-config.js';
import { isTaskReachable } from '../../user-config/routing.js';
import type { UpstreamRecord } from '../../session-directory/session-record.js';
import type { UpstreamContext } from '../../upstream/upstream-context.js';
import { UpstreamSession } from '../../upstream/session/upstream-session.js';
import { ListNews } from './list-news.js';
import type { SessionMemory } from './session-memory.js';
import type { SessionIdentity } from './session-plan.js';
import { upstreamRecordOf } from './upstream-records.js';

/** What a newer config means for an upstream session. */
export interface AppliedConfig {
  readonly upstream: UpstreamSession;
  /** The backend as configured before, if the upstream session continues; `undefined` if the backend was removed or has moved. */
  readonly before: CompiledBackend | undefined;
}

type Listener = Required<Pick<UpstreamSession, 'onOpened' | 'onDropped' | 'onProgress'>>;

export class SessionUpstreams {
  readonly #context: UpstreamContext;
  readonly #identity: SessionIdentity;
  readonly #memory: SessionMemory;
  readonly #listener: Listener;
  readonly #byBackend = new Map<string, UpstreamSession>();
  /** What the client must be told about its lists. */
  readonly news = new ListNews();
  readonly #onOpened: NonNullable<Listener['onOpened']> = (upstream, metadata) => {
    this.news.onOpened(upstream);
    this.#listener.onOpened?.(upstream, metadata);
  };
  #virtualHost: CompiledVirtualHost | undefined;

  constructor(context: UpstreamContext, identity: SessionIdentity, memory: SessionMemory, listener: Listener) {
    this.#context = context;
    this.#identity = identity;
    this.#memory = memory;
    this.#listener = listener;
  }

  /** The virtual host by the config applied last. */
  get virtualHost(): CompiledVirtualHost | undefined {
    return this.#virtualHost;
  }

  /** The upstream session with a backend of the config applied last; made on first use, not yet opened. Hot path. */
  of(backend: CompiledBackend): UpstreamSession {
    let upstream = this.#byBackend.get(backend.name);
    if (upstream === undefined) {
      this.#memory.keep(limits.upstreamSessionBytesEach);
      const { subject, introduction, protocolVersion } = this.#identity;
      upstream = new UpstreamSession(this.#context, subject, backend, introduction, this.#memory, protocolVersion);
      upstream.onOpened = this.#onOpened;
      upstream.onDropped = this.#listener.onDropped;
      upstream.onProgress = this.#listener.onProgress;
      this.#byBackend.set(backend.name, upstream);
    }
    return upstream;
  }

  /** The upstream session with this backend if it was ever used, whatever its state. */
  used(backendName: string): UpstreamSession | undefined {
    return this.#byBackend.get(backendName);
  }

  /** The upstream session with this backend if it is open. */
  open(backendName: string): UpstreamSession | undefined {
    const upstream = this.#byBackend.get(backendName);
    return upstream?.state === 'open' ? upstream : undefined;
  }

  /** The backends of a virtual host whose apps call them by this name of a tool, or URI of a page. */
  withApp({ backends }: CompiledVirtualHost, name: string): readonly CompiledBackend[] {
    return [...backends.values()].filter(
      (backend) => this.#byBackend.get(backend.name)?.mirrors?.hasApp(name) === true,
    );
  }

  /** All open upstream sessions. */
  allOpen(): UpstreamSession[] {
    return [...this.#byBackend.values()].filter(({ state }) => state === 'open');
  }

  get isAnyOpening(): boolean {
    for (const { state } of this.#byBackend.values()) if (state === 'opening') return true;
    return false;
  }

  /** Whether any backend of the config applied last declares the capability of this bit, as far as is known. */
  declares(bit: number): 'yes' | 'no' | 'unknown' {
    let isUnknown = false;
    for (const name of this.#virtualHost?.backends.keys() ?? []) {
      const capabilities = this.#byBackend.get(name)?.knownCapabilities;
      if (capabilities === undefined) isUnknown = true;
      else if ((capabilities & bit) !== 0) return 'yes';
    }
    return isUnknown ? 'unknown' : 'no';
  }

  /** Whether a request that names the task would reach this backend; true while no config is known. */
  isTaskReachable(backend: CompiledBackend, taskId: string): boolean {
    return this.#virtualHost === undefined || isTaskReachable(this.#virtualHost, backend, taskId);
  }

  /** Applies a newer config. @returns every upstream session; those whose backend was removed or has moved are to be closed. */
  apply(virtualHost: CompiledVirtualHost): AppliedConfig[] {
    const isFirst = this.#virtualHost === undefined;
    this.#virtualHost = virtualHost;
    for (const name of virtualHost.backends.keys())
      if (!isFirst && !this.#byBackend.has(name)) this.news.onMissing(name);
    return [...this.#byBackend].map(([name, upstream]) => {
      const backend = virtualHost.backends.get(name);
      const before = upstream.backend;
      if (backend !== undefined && isSameTarget(backend, before)) {
        upstream.reconfigure(backend);
        this.news.onRules(upstream, before);
        return { upstream, before };
      }
      this.news.onGone(upstream, backend !== undefined);
      this.#byBackend.delete(name);
      this.#memory.drop(limits.upstreamSessionBytesEach);
      return { upstream, before: undefined };
    });
  }

  /** What another process needs to continue the upstream sessions. */
  recorded(): UpstreamRecord[] {
    const records: UpstreamRecord[] = [];
    for (const upstream of this.#byBackend.values()) {
      const record = upstreamRecordOf(upstream);
      if (record !== undefined) records.push(record);
    }
    return records;
  }

  /** @returns all upstream sessions, to be closed; none remain here. */
  release(): UpstreamSession[] {
    const upstreams = [...this.#byBackend.values()];
    this.#byBackend.clear();
    return upstreams;
  }
}

function isSameTarget(one: CompiledBackend, other: CompiledBackend): boolean {
  return (
    one.target.origin === other.target.origin &&
    one.target.path === other.target.path &&
    one.transport === other.transport &&
    one.obstacle === other.obstacle &&
    // With other credentials it would be somebody else's session.
    JSON.stringify(one.auth) === JSON.stringify(other.auth)
  );
}
