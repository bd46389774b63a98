// What a relay knows about reaching backends: an endpoint for each URL, and a circuit for each origin, both bounded in number. Each
// upstream session looks its endpoint up once.
//
// While an origin (scheme, host and port) cannot be reached, its circuit is open: requests to it fail at once, in all sessions, and the
// gateway's own probes find out when the origin is back.
//
// No caller can abuse a circuit. Only a failure to connect opens it, which no header, path or body can cause, and only if the origin has
// answered no caller for a while. A response to any request closes it, and so does a probe, which contains no data of callers.
//
//   closed ── fault, and no response recently ──> open ── delay ──> half-open ── the probe fails ──> open
//   open, half-open ── answered, or no longer needed ──> closed
//
// Requests are sent only in `closed`. In `half-open`, the probe is in progress.
import type { Deadline, DeadlineWheel } from '../../fair/index.js';
import type { Era } from '../../mcp/index.js';
import { Backoff, dropOldest, getOrMake, limits } from '../../shared/index.js';
import type { UpstreamTarget } from '../../user-config/index.js';
import {
  plainRequest,
  type HttpUpstream,
  type UpstreamCall,
  isReachFault,
  type UpstreamFault,
} from '../../http-client/index.js';
import {
  type OpeningAdmission,
  ORIGIN_FORGOTTEN_MS,
  PROBE_DELAY_MS_MAX,
  PROBE_DELAY_MS_MIN,
  SilenceLedger,
} from './silence-ledger.js';

// Errors in backends' responses that the gateway forgives, as official clients do, and counts by origin for operators. Bytes that two
// parsers could read as different messages are not forgiven.
export const FORGIVEN = {
  heartbeat: 'an event that is no JSON-RPC message: skipped, since it cannot be the answer',
  'stray-answer':
    "an answer outside the response to its request: skipped in another request's event stream; on the backend's own stream, " +
    'it counts if its request got 202, while the client listens',
  status: 'a success status other than 200: the answer is known by its id',
  'id-as-text':
    'a number of the request, its id or progress token, as a string: ' +
    "nothing else is in flight on the request's own response; on a stream of several requests, one whose id is that string comes first",
  array:
    'an array around the answer, with other messages or alone: a batch of 2025-03-26; more than one answer is refused',
  'byte-order-mark': 'a byte order mark before JSON: readers may ignore it (RFC 8259, 8.1)',
  'not-utf-8':
    'bytes that are not UTF-8 in the text of a message of 128 KiB at most, or of a list: ' +
    'replaced by U+FFFD, as decoders do; they are never part of the structure',
  redirect:
    'another path of the same origin (307, 308): followed once, since the request was not carried out, and remembered; for GET, DELETE and notifications too',
  'list-item':
    'a member of a listed item that is not of its type (a `null` title, `true` as the schema of an argument, icons as text), ' +
    'a missing schema of arguments or name of a resource, and a schema of results that clients cannot compile (a reference to ' +
    'nowhere, a pattern of another language, `nullable` without a type, a bound of draft 4), or its id, which another ' +
    'backend may use, too: removed, or listed as what is meant: clients would refuse the items of all backends',
} as const;

export type Forgiven = keyof typeof FORGIVEN;

type State = 'closed' | 'open' | 'half-open';

/** How long an origin counts as reachable after any response, even if connecting fails; longer than most idle connections are kept. */
export const ORIGIN_ANSWERED_MS = 5_000;
/** How long a connected probe waits for a response. After that, the origin still counts as reached: perhaps only the path is silent. */
export const PROBE_ANSWER_MS_MAX = 1_000;

export interface CircuitContext {
  readonly http: HttpUpstream;
  readonly deadlines: DeadlineWheel;
  readonly connectTimeoutMs: number;
  nowMs(): number;
  /** A number from 0 up to 1, which spreads the probes of origins and workers over time. */
  random(): number;
  readonly probes: { count: number };
}

/** Probes in progress per worker. Beyond that, other origins wait. */
export const ORIGIN_PROBES_MAX = 64;

/** The path of probes. Any path will do, because a refusal is a response, too. */
const PROBE_PATH = '/';
const PROBE_HEADERS = ['accept', 'application/json'];

export class OriginCircuit {
  /** How often each deviation of the origin's backends was forgiven. */
  forgiven: Partial<Record<Forgiven, number>> | undefined;
  readonly #context: CircuitContext;
  readonly #origin: string;
  /** The state of the circuit. Changed only here. */
  state: State = 'closed';
  /** Why nothing is sent to the origin; `undefined` if it may be tried. Changed only here. */
  fault: UpstreamFault | undefined = undefined;
  #answeredAtMs = -Infinity;
  #openedAtMs = -Infinity;
  #requestRefusedAtMs = -Infinity;
  readonly #backoff = new Backoff(PROBE_DELAY_MS_MIN, PROBE_DELAY_MS_MAX);
  /** In `open`, when the next probe begins; in `half-open`, when the probe ends at the latest. */
  #deadline: Deadline | undefined;
  #probe: UpstreamCall | undefined;

