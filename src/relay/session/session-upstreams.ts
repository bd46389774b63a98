// The upstream sessions of one downstream session: one with each backend of the config that was obeyed last, made on first use.
import { recordOf } from './recorded-upstreams.js';
import { eraOfVersion } from '../../protocol/protocol-versions.js';
import { limits } from '../../shared/limits.js';
import type { CompiledBackend, CompiledVirtualHost } from '../../user-config/compiled-config.js';
import { isTaskReachable } from '../../user-config/routing.js';
import type { UpstreamRecord } from '../../session-directory/session-record.js';
import type { UpstreamContext } from '../../upstream/upstream-context.js';
import { UpstreamSession } from '../../upstream/session/upstream-session.js';
import type { SessionMemory } from './session-memory.js';
import type { SessionIdentity } from './session-plan.js';

/** What a newer config has made of an upstream session that was in use. */
export interface AppliedConfig {
  readonly upstream: UpstreamSession;
  /** The backend as it was, where the session with it goes on; `undefined` where it was removed or has moved. */
  readonly before: CompiledBackend | undefined;
}

type Listener = Required<Pick<UpstreamSession, 'onOpened' | 'onDropped' | 'onProgress'>>;

export class SessionUpstreams {
  readonly #context: UpstreamContext;
  readonly #identity: SessionIdentity;
  readonly #memory: SessionMemory;
  readonly #listener: Listener;
  readonly #byBackend = new Map<string, UpstreamSession>();
  #virtualHost: CompiledVirtualHost | undefined;

  constructor(context: UpstreamContext, identity: SessionIdentity, memory: SessionMemory, listener: Listener) {
    this.#context = context;
    this.#identity = identity;
    this.#memory = memory;
    this.#listener = listener;
  }

  /** That of the config last obeyed. */
  get virtualHost(): CompiledVirtualHost | undefined {
    return this.#virtualHost;
  }

  /** With a backend of the config last obeyed; made on first use, not yet opened. Hot. */
  of(backend: CompiledBackend): UpstreamSession {
    let upstream = this.#byBackend.get(backend.name);
    if (upstream === undefined) {
      this.#memory.keep(limits.upstreamSessionBytesEach);
      const { subject, introduction, protocolVersion } = this.#identity;
      const era = eraOfVersion(protocolVersion);
      upstream = new UpstreamSession(this.#context, subject, backend, introduction, this.#memory, era);
      upstream.onOpened = this.#listener.onOpened;
      upstream.onDropped = this.#listener.onDropped;
      upstream.onProgress = this.#listener.onProgress;
      this.#byBackend.set(backend.name, upstream);
    }
    return upstream;
  }

  /** The same if it was used, whatever its state. */
  used(backendName: string): UpstreamSession | undefined {
    return this.#byBackend.get(backendName);
  }

  /** The same if it is open. */
  open(backendName: string): UpstreamSession | undefined {
    const upstream = this.#byBackend.get(backendName);
    return upstream?.state === 'open' ? upstream : undefined;
  }

  /** All that are open. */
  allOpen(): UpstreamSession[] {
    return [...this.#byBackend.values()].filter(({ state }) => state === 'open');
  }

  get isAnyOpening(): boolean {
    for (const { state } of this.#byBackend.values()) if (state === 'opening') return true;
    return false;
  }

  /** Whether some backend of the config last obeyed declares what a bit of `capability` says, as far as is known. */
  declares(bit: number): 'yes' | 'no' | 'unknown' {
    let isUnknown = false;
    for (const name of this.#virtualHost?.backends.keys() ?? []) {
      const capabilities = this.#byBackend.get(name)?.knownCapabilities;
      if (capabilities === undefined) isUnknown = true;
      else if ((capabilities & bit) !== 0) return 'yes';
    }
    return isUnknown ? 'unknown' : 'no';
  }

  /** Whether callers can name a task of the backend's, as far as is known. */
  isTaskReachable(backend: CompiledBackend, taskId: string): boolean {
    return this.#virtualHost === undefined || isTaskReachable(this.#virtualHost, backend, taskId);
  }

  /** Goes by a newer config. What it has no more, or elsewhere, is given back to be closed. */
  apply(virtualHost: CompiledVirtualHost): AppliedConfig[] {
    this.#virtualHost = virtualHost;
    return [...this.#byBackend].map(([name, upstream]) => {
      const backend = virtualHost.backends.get(name);
      const before = upstream.backend;
      if (backend !== undefined && isSamePlace(backend, before)) {
        upstream.reconfigure(backend);
        return { upstream, before };
      }
      this.#byBackend.delete(name);
      this.#memory.drop(limits.upstreamSessionBytesEach);
      return { upstream, before: undefined };
    });
  }

  /** What another process needs to go on with them. */
  recorded(): UpstreamRecord[] {
    const records: UpstreamRecord[] = [];
    for (const upstream of this.#byBackend.values()) {
      const record = recordOf(upstream);
      if (record !== undefined) records.push(record);
    }
    return records;
  }

  /** @returns all of them, to be closed; none are left. */
  release(): UpstreamSession[] {
    const upstreams = [...this.#byBackend.values()];
    this.#byBackend.clear();
    return upstreams;
  }
}

function isSamePlace(one: CompiledBackend, other: CompiledBackend): boolean {
  return (
    one.target.origin === other.target.origin &&
    one.target.path === other.target.path &&
    one.transport === other.transport &&
    one.obstacle === other.obstacle &&
    // With other credentials it would be somebody else's.
    JSON.stringify(one.auth) === JSON.stringify(other.auth)
  );
}
