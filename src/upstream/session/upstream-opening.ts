// Opens a session with a backend: its states, who waits for it, and when to try again. `upstream-session.ts` is about the open session;
// `reach/backend-endpoints.ts` is about what all sessions know of the backend. A base class, so that each of the many sessions is one
// object.
//
//   idle, unavailable ── asked for, and no delay left ──> opening ── handshake done ──> open ── lost by the backend ──> idle
//   opening ── handshake failed ──> unavailable
//   idle, unavailable ── opened by another process ──> open
//   idle, opening, open, unavailable ── close ──> closed
import type { CompiledBackend, UpstreamTarget } from '../../user-config/index.js';
import { eraOfVersion, type Era } from '../../mcp/index.js';
import { Backoff } from '../../shared/index.js';
import { wakeScheduler, type Deadline } from '../../fair/index.js';
import type { ClientIntroduction } from './client-introduction.js';
import type { Credentials } from '../../credentials/index.js';
import { Discovery } from './modern-handshake.js';
import { type Handshake, type HandshakePlan, type HandshakeResult, Initialization } from './handshake.js';
import { type BackendEndpoint, ERA_KNOWN_MS, otherEra } from '../reach/backend-endpoints.js';
import {
  keepsCookies,
  type RequestMetadata,
  isUnauthorized,
  movedTarget,
  upstreamFault,
  type UpstreamFault,
  type UpstreamFaultKind,
} from '../../http-client/index.js';
import type { Redirection } from '../rpc/request-plan.js';
import type { UpstreamDependencies } from '../upstream-context.js';

/** The first delay before an unavailable backend is tried again. It doubles with each failure. */
export const UPSTREAM_RETRY_DELAY_MS_MIN = 100;
/** The longest delay before another try; short, so that a backend that is back is found soon. */
export const UPSTREAM_RETRY_DELAY_MS_MAX = 5_000;
/** Time that the first call waits for a backend's own stream; many servers lose requests that they send before the stream is open. */
export const BACKEND_STREAM_PATIENCE_MS = 500;

type State = 'idle' | 'opening' | 'open' | 'unavailable' | 'closed';

/** Called once: with `undefined` when the session is open, or with the fault when it cannot be opened now. */
type OpenWaiter = (fault: UpstreamFault | undefined) => void;

const ERA_FAULTS: ReadonlySet<UpstreamFaultKind> = new Set([
  'discover-refused',
  'version-later',
  'version-unsupported',
]);

const NO_ANSWER_FAULT = upstreamFault('answer-timeout', true);
const NO_HEADERS: readonly string[] = [];

export abstract class UpstreamOpening implements Redirection {
  readonly subject: string;
  readonly context: UpstreamDependencies;
  protected readonly introduction: ClientIntroduction;
  readonly #protocolVersion: string;
  readonly endpoint: BackendEndpoint;
  protected readonly credentials: Credentials | undefined;
  movedTo: UpstreamTarget | undefined = undefined;
  backend: CompiledBackend;
  /** The state. Changed only here. */
  state: State = 'idle';
  #openWaiters: { readonly metadata: RequestMetadata; readonly waiter: OpenWaiter }[] = [];
  /** Requests that wait until the backend's own stream is open, if it is being opened. */
  protected delayedRequests: (() => void)[] | undefined = undefined;
  #delayDeadline: Deadline | undefined;
  #handshake: Handshake | undefined;
  #openedAtMs = 0;
  /** When to ask a backend without sessions for its capabilities again; `Infinity` for other backends. */
  protected rediscoverAtMs = Infinity;
  /** Whether this opening was repeated with renewed credentials. */
  #isRetried = false;
  #isTrial = false;
  #isObstacleLogged = false;
  #lastFault: UpstreamFault | undefined;
  #backoff: Backoff | undefined;
  #retryAtMs = 0;

  constructor(
    context: UpstreamDependencies,
    subject: string,
    backend: CompiledBackend,
    introduction: ClientIntroduction,
    protocolVersion: string,
  ) {
    this.context = context;
    this.subject = subject;
    this.backend = backend;
    this.endpoint = context.endpoints.of(backend.target);
    this.credentials = context.credentialsOf(backend, subject);
    this.introduction = introduction;
    this.#protocolVersion = protocolVersion;
  }