  constructor(context: CircuitContext, origin: string) {
    this.#context = context;
    this.#origin = origin;
  }

  /** Called when a request has failed with `fault` unsent: probes go on only while there are such requests. */
  onRequestRefused(): void {
    this.#requestRefusedAtMs = this.#context.nowMs();
  }

  /** Called when the origin has responded in any way. Hot path. */
  onAnswer(nowMs: number): void {
    this.#answeredAtMs = nowMs;
    if (this.state !== 'closed') this.close();
  }

  /** Called when a request failed. Opens the circuit if every caller's requests would fail, too. */
  onFault(fault: UpstreamFault): void {
    if (!isReachFault(fault)) return;
    const nowMs = this.#context.nowMs();
    // An origin that has just responded may refuse one connection and serve others, perhaps because one caller has too many.
    if (nowMs - this.#answeredAtMs < ORIGIN_ANSWERED_MS) return;
    if (!this.#transition('closed', 'open')) return;
    this.fault = { ...fault, isUnsent: true };
    // The delay between probes grows until there is a response.
    if (this.#answeredAtMs > this.#openedAtMs) this.#backoff.reset();
    this.#openedAtMs = nowMs;
    this.#requestRefusedAtMs = nowMs;
    this.#probeLater();
  }

  #probeLater(): void {
    const delayMs = this.#backoff.nextDelayMsWithJitter(this.#context.random());
    this.#deadline = this.#context.deadlines.after(delayMs, () => this.#onProbeDue());
  }

  #onProbeDue(): void {
    const { http, deadlines, connectTimeoutMs, probes } = this.#context;
    if (this.#context.nowMs() - this.#requestRefusedAtMs > ORIGIN_FORGOTTEN_MS) {
      this.close();
    } else if (probes.count >= ORIGIN_PROBES_MAX) {
      this.#probeLater();
    } else if (this.#transition('open', 'half-open')) {
      probes.count += 1;
      const target = { origin: this.#origin, path: PROBE_PATH };
      this.#probe = http.dispatch(plainRequest('', target, 'GET', PROBE_HEADERS), {
        onHead: () => this.close(),
        onData: () => {},
        onEnd: () => this.close(),
        onFault: (fault) => this.#onProbeFault(fault),
      });
      // A probe that has not failed by then has connected: perhaps only its path is silent.
      this.#deadline = deadlines.after(connectTimeoutMs + PROBE_ANSWER_MS_MAX, () => this.close());
    }
  }

  close(): void {
    if (!this.#transition('open', 'closed')) this.#transition('half-open', 'closed');
  }

  #onProbeFault(fault: UpstreamFault): void {
    const isReach = isReachFault(fault);
    if (!isReach && !fault.isUnsent) {
      this.close();
    } else if (this.#transition('half-open', 'open')) {
      // If there is no free connection for the probe, nothing is known about the origin.
      if (isReach) this.fault = { ...fault, isUnsent: true };
      this.#probeLater();
    }
  }

  /** Changes the state, and cancels the timer and the probe of the previous state. */
  #transition(from: State, to: State): boolean {
    if (this.state !== from) return false;
    this.#deadline?.cancel();
    this.#deadline = undefined;
    if (from === 'half-open') {
      this.#probe?.abort();
      this.#probe = undefined;
      this.#context.probes.count -= 1;
    }
    this.state = to;
    if (to === 'closed') this.fault = undefined;
    return true;
  }
}

/** Headers of every request with a body: name, value, … */
export const CONTENT_HEADERS: readonly string[] = Object.freeze([
  ...['content-type', 'application/json'],
  ...['accept', 'application/json, text/event-stream'],
]);

/** How long a backend's refusal of an era counts, and the capabilities of a backend without sessions: it may have been upgraded since. */
export const ERA_KNOWN_MS = 600_000;

/**
 * What all sessions know about one URL of a backend: its origin's circuit, whether it answers `initialize`, and its era of MCP. Everything
 * else that a backend says in an answer concerns only that caller.
 */
export class BackendEndpoint {
  readonly circuit: OriginCircuit;
  /** `CONTENT_HEADERS` in an array of its own, because heads of requests are cached by their arrays (http-client/request-bytes.ts). */
  readonly contentHeaders = [...CONTENT_HEADERS];
  /** Whether the backend kept a session for any modern client; `undefined` until a session was opened for a modern client. */
  #keepsSessions: boolean | undefined;
  #answeredAtMs = -Infinity;
  /** The era that the backend last refused. Ignored after `ERA_KNOWN_MS`. */
  #refusedEra: Era | undefined;
  #eraRefusedAtMs = 0;
  /** The subjects whose openings got no answer since the backend's last response; `undefined` for none. */
  #silence: SilenceLedger | undefined;

