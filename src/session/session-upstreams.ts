// The upstream sessions of one downstream session: one with each backend of the config applied last, created on first use.
import { UPSTREAM_SESSION_BYTES_EACH, type SessionMemory } from './session-memory.js';
import { type CompiledBackend, type CompiledVirtualHost, type UpstreamTarget } from '../user-config/index.js';
import type { OwnedSession, UpstreamRecord } from './directory/session-record.js';
import {
  type ClientIntroduction,
  type UpstreamContext,
  type UpstreamOwner,
  UpstreamSession,
  type UpstreamSessionRecord,
  sessionHeaders,
} from '../upstream/index.js';
import { type Era, eraOfVersion, LIST_CHANGES, PRESUMED_CAPABILITIES } from '../mcp/index.js';
import { listChanges } from '../messages/index.js';
import type { SessionStream } from '../streams/index.js';

export interface SessionIdentity extends OwnedSession {
  readonly protocolVersion: string;
  /** The era of the requests that are served in the session. A modern session is a lease, whose id no client knows. */
  readonly era: Era;
  readonly introduction: ClientIntroduction;
}

/** Tells a backend that its session has ended: the backend is no longer in the config, and nobody continues the session. */
export function endUpstreamSession(
  { oneWayRequests, options }: UpstreamContext,
  subject: string,
  target: UpstreamTarget,
  record: Pick<UpstreamSessionRecord, 'sessionId' | 'protocolVersion' | 'cookies'>,
): void {
  if (record.sessionId === '' || (options.mode === 'tls-only' && !target.origin.startsWith('https:'))) return;
  oneWayRequests.send(subject, target, 'DELETE', sessionHeaders(record), undefined);
}

/**
 * Reports changes of the client's lists that no backend reports: a backend that was missing is there now; a backend has gone; the config
 * has other rules for a backend. Only kinds of lists that the backend declares are reported. Cold path: the lists themselves are not
 * compared.
 */
class ListChangeReporter {
  /** For each backend, the kinds of lists that the client has without the backend's items, as bits of `LIST_CHANGES`. */
  #missing: Map<string, number> | undefined;
  /** Changes to report when the client opens its stream: bits of `LIST_CHANGES`. */
  #unreported = 0;
  #stream: Pick<SessionStream, 'isHeard' | 'reportListChange'> | undefined;

  /** Called when the client has opened its stream: earlier changes are reported now, later ones as they come. */
  reportOn(stream: Pick<SessionStream, 'isHeard' | 'reportListChange'>): void {
    this.#stream = stream;
    const bits = this.#unreported;
    this.#unreported = 0;
    this.#report(bits);
  }

  /** Called when the client gets lists, or an `initialize` result, without the backend's items. @param bits the lists (`LIST_CHANGES`). */
  onMissing(backendName: string, bits: number = LIST_CHANGES): void {
    this.#missing ??= new Map();
    this.#missing.set(backendName, (this.#missing.get(backendName) ?? 0) | bits);
  }

  onOpened(upstream: UpstreamSession): void {
    const bits = this.#missing?.get(upstream.backend.name) ?? 0;
    this.#missing?.delete(upstream.backend.name);
    this.#report(bits & declaredBy(upstream));
  }