  get era(): Era {
    return eraOfVersion(this.#protocolVersion);
  }

  /** Where requests go: the backend may have redirected them. */
  protected get target(): UpstreamTarget {
    return this.movedTo ?? this.backend.target;
  }

  /** Follows a redirect from now on. @returns false if requests of this session must not be sent there. */
  tryFollowRedirect(status: number, location: string): boolean {
    const moved = movedTarget(status, location, this.target, this.credentials !== undefined, this.backend.target);
    if (moved === undefined) return false;
    this.movedTo = moved;
    this.endpoint.onForgiven('redirect');
    return true;
  }

  /** Why the session is unavailable; `undefined` in other states. */
  get fault(): UpstreamFault | undefined {
    return this.state === 'unavailable' ? this.#lastFault : undefined;
  }

  /** Whether the session is being opened although the backend did not answer other subjects: no request should wait long for it. */
  get isTrial(): boolean {
    return this.#isTrial && this.state === 'opening';
  }

  /** Whether any number of processes may open the session: the backend keeps no sessions, or cannot be used. Hot path. */
  get isSessionless(): boolean {
    return this.endpoint.isSessionless || this.backend.obstacle !== undefined;
  }

  get url(): string {
    const { origin, path } = this.backend.target;
    return origin + path;
  }

  /** The headers by which the backend can tell callers apart. */
  callerHeaders(metadata: RequestMetadata): readonly string[] {
    return this.credentials?.addTo(NO_HEADERS, metadata) ?? metadata.headers;
  }

  /** Applies a newer config of the backend at the same address. The session continues. */
  reconfigure(backend: CompiledBackend): void {
    this.backend = backend;
  }

  /** Opens the session unless it is open. @param waiter called with the outcome, synchronously if it is known already. */
  whenOpen(metadata: RequestMetadata, waiter: OpenWaiter): void {
    const refreshed = this.credentials?.refresh(metadata);
    if (refreshed instanceof Promise)
      void refreshed.then((fault) => wakeScheduler.run(this.subject, () => this.#openWith(fault, metadata, waiter)));
    else this.#openWith(refreshed, metadata, waiter);
  }

  #openWith(credentialFault: UpstreamFault | undefined, metadata: RequestMetadata, waiter: OpenWaiter): void {
    const fault = this.#openingFault(credentialFault);
    if (fault !== undefined) waiter(fault);
    else if (this.state === 'open') {
      if (this.rediscoverAtMs !== Infinity) this.#rediscover(metadata);
      waiter(undefined);
    } else {
      this.#openWaiters.push({ metadata, waiter });
      if (this.state !== 'opening') this.#open(metadata);
    }
  }

  /** Like `whenOpen`, but waits a short time for the backend's own stream if it is being opened. Hot path. */
  whenReady(metadata: RequestMetadata, waiter: OpenWaiter): void {
    if (this.state === 'open' && this.delayedRequests === undefined) this.whenOpen(metadata, waiter);
    else {
      this.whenOpen(metadata, (fault) => {
        if (fault !== undefined || this.delayedRequests === undefined) return waiter(fault);
        this.delayedRequests.push(() => wakeScheduler.run(this.subject, () => this.whenOpen(metadata, waiter)));
      });
    }
  }

  /** Delays callers of `whenReady` until `releaseRequests`, but not for long. */
  delayRequests(): void {
    if (this.delayedRequests !== undefined) return;
    this.delayedRequests = [];
    this.#delayDeadline = this.context.deadlines.after(BACKEND_STREAM_PATIENCE_MS, () => this.releaseRequests());
  }

  releaseRequests(): void {
    const delayed = this.delayedRequests ?? [];
    this.delayedRequests = undefined;
    this.#delayDeadline?.cancel();
    for (const resumeRequest of delayed) resumeRequest();
  }

  /** Why the session cannot be used or opened now. @returns `undefined` if it is open or being opened, or the caller may open it. */
  #openingFault(credentialFault: UpstreamFault | undefined): UpstreamFault | undefined {
    if (this.backend.obstacle !== undefined) return this.#reportObstacle(upstreamFault(this.backend.obstacle, true));
    if (this.state === 'closed') return upstreamFault('session-ended', true);
    if (credentialFault !== undefined) return this.#reportUnavailable(credentialFault);
    const { circuit } = this.endpoint;
    if (circuit.fault !== undefined) {
      circuit.onRequestRefused();
      return this.#reportUnavailable(circuit.fault);
    }
    if (this.state === 'open' || this.state === 'opening') return undefined;
    const nowMs = this.context.nowMs();
    if (this.state === 'unavailable' && nowMs < this.#retryAtMs) return this.#lastFault;
    const admission = this.endpoint.admit(this.subject, nowMs);
    this.#isTrial = admission === 'trial';
    return admission === 'refused' ? this.#reportUnavailable(NO_ANSWER_FAULT) : undefined;
  }

  /** Reports, once per session, that the backend cannot be reached as configured. */
  #reportObstacle(fault: UpstreamFault): UpstreamFault {
    if (!this.#isObstacleLogged) {
      this.#isObstacleLogged = true;
      this.context.log.onOpenFault(this.backend, fault);
      this.context.log.onUnavailable(this.backend, fault);
    }
    return fault;
  }

  #reportUnavailable(fault: UpstreamFault): UpstreamFault {
    if (this.state !== 'open') this.context.log.onUnavailable(this.backend, fault);
    return fault;
  }

