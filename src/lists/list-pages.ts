// Reads all pages of one list of a backend, one after the other, with one deadline for all (specification 2.5, 2.6), and an earlier one for
// opening the upstream session.
import {
  type BackendMessage,
  type ListKind,
  readListAnswer,
  type PageMirrors,
  type MirroredTool,
  type ListEra,
} from '../mcp/index.js';
import { type Deadline, wakeScheduler } from '../fair/index.js';
import { limits, rpcCodes } from '../shared/index.js';
import { LIST_BYTES_INLINE_MAX } from './list-memory.js';
import type { AnswerReader, ReadAnswer, ReadFailure, ReadPage } from './answer-reader.js';
import type { ListCache, ListRead } from './list-cache.js';
import type { ListMerger } from './list-merger.js';
import type {
  UpstreamContext,
  RequestHandler,
  RpcRequest,
  UpstreamSession,
  UpstreamSessionRecord,
} from '../upstream/index.js';
import { listRefusedFault, upstreamFault, type UpstreamFault, type RequestMetadata } from '../http-client/index.js';

/**
 * Called once with the pages.
 * @param fault why there are no pages, or not all; `undefined` for a whole list.
 * @param ttlMs how long the caller may cache the pages, as stated by the backend; 0 if it states nothing. Unused if there is a fault.
 */
export type ListPagesHandler = (pages: readonly ReadPage[], fault: UpstreamFault | undefined, ttlMs: number) => void;

export class ListPages implements RequestHandler {
  readonly #context: UpstreamContext;
  readonly #merger: ListMerger;
  readonly #kind: ListKind;
  readonly #upstream: UpstreamSession;
  readonly #metadata: RequestMetadata;
  readonly #done: ListPagesHandler;
  readonly #dueAtMs: number;
  #pages: ReadPage[] = [];
  #mirrors: MirroredTool[] = [];
  /** Tool names and URIs that MCP Apps use without a prefix. */
  #appNames: string[] = [];
  /** Bytes of pages that may still stay on the event loop, where they count in no share. */
  #inlineBytesLeft: number = LIST_BYTES_INLINE_MAX;
  #request: RpcRequest | undefined;
  #answerReader: AnswerReader | undefined;
  #cursor: string | undefined;
  readonly #requestedCursors = new Set<string>();
  /** The id of the request for the current page. Each request has a new one (S32). */
  #id: Buffer = Buffer.alloc(0);
  #sentIn: UpstreamSessionRecord | undefined;
  #isSecondTry = false;
  /** How long the pages so far may be cached: the shortest time that the backend has stated. */
  #ttlMs = Infinity;
  /** The list cache, if the list may be cached. */
  readonly #cache: ListCache | undefined;
  #cacheRead: ListRead | undefined;
  /** The deadline that runs while the upstream session is being opened. */
  #openingDeadline: Deadline | undefined;
  #isOver = false;

  constructor(
    context: UpstreamContext,
    merger: ListMerger,
    kind: ListKind,
    upstream: UpstreamSession,
    metadata: RequestMetadata,
    done: ListPagesHandler,
    cache?: ListCache,
  ) {
    // Lists of tasks are not cached: no notification reports that a task has changed its state.
    this.#cache = kind.name === 'tasks' ? undefined : cache;
    this.#context = context;
    this.#merger = merger;
    this.#kind = kind;
    this.#upstream = upstream;
    this.#metadata = metadata;
    this.#done = done;
    this.#dueAtMs = context.nowMs() + context.options.listTimeoutMs;
  }

  /** Opens the upstream session if need be, and reads the first page. */
  start(): void {
    let isWaiting = true;
    this.#upstream.whenOpen(this.#metadata, (fault) => {
      isWaiting = false;
      this.#openingDeadline?.cancel();
      if (this.#isOver) return;
      if (fault !== undefined) this.#fail(fault);
      else if (this.#mayHaveList) this.#lookUpOrRead();
      // A list that the backend does not have counts as empty, and cannot become out of date.
      else this.#finish([], undefined, this.#upstream.isModern ? Infinity : 0);
    });
    if (!isWaiting) return;
    const { deadlines, options } = this.#context;
    const { isTrial } = this.#upstream;
    const patienceMs = options.initializePatienceMs * (isTrial ? 1 : limits.listPatienceFactor);
    this.#openingDeadline = deadlines.after(patienceMs, () => this.#fail(upstreamFault('not-ready')));
  }

