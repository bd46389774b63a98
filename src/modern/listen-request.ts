// One `subscriptions/listen` (M25): one stream to the caller, with a session of its own. In this session, the gateway listens to each
// backend that can send notifications, and subscribes to the resources that the caller names. The caller receives what a client with a
// session and an open GET would receive, also from a backend that becomes available later. Cold path.
//
//   opening ── every backend has answered, or the patience is over ──> acknowledged
//   opening, acknowledged ── the caller goes away, the session's stream ends, drain ──> over
import { readClientMessage, readBackendMessage } from '../mcp/index.js';
import { type Deadline, wakeScheduler } from '../fair/index.js';
import { limits } from '../shared/index.js';
import type { CompiledBackend } from '../user-config/index.js';
import type { IdSpan, UpstreamContext } from '../upstream/index.js';
import { answer, refuse, resultMessage, type Caller, type Exchange, metadataFor } from '../exchange/index.js';
import { visitAll, RequestInFlight, type SessionStream, type StreamAdapter } from '../streams/index.js';
import type { Dispatcher } from '../calls/index.js';
import { encodeEvent, readStringMember } from '../bytes/index.js';
import { type Session, UnsolicitedMessages } from '../session/index.js';
import {
  callersUri,
  filterJson,
  type ListChange,
  type ListenFilter,
  SUBSCRIPTION_ID_KEY,
  taggedNotification,
} from '../messages/index.js';
import { AnswerOnlyExchange } from './suspended-call.js';
import { RESULT_META } from './modern-results.js';

/** The most unanswered subscriptions of one `subscriptions/listen`. Then the next one follows when one is answered. */
const LISTEN_RESOURCES_AT_ONCE_MAX = 8;

type State = 'opening' | 'acknowledged' | 'over';

interface ListenRequestPlan {
  readonly context: UpstreamContext;
  readonly dispatcher: Pick<Dispatcher, 'serveRequest'>;
  readonly caller: Caller;
  readonly session: Session;
  readonly exchange: Exchange;
  /** The id of the caller's request, as JSON. */
  readonly idJson: string;
  readonly filter: ListenFilter;
  /** Reports to the stream what changes in the lease of the caller's other requests. @returns a function that ends the reports. */
  readonly watchLease: (stream: SessionStream) => () => void;
  readonly onOver: () => void;
}

export class ListenRequest extends RequestInFlight implements StreamAdapter {
  /** A modern client cancels by closing the stream (M08). */
  readonly isCancellable = false;
  readonly #plan: ListenRequestPlan;
  #state: State = 'opening';
  #unsolicited: UnsolicitedMessages | undefined;
  #endListening: (() => void) | undefined;
  #patienceDeadline: Deadline | undefined;
  readonly #pendingBackends = new Set<CompiledBackend>();
  readonly #urisLeft: string[];
  #subscribingCount = 0;
  /** Whether all subscriptions were sent, so that the acknowledgements of modern backends are awaited. */
  #areModernAwaited = false;
  readonly #acceptedUris = new Set<string>();

  constructor(plan: ListenRequestPlan) {
    super();
    this.#plan = plan;
    this.#urisLeft = [...plan.filter.uris];
  }

