// What the backends of one session say unasked, on streams of theirs that are open for as long as the client's own is: one
// with each backend that has something to say. Cold.
import { capability } from '../protocol/capabilities.js';
import type { BackendMessage } from '../protocol/json-rpc.js';
import type { Deadline } from '../shared/deadline-wheel.js';
import { limits } from '../shared/limits.js';
import { clientsNotification } from './backend-notifications.js';
import { backendTurns } from './backend-turns.js';
import type { Exchange } from './exchange.js';
import { passthroughHeadersFor } from './passthrough.js';
import type { Session } from './session.js';
import { SessionStream } from './session-stream.js';
import { BackendStream } from './upstream/backend-stream.js';
import type { UpstreamContext } from './upstream/upstream-context.js';
import type { UpstreamSession } from './upstream/upstream-session.js';

const CHANGES: ReadonlySet<string> = new Set([
  'notifications/tools/list_changed',
  'notifications/prompts/list_changed',
  'notifications/resources/list_changed',
]);

const SPEAKING =
  capability.logging |
  capability.toolsListChanged |
  capability.promptsListChanged |
  capability.resourcesListChanged |
  capability.resourcesSubscribe |
  capability.tasks;

export class Unasked {
  readonly stream: SessionStream;
  readonly #context: UpstreamContext;
  readonly #session: Session;
  readonly #streams = new Map<UpstreamSession, BackendStream>();
  /** After the client went away: it may come back. */
  #lingering: Deadline | undefined;
  #isOver = false;

  constructor(context: UpstreamContext, session: Session) {
    this.#context = context;
    this.#session = session;
    this.stream = new SessionStream(session.account, context.deadlines, () => this.#onClosed());
  }

  /** The client's GET. */
  open(exchange: Exchange): void {
    if (exchange.isAborted) return;
    this.#lingering?.cancel();
    this.stream.open(exchange);
    const { virtualHost, identity } = this.#session;
    if (virtualHost === undefined || !this.stream.isOpen) return;
    backendTurns.visitAll(identity.subject, virtualHost.backends, {
      visit: (backend) => {
        const upstream = this.#session.openUpstream(backend.name);
        if (upstream !== undefined) this.onOpened(upstream, passthroughHeadersFor(backend, exchange.request));
      },
      onNoRoom: () => undefined,
    });
  }

  /** An upstream session is open. */
  onOpened(upstream: UpstreamSession, passthrough: readonly string[]): void {
    if (this.#isOver || !this.stream.isOpen) return;
    // One that was refused may be let in by the credentials of the new GET.
    if (this.#streams.get(upstream)?.isOver === false) return;
    if (!upstream.declares(SPEAKING) && !this.#session.backendRequests.offersAnything) return;
    const { record } = upstream;
    const stream = new BackendStream({
      deadlines: this.#context.deadlines,
      ask: (lastEventId, handler) => upstream.listen(lastEventId, passthrough, handler),
      onMessage: (bytes, message) => this.#onMessage(upstream, passthrough, bytes, message),
      // Without an id of a session there is none to lose: the backend has no such stream.
      onSessionLost: () => {
        if (record?.sessionId !== '') upstream.lose(record);
      },
    });
    this.#streams.set(upstream, stream);
  }

  /** An upstream session is lost or closed. */
  onDropped(upstream: UpstreamSession): void {
    this.#streams.get(upstream)?.close();
    this.#streams.delete(upstream);
  }

  /** With the session. */
  end(): void {
    this.#isOver = true;
    this.#lingering?.cancel();
    this.#closeAll();
    this.stream.end();
  }

  #onClosed(): void {
    this.#lingering ??= this.#context.deadlines.after(limits.backendStreamsLingerMs, () => {
      if (!this.stream.isOpen) this.#closeAll();
    });
    this.#lingering.restart();
  }

  #closeAll(): void {
    for (const stream of this.#streams.values()) stream.close();
    this.#streams.clear();
  }

  #onMessage(upstream: UpstreamSession, passthrough: readonly string[], bytes: Buffer, message: BackendMessage): void {
    const { backendRequests } = this.#session;
    if (message.kind === 'request') backendRequests.ask(this.stream, upstream, passthrough, bytes, message);
    else if (message.method === 'notifications/cancelled') backendRequests.withdraw(upstream, bytes, message);
    else if (CHANGES.has(message.method)) this.stream.tellChanged(message.method, bytes);
    else {
      const parts = clientsNotification(upstream.backend, this.#session.taskForm(upstream), bytes, message);
      if (parts !== undefined) this.stream.tell(parts);
    }
  }
}