  /** Called when the backend cannot be reached at its old address. @param mayComeBack false if it is no longer in the config. */
  onGone(upstream: UpstreamSession, mayComeBack: boolean): void {
    const { name } = upstream.backend;
    const bits = declaredBy(upstream) & ~(this.#missing?.get(name) ?? 0);
    if (mayComeBack) this.onMissing(name);
    else this.#missing?.delete(name);
    this.#report(bits);
  }

  onReconfigured(upstream: UpstreamSession, before: CompiledBackend): void {
    const [old, now] = [before.listHashes, upstream.backend.listHashes];
    const bits = listChanges.reduce((all, { bit, kind }) => (old[kind] === now[kind] ? all : all | bit), 0);
    this.#report(bits & declaredBy(upstream));
  }

  #report(bits: number): void {
    if (this.#stream?.isHeard !== true) this.#unreported |= bits;
    else for (const { bit, method } of listChanges) if ((bits & bit) !== 0) this.#stream.reportListChange(method);
  }
}

function declaredBy(upstream: UpstreamSession): number {
  return listChanges.reduce((bits, { bit, listBit }) => (upstream.declares(listBit) ? bits | bit : bits), 0);
}

/** The upstream session for the record; `undefined` if it is not open, or uses HTTP+SSE: such a session ends with its stream. */
function upstreamRecordOf({ record, backend }: UpstreamSession): UpstreamRecord | undefined {
  const { name, target, transport } = backend;
  if (record === undefined || transport === 'SSE') return undefined;
  const { sessionId, cookies, protocolVersion, capabilities } = record;
  const named = record.named?.map(({ name: each, isExtension }) => ({ name: each, isExtension }));
  const { origin, path } = target;
  return { backendName: name, origin, path, sessionId, cookies, protocolVersion, capabilities, named };
}

/** The recorded session without what only `initialize` needs: instructions, and the values of extensions and experimental capabilities. */
function restored({ sessionId, cookies, protocolVersion, capabilities, named }: UpstreamRecord): UpstreamSessionRecord {
  const era = eraOfVersion(protocolVersion);
  const valueless = named?.map((each) => ({ ...each, value: '{}' }));
  return { era, sessionId, cookies, protocolVersion, capabilities, named: valueless, instructions: undefined };
}

function canContinueAt({ target, transport, obstacle }: CompiledBackend, origin: string, path: string): boolean {
  const isSameAddress = target.origin === origin && target.path === path;
  return isSameAddress && transport !== 'SSE' && obstacle === undefined;
}

export class SessionUpstreams {
  readonly #context: UpstreamContext;
  readonly #identity: SessionIdentity;
  readonly #memory: SessionMemory;
  readonly #owner: UpstreamOwner;
  readonly #byBackend = new Map<string, UpstreamSession>();
  readonly listChangeReporter = new ListChangeReporter();
  /**
   * Capabilities that may have been announced to the client, as bits: by this process, by the one that opened the session, or, in a lease,
   * by any process.
   */
  announcedCapabilities: number;
  /** The virtual host by the config applied last. Changed only by `apply`. */
  virtualHost: CompiledVirtualHost | undefined = undefined;

  constructor(context: UpstreamContext, identity: SessionIdentity, memory: SessionMemory, owner: UpstreamOwner) {
    this.#context = context;
    this.#identity = identity;
    this.#memory = memory;
    this.#owner = owner;
    this.announcedCapabilities = identity.era === 'modern' ? PRESUMED_CAPABILITIES : 0;
  }