  #open(metadata: RequestMetadata): void {
    if (!this.#transition('idle', 'opening')) this.#transition('unavailable', 'opening');
    this.#openedAtMs = this.context.nowMs();
    this.#isRetried = false;
    this.movedTo = undefined;
    this.#startHandshake(metadata);
  }

  /** Tries the client's era (N11), then the other era if the backend does not speak the first. Both tries share one deadline. */
  #startHandshake(
    metadata: RequestMetadata,
    plan = this.openingPlan(metadata),
    era = plan.isSse ? 'legacy' : this.endpoint.firstEra(this.era, this.context.nowMs()),
    firstFault?: UpstreamFault,
  ): void {
    const { endpoint } = this;
    const Opening = era === 'legacy' ? Initialization : Discovery;
    this.#handshake = new Opening(this.context, plan, {
      onOpen: (result) => {
        endpoint.onEraAccepted(era);
        this.#onOpen(result, metadata);
      },
      onFault: (fault, isOtherEra) => {
        if (isOtherEra) endpoint.onEraRefused(era, this.context.nowMs());
        if (isOtherEra && firstFault === undefined) return this.#startHandshake(metadata, plan, otherEra(era), fault);
        const isNeither = firstFault !== undefined && (isOtherEra || ERA_FAULTS.has(fault.kind));
        // If the backend speaks neither era, the first fault is reported, and the next opening tries both again.
        if (isNeither) endpoint.forgetEras();
        const reported = isNeither ? firstFault : fault;
        if (!this.#tryOpenAgain(reported, metadata)) this.#onOpenFault(reported);
      },
    });
  }

  protected openingPlan(metadata: RequestMetadata): HandshakePlan {
    return {
      subject: this.subject,
      target: this.backend.target,
      redirection: this,
      endpoint: this.endpoint,
      introduction: this.introduction,
      headers: this.callerHeaders(metadata),
      credentials: this.credentials,
      keepsCookies: keepsCookies(this.backend),
      isSse: this.backend.transport === 'SSE',
      protocolVersion: this.#protocolVersion,
      dueAtMs: this.context.nowMs() + this.context.options.initializeTimeoutMs,
    };
  }

  /** Asks a backend without sessions for its capabilities again (M16). Until it responds, the known ones stay in use. */
  #rediscover(metadata: RequestMetadata): void {
    const nowMs = this.context.nowMs();
    if (nowMs < this.rediscoverAtMs) return;
    this.rediscoverAtMs = nowMs + ERA_KNOWN_MS;
    this.#handshake = new Discovery(this.context, this.openingPlan(metadata), {
      onOpen: (result) => {
        if (this.state === 'open' && this.rediscoverAtMs !== Infinity) this.onRediscovered(result);
      },
      onFault: () => undefined,
    });
  }

  /** Repeats the opening if the backend rejected the credentials and new ones may be available. */
  #tryOpenAgain(fault: UpstreamFault, metadata: RequestMetadata): boolean {
    if (this.#isRetried || !this.tryRenewCredentials(fault, metadata)) return false;
    this.#isRetried = true;
    const continueOpening = (credentialFault: UpstreamFault | undefined): void => {
      if (this.state !== 'opening') return;
      if (credentialFault === undefined) this.#startHandshake(metadata);
      else this.#onOpenFault(credentialFault);
    };
    void Promise.resolve(this.credentials?.refresh(metadata)).then(continueOpening);
    return true;
  }

  /** Renews credentials that the backend rejected. @returns whether it did: it then executed nothing, and another try is worthwhile. */
  tryRenewCredentials(fault: UpstreamFault, metadata: RequestMetadata): boolean {
    return isUnauthorized(fault) && this.credentials?.onRejected(metadata) === true;
  }

  #onOpen(result: HandshakeResult, metadata: RequestMetadata): void {
    if (!this.#transition('opening', 'open')) {
      result.stream?.close();
      return;
    }
    this.#handshake = undefined;
    this.noteEra(result.record.era);
    if (this.era === 'modern')
      this.endpoint.onModernOpen(result.record.sessionId !== '' || result.stream !== undefined);
    this.#backoff?.reset();
    this.context.log.onAvailable(this.backend);
    this.onHandshake(result, metadata);
    this.callWaiters(undefined);
  }

  protected noteEra(era: Era): void {
    this.rediscoverAtMs = era === 'modern' ? this.context.nowMs() + ERA_KNOWN_MS : Infinity;
  }

  protected abstract onHandshake(result: HandshakeResult, metadata: RequestMetadata): void;

  protected abstract onRediscovered(result: HandshakeResult): void;

  #onOpenFault(fault: UpstreamFault): void {
    if (!this.#transition('opening', 'unavailable')) return;
    this.#handshake = undefined;
    this.#lastFault = fault;
    const nowMs = this.context.nowMs();
    if (this.endpoint.onOpenFault(this.subject, fault, this.#openedAtMs, nowMs)) {
      this.#retryAtMs = nowMs;
    } else {
      this.#backoff ??= new Backoff(UPSTREAM_RETRY_DELAY_MS_MIN, UPSTREAM_RETRY_DELAY_MS_MAX);
      this.#retryAtMs = nowMs + this.#backoff.nextDelayMs();
    }
    this.context.log.onOpenFault(this.backend, fault);
    this.context.log.onUnavailable(this.backend, fault);
    this.callWaiters(fault);
  }

  /** Calls the waiters round robin by subject, because thousands of calls may be waiting. */
  protected callWaiters(fault: UpstreamFault | undefined): void {
    const waiting = this.#openWaiters;
    this.#openWaiters = [];
    for (const { metadata, waiter } of waiting) {
      wakeScheduler.run(this.subject, () => {
        // The session may have been lost or closed since it was opened.
        if (fault === undefined && this.state !== 'open') this.whenOpen(metadata, waiter);
        else waiter(fault);
      });
    }
  }

  /** Adopts a session that another process opened, unless it is being opened here. */
  protected tryAdopt(): boolean {
    return this.#transition('idle', 'open') || this.#transition('unavailable', 'open');
  }

  protected tryLose(): boolean {
    return this.#transition('open', 'idle');
  }

  protected tryClose(): boolean {
    if (this.state === 'closed') return false;
    if (this.isTrial) this.endpoint.onTrialOver(this.subject);
    this.#transition(this.state, 'closed');
    this.#handshake?.abort();
    return true;
  }

  #transition(from: State, to: State): boolean {
    if (this.state !== from) return false;
    this.state = to;
    return true;
  }
}
