// A request for a list: asks all backends at once, and merges their answers into one list for the caller (specification 2.5).
import type { IdSpan, UpstreamContext } from '../upstream/index.js';
import { encodeEvent, keepAliveComment } from '../bytes/index.js';
import type { ListKind } from '../mcp/index.js';
import { rpcErrors, type RpcError } from '../shared/index.js';
import type { CompiledBackend, CompiledVirtualHost } from '../user-config/index.js';
import { answerFrame, errorMessage, type AnswerFrame, type Exchange, metadataFor } from '../exchange/index.js';
import { SEARCH_TOOLS } from './search-tools.js';
import { visitAll, RequestInFlight } from '../streams/index.js';
import {
  type ListMerger,
  type ThreadFailure,
  type ReadPage,
  type BackendPages,
  type MergedList,
  ListPages,
  type ListPagesHandler,
} from '../lists/index.js';
import { answerOwnError, type EraRules } from './era-rules.js';
import type { Session } from '../session/index.js';
import { listChanges } from '../messages/index.js';
import { missingBackend, type UnavailableBackend, upstreamFault, type UpstreamFault } from '../http-client/index.js';

const NOT_READY = upstreamFault('not-ready');

export interface ListPlan {
  readonly kind: ListKind;
  readonly session: Session;
  readonly virtualHost: CompiledVirtualHost;
  readonly exchange: Exchange;
  readonly work: ListInFlight;
}

export class ListInFlight extends RequestInFlight {
  readonly id: IdSpan;
  readonly isCancellable = false;
  readonly readers: ListPages[] = [];
  readonly #exchange: Exchange;
  readonly #rules: EraRules;
  /** Whether an event stream is open: then the answer must be sent as an event. Changed only here. */
  isStreaming = false;
  #isMerging = false;
  /** Whether the caller was answered that the session has ended: then no other answer follows. Changed only here. */
  isEndedWithSession = false;

  constructor(id: IdSpan, exchange: Exchange, rules: EraRules) {
    super();
    this.id = id;
    this.#exchange = exchange;
    this.#rules = rules;
    if (!rules.hasSession) exchange.onAbort = () => this.#abortReaders();
  }

  /**
   * Called when all backends have answered.
   * @param ttlMs how long the merged list may be cached; absent for the result of a search in it.
   * @returns the frame in which the result is sent.
   */
  onMerging(ttlMs?: number): AnswerFrame {
    this.#isMerging = true;
    return answerFrame(this.#exchange, this.id, this.isStreaming, this.#rules.resultExtras(ttlMs));
  }

  /** Opens a stream without event ids, because it cannot be resumed: a client that loses the list requests it again. */
  override onSlow(): void {
    const exchange = this.#exchange;
    if (this.isStreaming || this.#isMerging || exchange.request.acceptedTypes === 'json' || exchange.isAborted) return;
    this.isStreaming = true;
    exchange.openStream();
    // Some HTTP servers send the head only with the first bytes of the body.
    exchange.write(keepAliveComment);
  }

  fail(error: RpcError): void {
    if (!this.isStreaming) {
      answerOwnError(this.#exchange, this.id, error, this.#rules);
      return;
    }
    this.#exchange.watcher?.onOutcome('rpc-error', error.code, -1);
    this.#exchange.end(encodeEvent(errorMessage(this.id, error)));
  }

  override get mayEndLater(): true {
    return true;
  }

  endWithSession(): void {
    this.isEndedWithSession = true;
    this.fail(rpcErrors.listSessionEnded);
    this.#abortReaders();
  }

  /** Aborts the reads, which frees the connections: backends might never finish an answer that nobody reads. */
  #abortReaders(): void {
    for (const reader of this.readers) reader.abort();
  }
}

interface BackendLists {
  readonly parts: readonly BackendPages<ReadPage>[];
  readonly unavailable: readonly UnavailableBackend[];
  /** How long the merged list may be cached; 0 if a backend is missing. */
  readonly ttlMs: number;
}

/**
 * Reads and merges lists. @param done called once, when each backend has answered or failed and the list is merged. Two cases are not
 * merged: the caller is gone by then, or its session has ended (`unheard`); no backend declares such lists (`undeclared`).
 */
export function readAndMergeLists(
  context: UpstreamContext,
  merger: ListMerger,
  plan: ListPlan,
  done: (list: MergedList | ThreadFailure | 'unheard' | 'undeclared') => void,
): void {
  const { kind, session, virtualHost, work } = plan;
  readLists(context, merger, plan, (lists) => {
    if (typeof lists === 'string') return done(lists);
    const { parts, unavailable, ttlMs } = lists;
    const frame = work.onMerging(ttlMs);
    const searchTools = kind.name === 'tools' && virtualHost.exposure === 'search' ? SEARCH_TOOLS : undefined;
    const job = { kind, rules: virtualHost, parts, unavailable, frame, searchTools };
    merger.merge(session.identity.subject, job, done);
  });
}

/** Reads lists like `readAndMergeLists`, but does not merge them: the receiver must merge the pages, or drop them. */
export function readLists(
  context: UpstreamContext,
  merger: ListMerger,
  { kind, session, virtualHost, exchange, work }: ListPlan,
  done: (lists: BackendLists | 'unheard' | 'undeclared') => void,
): void {
  const { subject } = session.identity;
  const parts: BackendPages<ReadPage>[] = [];
  const unavailable: UnavailableBackend[] = [];
  let pendingCount = virtualHost.backends.size;
  let leastTtlMs = Infinity;
  const finishIfComplete = (): void => {
    if (pendingCount > 0) return;
    if (exchange.isAborted || session.isEnded) {
      merger.dropPages(
        subject,
        parts.flatMap(({ pages }) => pages),
      );
      done('unheard');
      return;
    }
    // If a backend is unavailable, the list is not `undeclared`: this backend may have one, and the answer says that it is unavailable.
    if (unavailable.length === 0 && kind.name !== 'tools' && session.upstreams.declares(kind.capability) === 'no') {
      done('undeclared');
      return;
    }
    const bit = listChanges.find(({ listBit }) => listBit === kind.capability)?.bit ?? 0;
    for (const { backend } of unavailable) session.upstreams.listChangeReporter.onMissing(backend, bit);
    const isAll = unavailable.length === 0 && leastTtlMs !== Infinity;
    done({ parts, unavailable, ttlMs: isAll ? leastTtlMs : 0 });
  };
  const leaveOut = (backend: CompiledBackend, fault: UpstreamFault): void => {
    unavailable.push(missingBackend(backend.name, fault));
    pendingCount -= 1;
    finishIfComplete();
  };
  finishIfComplete();
  visitAll(subject, virtualHost.backends.values(), {
    visit: (backend) => {
      if (!session.hasConfig(virtualHost)) return leaveOut(backend, NOT_READY);
      const metadata = metadataFor(backend, exchange.request);
      const upstream = session.upstreams.of(backend);
      const onPages: ListPagesHandler = (pages, fault, ttlMs) => {
        if (fault !== undefined && pages.length === 0) return leaveOut(backend, fault);
        if (fault !== undefined) unavailable.push(missingBackend(backend.name, fault));
        leastTtlMs = Math.min(leastTtlMs, ttlMs);
        parts.push({ backend, pages });
        pendingCount -= 1;
        finishIfComplete();
      };
      const reader = new ListPages(context, merger, kind, upstream, metadata, onPages, merger.cache);
      work.readers.push(reader);
      reader.start();
    },
    onNoRoom: (backend) => leaveOut(backend, NOT_READY),
  });
}