  /** The upstream session with a backend of the config applied last; created on first use, not yet opened. Hot path. */
  of(backend: CompiledBackend): UpstreamSession {
    let upstream = this.#byBackend.get(backend.name);
    if (upstream === undefined) {
      this.#memory.keep(UPSTREAM_SESSION_BYTES_EACH);
      const { subject, introduction, protocolVersion } = this.#identity;
      upstream = new UpstreamSession(this.#context, subject, backend, introduction, this.#memory, protocolVersion);
      upstream.owner = this.#owner;
      this.#byBackend.set(backend.name, upstream);
    }
    return upstream;
  }

  findUsed(backendName: string): UpstreamSession | undefined {
    return this.#byBackend.get(backendName);
  }

  findOpen(backendName: string): UpstreamSession | undefined {
    const upstream = this.#byBackend.get(backendName);
    return upstream?.state === 'open' ? upstream : undefined;
  }

  /** The backends of which an MCP App uses this tool name, or URI of a UI resource, without a prefix. */
  backendsOfApp({ backends }: CompiledVirtualHost, name: string): readonly CompiledBackend[] {
    return [...backends.values()].filter(
      (backend) => this.#byBackend.get(backend.name)?.mirrors?.hasApp(name) === true,
    );
  }

  allOpen(): UpstreamSession[] {
    return [...this.#byBackend.values()].filter(({ state }) => state === 'open');
  }

  get isAnyOpening(): boolean {
    for (const { state } of this.#byBackend.values()) if (state === 'opening') return true;
    return false;
  }

  /**
   * Whether any backend of the config applied last declares the capability, as far as is known. Never `no` for an announced capability: if
   * no backend has it any more, the client gets an empty answer rather than an error.
   */
  declares(bit: number): 'yes' | 'no' | 'unknown' {
    let isUnknown = (this.announcedCapabilities & bit) !== 0;
    for (const name of this.virtualHost?.backends.keys() ?? []) {
      const capabilities = this.#byBackend.get(name)?.usableCapabilities;
      if (capabilities === undefined) isUnknown = true;
      else if ((capabilities & bit) !== 0) return 'yes';
    }
    return isUnknown ? 'unknown' : 'no';
  }

  /**
   * Applies a newer config.
   * @returns every upstream session, with its backend's previous config; without it if the backend was removed or has moved, so that the
   * upstream session must be closed.
   */
  apply(virtualHost: CompiledVirtualHost): { upstream: UpstreamSession; before: CompiledBackend | undefined }[] {
    const isFirst = this.virtualHost === undefined;
    this.virtualHost = virtualHost;
    for (const name of virtualHost.backends.keys())
      if (!isFirst && !this.#byBackend.has(name)) this.listChangeReporter.onMissing(name);
    return [...this.#byBackend].map(([name, upstream]) => {
      const backend = virtualHost.backends.get(name);
      const before = upstream.backend;
      if (backend !== undefined && isSameTarget(backend, before)) {
        upstream.reconfigure(backend);
        this.listChangeReporter.onReconfigured(upstream, before);
        return { upstream, before };
      }
      this.listChangeReporter.onGone(upstream, backend !== undefined);
      this.#byBackend.delete(name);
      this.#memory.drop(UPSTREAM_SESSION_BYTES_EACH);
      return { upstream, before: undefined };
    });
  }

  recorded(): UpstreamRecord[] {
    return [...this.#byBackend.values()].flatMap((upstream) => upstreamRecordOf(upstream) ?? []);
  }

  /**
   * Takes over what another process has opened since both knew `base`, without contacting backends. Where both have opened a session, the
   * recorded one is used.
   * @param base `undefined` when the session is adopted: then upstream sessions that cannot continue are ended at their old address,
   * because their backend was removed, has moved, or may not be reached any more.
   * @returns the names of the backends whose upstream sessions were ended.
   */
  takeOver(
    virtualHost: CompiledVirtualHost | undefined,
    theirs: readonly UpstreamRecord[],
    base: readonly UpstreamRecord[] | undefined,
    replace: (upstream: UpstreamSession, restore: () => void) => void,
  ): ReadonlySet<string> {
    const { subject } = this.#identity;
    const moved = new Set<string>();
    for (const record of theirs) {
      const { backendName, origin, path } = record;
      const backend = virtualHost?.backends.get(backendName);
      if (backend === undefined || !canContinueAt(backend, origin, path)) {
        moved.add(backendName);
        if (base === undefined) endUpstreamSession(this.#context, subject, { origin, path }, record);
        continue;
      }
      const upstream = this.of(backend);
      const sessionId = base?.find((known) => known.backendName === backendName)?.sessionId;
      if (sessionId === record.sessionId || upstream.record?.sessionId === record.sessionId) continue;
      // If both processes have opened a session, and the other recorded its own first, the one opened here is ended.
      if (upstream.record !== undefined && upstream.record.sessionId !== sessionId) {
        endUpstreamSession(this.#context, subject, { origin, path }, upstream.record);
      }
      replace(upstream, () => upstream.restore(restored(record)));
    }
    return moved;
  }

  /** Removes all upstream sessions. @returns them, to be closed. */
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
    // With other credentials, the upstream session would belong to another user.
    JSON.stringify(one.auth) === JSON.stringify(other.auth)
  );
}