  constructor(circuit: OriginCircuit) {
    this.circuit = circuit;
  }

  /** Called when the backend has begun any response. Hot path. */
  onAnswer(nowMs: number): void {
    this.#answeredAtMs = nowMs;
    this.#silence = undefined;
    this.circuit.onAnswer(nowMs);
  }

  /** Whether the backend keeps no sessions, as far as is known. Hot path. */
  get isSessionless(): boolean {
    return this.#keepsSessions === false;
  }

  /** Called when a session was opened for a modern client. A backend that keeps a session for one caller counts as keeping sessions. */
  onModernOpen(isSessionKept: boolean): void {
    this.#keepsSessions = isSessionKept || this.#keepsSessions === true;
  }

  onForgiven(what: Forgiven): void {
    const counts = (this.circuit.forgiven ??= {});
    counts[what] = (counts[what] ?? 0) + 1;
  }

  /** The era to try first: the preferred one, unless the backend has refused it. @param preferred the client's: in it, messages need no translation. */
  firstEra(preferred: Era, nowMs: number): Era {
    const isRefused = this.#refusedEra === preferred && nowMs - this.#eraRefusedAtMs < ERA_KNOWN_MS;
    return isRefused ? otherEra(preferred) : preferred;
  }

  onEraRefused(era: Era, nowMs: number): void {
    this.#refusedEra = era;
    this.#eraRefusedAtMs = nowMs;
    if (era === 'modern') this.#keepsSessions = undefined;
  }

  onEraAccepted(era: Era): void {
    if (this.#refusedEra === era) this.forgetEras();
  }

  /** Forgets which era the backend refused: it may speak that era now. */
  forgetEras(): void {
    this.#refusedEra = undefined;
  }

  /** Whether the subject may open a session now. A trial ends with any response, `onOpenFault` or `onTrialOver`. */
  admit(subject: string, nowMs: number): OpeningAdmission {
    return this.#silence?.admit(subject, nowMs) ?? 'free';
  }

  /** Called when a trial was given up before it had an outcome. */
  onTrialOver(subject: string): void {
    this.#silence?.onTrialOver(subject);
  }

  /** Called when an opening failed. @returns whether this endpoint, not the session, now decides when to try again. */
  onOpenFault(subject: string, fault: UpstreamFault, startedAtMs: number, nowMs: number): boolean {
    const isSilent = fault.kind === 'answer-timeout' && this.#answeredAtMs < startedAtMs;
    if (isSilent) {
      this.#silence ??= new SilenceLedger();
      this.#silence.onSilence(subject, nowMs);
    } else {
      this.#silence?.onTrialOver(subject);
    }
    return isSilent || this.circuit.fault !== undefined;
  }
}

export function otherEra(era: Era): Era {
  return era === 'legacy' ? 'modern' : 'legacy';
}

/** Backend URLs per worker. Beyond that, the oldest is forgotten. */
export const ENDPOINTS_MAX = 16_384;

export interface OriginView {
  readonly origin: string;
  readonly state: State;
  readonly fault: UpstreamFault | undefined;
  readonly forgiven: Readonly<Partial<Record<Forgiven, number>>> | undefined;
}

export class BackendEndpoints {
  readonly #context: CircuitContext;
  readonly #circuits = new Map<string, OriginCircuit>();
  readonly #endpoints = new Map<string, BackendEndpoint>();

  constructor(options: Omit<CircuitContext, 'random' | 'probes'> & Partial<Pick<CircuitContext, 'random'>>) {
    this.#context = { random: Math.random, probes: { count: 0 }, ...options };
  }

  of({ origin, path }: UpstreamTarget): BackendEndpoint {
    return getOrMake(this.#endpoints, origin + path, () => {
      // Sessions that use the dropped endpoint keep it. New sessions start without what it knew.
      dropOldest(this.#endpoints, ENDPOINTS_MAX);
      return new BackendEndpoint(this.#circuitOf(origin));
    });
  }

  get origins(): readonly OriginView[] {
    return Array.from(this.#circuits, ([origin, { state, fault, forgiven }]) => ({ origin, state, fault, forgiven }));
  }

  stop(): void {
    for (const circuit of this.#circuits.values()) circuit.close();
  }

  #circuitOf(origin: string): OriginCircuit {
    return getOrMake(this.#circuits, origin, () => {
      dropOldest(this.#circuits, limits.upstreamOriginsMax)?.close();
      return new OriginCircuit(this.#context, origin);
    });
  }
}