  #lookUpOrRead(): void {
    const cache = this.#cache;
    if (cache !== undefined && this.#cacheRead === undefined) {
      const { subject, backend } = this.#upstream;
      const callerHash = this.#upstream.callerHash(this.#metadata);
      const identity = { subject, backend, kind: this.#kind.name, callerHash };
      const pages = cache.find(identity);
      if (pages !== undefined) return this.#finish(pages, undefined);
      this.#cacheRead = cache.beginRead(identity);
    }
    this.#readPage();
  }

  /** Ends the read, because the pages are not wanted any more. `done` is called, as at every end. */
  abort(): void {
    if (this.#isOver) return;
    this.#request?.abort();
    this.#answerReader?.drop();
    this.#answerReader = undefined;
    this.#fail(upstreamFault('session-ended'));
  }

  onMessage(bytes: Buffer, message: BackendMessage): void {
    this.#upstream.answerWithoutClient(bytes, message, this.#metadata);
  }

  onAnswer(bytes: Buffer): void {
    if (bytes.length <= this.#inlineBytesLeft) this.#onRead(readListAnswer(bytes, this.#id, this.#kind, this.#era));
    else this.onUnparsed([bytes], true);
  }

  get #era(): ListEra {
    const era = this.#sentIn?.era ?? 'legacy';
    return era === 'modern' && this.#upstream.era === 'legacy' ? 'bridged' : era;
  }

  onUnparsed(pieces: readonly Buffer[], isLast: boolean): void {
    const reader = (this.#answerReader ??= this.#merger.createReader(this.#upstream.subject, this.#kind, this.#era));
    if (!isLast) {
      // The request is paused, so that the event loop serves other requests in between.
      const request = this.#request;
      request?.pause();
      reader.push(pieces, () => request?.resume());
      return;
    }
    this.#answerReader = undefined;
    reader.end(pieces, this.#id, this.#inlineBytesLeft, this.#remainingMs, (answer) => this.#onRead(answer));
  }

  /** Faults are handled round robin by subject: hundreds may come at once when their backend goes away. */
  onFault(fault: UpstreamFault): void {
    wakeScheduler.run(this.#upstream.subject, () => this.#onFault(fault));
  }

  #onFault(fault: UpstreamFault): void {
    if (this.#isOver) return;
    this.#answerReader?.drop();
    this.#answerReader = undefined;
    const isLost = this.#upstream.tryRecover(fault, this.#sentIn);
    if (this.#cursor === '') return this.#endList(isLost || fault.kind === 'http-status' ? undefined : fault);
    const isRetried = !this.#isSecondTry && (isLost || this.#upstream.tryRenewCredentials(fault, this.#metadata));
    if (!isRetried) {
      this.#fail(fault);
      return;
    }
    // The read begins again: the cursors belonged to the lost session, and with other credentials the cached list would be another one.
    this.#isSecondTry = true;
    this.#cacheRead?.giveUp();
    this.#cacheRead = undefined;
    this.#dropPages();
    this.#cursor = undefined;
    this.#requestedCursors.clear();
    this.start();
  }

  get #remainingMs(): number {
    return this.#dueAtMs - this.#context.nowMs();
  }

  #onRead(answer: ReadAnswer | ReadFailure): void {
    if (this.#isOver) this.#dropAnswerPage(answer);
    else if (answer === 'overdue') this.#fail(upstreamFault('answer-timeout'));
    else if (answer === 'failed') this.#fail(upstreamFault('answer-unread'));
    else if (answer === 'subjectMax') this.#fail(upstreamFault('lists-share-used'));
    else if (answer === 'totalMax') this.#fail(upstreamFault('lists-full'));
    else if (this.#cursor === '' && answer.kind !== 'page') this.#endList();
    else if (answer.kind === 'invalid') this.#fail(upstreamFault('answer-invalid'));
    else if (answer.kind === 'error') this.#onError(answer.code);
    else if (!answer.isComplete && this.#sentIn?.era === 'modern') {
      // The answer is incomplete by its `resultType`, which means nothing in a legacy backend's response.
      this.#dropAnswerPage(answer);
      this.#fail(upstreamFault('answer-invalid'));
    } else {
      this.#ttlMs = Math.min(this.#ttlMs, this.#sentIn?.era === 'modern' ? answer.ttlMs : 0);
      if (answer.mirrors !== undefined) this.#takeMirrors(answer.mirrors);
      this.#onPage(answer, answer.nextCursor);
    }
  }

  #takeMirrors({ tools, invalid, appNames = [], isRepaired = false }: PageMirrors): void {
    if (isRepaired) this.#upstream.endpoint.onForgiven('list-item');
    // `concat`, because there may be more tools than a call takes arguments.
    this.#mirrors = this.#mirrors.concat(tools);
    this.#appNames = this.#appNames.concat(appNames);
    if (invalid.length > 0) this.#context.log.onToolsOmitted(this.#upstream.backend, invalid);
  }

  /**
   * A page without a cursor ends the list. An empty cursor is requested once, because some servers end a list with it, and others do not.
   * If it is refused, or the page behind it leads back to an earlier page, the list has ended. Any other cursor that leads back cuts the
   * list, as does the page that reaches `listPagesMax`.
   */
  #onPage(answer: Extract<ReadAnswer, { kind: 'page' }>, nextCursor: string | undefined): void {
    const isKnownCursor = nextCursor !== undefined && this.#requestedCursors.has(nextCursor);
    if (isKnownCursor && this.#cursor === '') {
      this.#dropAnswerPage(answer);
      this.#endList();
      return;
    }
    const { page } = answer;
    this.#pages.push(page);
    if (!('key' in page)) this.#inlineBytesLeft -= page.bytes.length;
    if (nextCursor === undefined) this.#endList();
    else if (isKnownCursor || this.#pages.length >= limits.listPagesMax) this.#endList(upstreamFault('list-cut'));
    else {
      this.#cursor = nextCursor;
      this.#requestedCursors.add(nextCursor);
      this.#readPage();
    }
  }

  /** Ends the list with the pages that were read. @param cut the fault because of which it may have more pages. */
  #endList(cut?: UpstreamFault): void {
    if (this.#kind.name === 'tools') this.#upstream.learnMirrors(this.#mirrors, this.#appNames);
    if (cut !== undefined) this.#upstream.reportFailure(cut);
    this.#finish(this.#pages, cut, this.#ttlMs);
  }

  /** Whether the backend may have such a list. Some servers have tools without declaring them. */
  get #mayHaveList(): boolean {
    return this.#kind.name === 'tools' || this.#isDeclared;
  }

  get #isDeclared(): boolean {
    return this.#upstream.record !== undefined && this.#upstream.declares(this.#kind.capability);
  }

  /**
   * "Method not found" for the first page counts as an empty list if the backend does not declare such lists; also for templates, which not
   * all backends with resources have.
   */
  #onError(code: unknown): void {
    const mayHaveNone = this.#pages.length === 0 && (this.#kind.name === 'templates' || !this.#isDeclared);
    const hasNone = code === rpcCodes.methodNotFound && mayHaveNone;
    if (hasNone) this.#finish([], undefined);
    else this.#fail(listRefusedFault(this.#kind.method));
  }

  #fail(fault: UpstreamFault): void {
    this.#dropPages();
    this.#finish([], fault);
  }