  /** The request's id, built on demand, so that the request's body need not be kept. */
  get id(): IdSpan {
    const bytes = Buffer.from(this.#plan.idJson);
    return { bytes, start: 0, end: bytes.length };
  }

  start(): void {
    const { context, session, exchange, caller } = this.#plan;
    session.inFlight.begin(this);
    exchange.onAbort = () => wakeScheduler.run(caller.subject, () => this.endWithSession());
    this.#patienceDeadline = context.deadlines.after(context.options.initializePatienceMs, () => this.#acknowledge());
    const unsolicited = session.startListening(this);
    if (!(unsolicited instanceof UnsolicitedMessages)) {
      this.#transition('opening', 'over');
      refuse(exchange, unsolicited);
      this.onEnded();
      return;
    }
    this.#unsolicited = unsolicited;
    unsolicited.expect(exchange.request, limits.sessionStreamMsMax);
    this.#endListening = this.#plan.watchLease(unsolicited.stream);
    const { backends } = caller.virtualHost;
    for (const backend of backends.values()) this.#pendingBackends.add(backend);
    visitAll(caller.subject, backends.values(), {
      visit: (backend) => this.#awaitBackend(backend),
      onNoRoom: (backend) => this.#onBackendReady(backend),
    });
    this.#subscribeNext();
    this.#acknowledgeIfReady();
  }

  /** Waits until the backend is listened to: nothing that it sends after the acknowledgement may be lost. */
  #awaitBackend(backend: CompiledBackend): void {
    const { session, exchange, caller } = this.#plan;
    if (!session.hasConfig(caller.virtualHost)) return this.#onBackendReady(backend);
    const metadata = metadataFor(backend, exchange.request);
    session.upstreams.of(backend).whenReady(metadata, () => this.#onBackendReady(backend));
  }

  #onBackendReady(backend: CompiledBackend): void {
    if (this.#pendingBackends.delete(backend)) this.#acknowledgeIfReady();
  }

  #subscribeNext(): void {
    while (this.#subscribingCount < LISTEN_RESOURCES_AT_ONCE_MAX && this.#state !== 'over') {
      const uri = this.#urisLeft.shift();
      if (uri === undefined) return;
      this.#subscribingCount += 1;
      this.#subscribe(uri, (isAccepted) => {
        this.#subscribingCount -= 1;
        if (isAccepted) this.#acceptedUris.add(uri);
        this.#subscribeNext();
        this.#acknowledgeIfReady();
      });
    }
  }

  /** Subscribes as a legacy client would: the dispatcher finds the backend, and checks that the caller may have the URI. */
  #subscribe(uri: string, done: (isAccepted: boolean) => void): void {
    const { context, dispatcher, caller, session, exchange } = this.#plan;
    const params = JSON.stringify({ uri });
    const id = context.ownIds.next().toString();
    const body = Buffer.from(`{"jsonrpc":"2.0","id":${id},"method":"resources/subscribe","params":${params}}`);
    const onAnswer = (_status: number, answered: Buffer | undefined): void => {
      const response = answered && readBackendMessage(answered);
      done(response?.kind === 'response' && !response.isError);
    };
    const message = readClientMessage(body);
    const silent = new AnswerOnlyExchange({ ...exchange.request, body }, onAnswer, false);
    if (typeof message === 'object' && message.kind === 'request')
      dispatcher.serveRequest(caller, session, silent, message);
    else done(false);
  }

  #acknowledgeIfReady(): void {
    if (this.#subscribingCount > 0 || this.#urisLeft.length > 0) return;
    if (!this.#areModernAwaited) this.#awaitModernBackends();
    if (this.#pendingBackends.size === 0) this.#acknowledge();
  }

  /** Waits until each modern backend has acknowledged its subscriptions. Called once all subscriptions were sent. */
  #awaitModernBackends(): void {
    this.#areModernAwaited = true;
    if (this.#acceptedUris.size === 0) return;
    const modern = this.#backends.filter((each) => this.#plan.session.upstreams.of(each).isModern);
    const asked = modern.filter((each) => !this.#pendingBackends.has(each));
    for (const backend of asked) this.#pendingBackends.add(backend);
    for (const backend of asked) this.#awaitBackend(backend);
  }

  #acknowledge(): void {
    if (!this.#transition('opening', 'acknowledged')) return;
    this.#patienceDeadline?.cancel();
    this.#patienceDeadline = undefined;
    const { filter, exchange, session, caller } = this.#plan;
    for (const name of caller.virtualHost.backends.keys())
      if (session.upstreams.findOpen(name) === undefined) session.upstreams.listChangeReporter.onMissing(name);
    const changes = filter.changes.filter((change) => this.#isReported(change));
    const refusedUris = this.#refusedUris;
    const uris = filter.uris.filter((uri) => this.#acceptedUris.has(uri) && !refusedUris.has(uri));
    const honoured = { changes, uris };
    exchange.watcher?.onOutcome('ok', '', -1);
    const acknowledgement = Buffer.from(
      `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":${filterJson(honoured)},"_meta":{"${SUBSCRIPTION_ID_KEY}":${this.#plan.idJson}}}}`,
    );
    this.#unsolicited?.open(exchange, undefined, encodeEvent(acknowledgement));
    // The stream ends at once if nothing can come on it. A backend that is not open yet may still send something.
    const mayStillOpen = (each: CompiledBackend): boolean =>
      session.upstreams.of(each).usableCapabilities === undefined;
    const isAnyMissing = this.#pendingBackends.size > 0 || this.#backends.some(mayStillOpen);
    const isAnyHonoured = honoured.changes.length > 0 || honoured.uris.length > 0 || this.#subscribingCount > 0;
    if (!isAnyMissing && !isAnyHonoured) this.endWithSession();
  }

  /** Whether any backend that is listened to reports changes of this kind. */
  #isReported({ bit, member }: ListChange): boolean {
    return this.#backends.some((backend) => {
      const upstream = this.#plan.session.upstreams.of(backend);
      return upstream.declares(bit) && this.#unsolicited?.refusedBy(upstream)?.members.has(member) !== true;
    });
  }

  get #refusedUris(): ReadonlySet<string> {
    const uris = new Set<string>();
    for (const backend of this.#backends)
      for (const uri of this.#unsolicited?.refusedBy(this.#plan.session.upstreams.of(backend))?.uris ?? [])
        uris.add(callersUri(backend.uriName, uri));
    return uris;
  }

  get #backends(): readonly CompiledBackend[] {
    return [...this.#plan.caller.virtualHost.backends.values()];
  }

  /** Passes on what the caller's filter names, tagged with the id of the caller's request. */
  adapt(bytes: Buffer): Buffer | undefined {
    const message = readBackendMessage(bytes);
    if (message?.kind !== 'notification') return undefined;
    const { method, paramsStart, paramsEnd } = message;
    const { changes, uris } = this.#plan.filter;
    if (method === 'notifications/resources/updated') {
      const uri = paramsStart === -1 ? undefined : readStringMember(bytes.subarray(paramsStart, paramsEnd), 'uri');
      // A URI counts if it begins with a subscribed one: a part of the resource may have changed.
      if (!uris.some((wanted) => uri?.startsWith(wanted))) return undefined;
    } else if (!changes.some((change) => change.method === method)) return undefined;
    return taggedNotification(bytes, message, this.#plan.idJson);
  }

  /** Called when the caller has stopped listening, or is to get the result, which is the last message. */
  onEnding(): Buffer | undefined {
    const hasBegun = this.#state === 'acknowledged';
    this.#transition(this.#state, 'over');
    const meta = JSON.stringify({ ...RESULT_META, [SUBSCRIPTION_ID_KEY]: 0 }).replace(/0}$/, `${this.#plan.idJson}}`);
    const result = resultMessage(this.id, `{"resultType":"complete","_meta":${meta}}`);
    if (hasBegun) return encodeEvent(result);
    answer(this.#plan.exchange, result);
    return undefined;
  }

  onEnded(): void {
    this.#patienceDeadline?.cancel();
    this.#endListening?.();
    this.#plan.session.finish(this);
    this.#plan.onOver();
  }

  endWithSession(): void {
    this.#plan.session.endStream();
  }

  #transition(from: State, to: State): boolean {
    if (this.#state !== from) return false;
    this.#state = to;
    return true;
  }
}