  /** Ends the read, and calls `done`. @param ttlMs how long the caller may keep the pages; 0 also for a list from the list cache. */
  #finish(pages: readonly ReadPage[], fault: UpstreamFault | undefined, ttlMs = 0): void {
    this.#isOver = true;
    this.#openingDeadline?.cancel();
    const read = this.#cacheRead;
    if (read === undefined) return this.#done(pages, fault, ttlMs);
    if (fault === undefined) return this.#done(this.#merger.keep(this.#upstream.subject, read, pages), fault, ttlMs);
    read.giveUp();
    this.#done(pages, fault, ttlMs);
  }

  /** Drops the page in an answer that is not used. */
  #dropAnswerPage(answer: ReadAnswer | ReadFailure): void {
    if (typeof answer === 'object' && answer.kind === 'page')
      this.#merger.dropPages(this.#upstream.subject, [answer.page]);
  }

  #dropPages(): void {
    this.#mirrors = [];
    this.#appNames = [];
    this.#merger.dropPages(this.#upstream.subject, this.#pages);
    this.#pages = [];
    this.#inlineBytesLeft = LIST_BYTES_INLINE_MAX;
  }

  #readPage(): void {
    if (this.#upstream.state === 'closed') {
      this.#fail(upstreamFault('session-ended'));
      return;
    }
    const cursor = this.#cursor === undefined ? '' : `"cursor":${JSON.stringify(this.#cursor)}`;
    this.#id = this.#context.ownIds.next();
    const message = this.#upstream.ownRequest(this.#id, this.#kind.method, cursor);
    const id = { bytes: this.#id, start: 0, end: this.#id.length };
    this.#sentIn = this.#upstream.record;
    this.#request = this.#upstream.request(message, id, this.#metadata, this.#remainingMs, false, this);
  }
}
