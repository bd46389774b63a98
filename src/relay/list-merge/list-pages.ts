// All pages of one of a backend's lists, one after the other, under one deadline for the whole (decisions 2.5, 2.6). Of that
// time only a part may go by before the upstream session is open.
import type { BackendMessage } from '../../protocol/json-rpc.js';
import type { ListKind } from '../../protocol/list-kinds.js';
import { readListAnswer } from '../../protocol/list-page.js';
import type { PageMirrors, ToolMirrors } from '../../protocol/tool-mirrors.js';
import type { Deadline } from '../../shared/deadline-wheel.js';
import { wokenTurns } from '../../shared/fair-turns.js';
import { limits } from '../../shared/limits.js';
import { rpcCodes } from '../../shared/refusals.js';
import type { AnswerReading, ReadAnswer, ReadFailure, ReadPage } from './answer-reading.js';
import type { ListCache, ListRead } from './list-cache.js';
import type { ListMerger } from './list-merger.js';
import type { UpstreamContext } from '../../upstream/upstream-context.js';
import { listRefusedFault, upstreamFault, type UpstreamFault } from '../../upstream/http/upstream-fault.js';
import type { RequestHandler, RpcRequest } from '../../upstream/rpc/rpc-request.js';
import type { UpstreamSession } from '../../upstream/session/upstream-session.js';
import type { UpstreamSessionRecord } from '../../upstream/session/upstream-session-record.js';
import type { RequestMetadata } from '../../upstream/http/request-metadata.js';

/**
 * Called once.
 * @param ttlMs how long the caller may keep them: what their backend says, 0 where it says nothing, or is legacy.
 */
export type ListPagesReader = (pages: readonly ReadPage[], fault: UpstreamFault | undefined, ttlMs: number) => void;

export class ListPages implements RequestHandler {
  readonly #context: UpstreamContext;
  readonly #merger: ListMerger;
  readonly #kind: ListKind;
  readonly #upstream: UpstreamSession;
  readonly #metadata: RequestMetadata;
  readonly #done: ListPagesReader;
  readonly #dueMs: number;
  #pages: ReadPage[] = [];
  /** Of the tools on them. */
  #mirrors: ToolMirrors[] = [];
  /** What of them may still stay on the event loop: there they count in no share. */
  #inlineBytesLeft: number = limits.listBytesInlineMax;
  #request: RpcRequest | undefined;
  #reading: AnswerReading | undefined;
  #cursor: string | undefined;
  /** Of the page that is asked for: each has its own (S32), since a server may still be at work on another list. */
  #id: Buffer = Buffer.alloc(0);
  #sentIn: UpstreamSessionRecord | undefined;
  #isSecondTry = false;
  /** The least of the pages so far. */
  #ttlMs = Infinity;
  /** Where it may come from memory, and may go there. */
  readonly #cache: ListCache | undefined;
  #kept: ListRead | undefined;
  /** Runs while the upstream session is being opened. */
  #patience: Deadline | undefined;
  #isOver = false;

  constructor(
    context: UpstreamContext,
    merger: ListMerger,
    kind: ListKind,
    upstream: UpstreamSession,
    metadata: RequestMetadata,
    done: ListPagesReader,
    cache?: ListCache,
  ) {
    // The state of a task is not what changes of lists are told of.
    this.#cache = kind.name === 'tasks' ? undefined : cache;
    this.#context = context;
    this.#merger = merger;
    this.#kind = kind;
    this.#upstream = upstream;
    this.#metadata = metadata;
    this.#done = done;
    this.#dueMs = context.nowMs() + context.options.listTimeoutMs;
  }

  /** Opens the upstream session if need be, and reads the first page. */
  start(): void {
    let isWaiting = true;
    this.#upstream.whenOpen(this.#metadata, (fault) => {
      isWaiting = false;
      this.#patience?.cancel();
      if (this.#isOver) return;
      if (fault !== undefined) this.#fail(fault);
      else if (this.#isAsked) this.#begin();
      // Of what is not there nothing can be too old.
      else this.#finish([], undefined, this.#upstream.isModern ? Infinity : 0);
    });
    if (!isWaiting) return;
    const { deadlines, options } = this.#context;
    const { isTrial } = this.#upstream;
    const patienceMs = options.initializePatienceMs * (isTrial ? 1 : limits.listPatienceTimes);
    this.#patience = deadlines.after(patienceMs, () => this.#fail(upstreamFault('not-ready')));
  }

  #begin(): void {
    const cache = this.#cache;
    if (cache !== undefined && this.#kept === undefined) {
      const { subject, backend } = this.#upstream;
      const identity = { subject, backend, kind: this.#kind.name, shown: this.#upstream.shown(this.#metadata) };
      const pages = cache.find(identity);
      if (pages !== undefined) return this.#finish(pages, undefined);
      this.#kept = cache.begin(identity);
    }
    this.#readPage();
  }

  /** Nobody wants the pages any more. The reader is told, as of every end. */
  abort(): void {
    if (this.#isOver) return;
    this.#request?.abort();
    this.#reading?.drop();
    this.#reading = undefined;
    this.#fail(upstreamFault('session-ended'));
  }

  onMessage(bytes: Buffer, message: BackendMessage): void {
    this.#upstream.answer(bytes, message, this.#metadata);
  }

  onAnswer(bytes: Buffer): void {
    if (bytes.length <= this.#inlineBytesLeft)
      this.#onRead(readListAnswer(bytes, this.#id, this.#kind, this.#sentIn?.era === 'modern'));
    else this.onUnread([bytes], true);
  }

  onUnread(pieces: readonly Buffer[], isLast: boolean): void {
    const reading = (this.#reading ??= this.#merger.startReading(
      this.#upstream.subject,
      this.#kind,
      this.#sentIn?.era === 'modern',
    ));
    if (!isLast) {
      // So the event loop reads a part of each list in turn, and serves others in between.
      const request = this.#request;
      request?.pause();
      reading.push(pieces, () => request?.resume());
      return;
    }
    this.#reading = undefined;
    reading.end(pieces, this.#id, this.#inlineBytesLeft, this.#remainingMs, (answer) => this.#onRead(answer));
  }

  /** Hundreds may fail at once, as when their backend goes away. */
  onFault(fault: UpstreamFault): void {
    wokenTurns.run(this.#upstream.subject, () => this.#onFault(fault));
  }

  #onFault(fault: UpstreamFault): void {
    if (this.#isOver) return;
    this.#reading?.drop();
    this.#reading = undefined;
    const isLost = this.#upstream.tryMarkLost(fault, this.#sentIn);
    const isRetried = !this.#isSecondTry && (isLost || this.#upstream.tryRenewCredentials(fault, this.#metadata));
    if (!isRetried) {
      this.#fail(fault);
      return;
    }
    // From the first page again: cursors were the lost session's. What is shown now may be something else.
    this.#isSecondTry = true;
    this.#kept?.giveUp();
    this.#kept = undefined;
    this.#dropPages();
    this.#cursor = undefined;
    this.start();
  }

  get #remainingMs(): number {
    return this.#dueMs - this.#context.nowMs();
  }

  #onRead(answer: ReadAnswer | ReadFailure): void {
    if (this.#isOver) this.#dropRead(answer);
    else if (answer === 'overdue') this.#fail(upstreamFault('answer-timeout'));
    else if (answer === 'failed') this.#fail(upstreamFault('answer-unread'));
    else if (answer === 'subjectMax') this.#fail(upstreamFault('lists-share-used'));
    else if (answer === 'totalMax') this.#fail(upstreamFault('lists-full'));
    else if (answer.kind === 'invalid') this.#fail(upstreamFault('answer-invalid'));
    else if (answer.kind === 'error') this.#onError(answer.code);
    else if (!answer.isComplete && this.#sentIn?.era === 'modern') this.#onIncomplete(answer);
    else {
      this.#ttlMs = Math.min(this.#ttlMs, this.#sentIn?.era === 'modern' ? answer.ttlMs : 0);
      if (answer.mirrors !== undefined) this.#take(answer.mirrors);
      this.#onPage(answer.page, answer.nextCursor);
    }
  }

  #take({ tools, invalid }: PageMirrors): void {
    this.#mirrors.push(...tools);
    if (invalid.length > 0) this.#context.onToolsLeftOut?.(this.#upstream.backend, invalid);
  }

  /** To servers of before the word that says so means nothing. */
  #onIncomplete(answer: ReadAnswer): void {
    this.#dropRead(answer);
    this.#fail(upstreamFault('answer-invalid'));
  }

  #onPage(page: ReadPage, nextCursor: string | undefined): void {
    const isEndless =
      this.#pages.length >= limits.listPagesMax || (nextCursor !== undefined && nextCursor === this.#cursor);
    this.#pages.push(page);
    if (!('key' in page)) this.#inlineBytesLeft -= page.bytes.length;
    if (isEndless) {
      this.#fail(upstreamFault('answer-invalid'));
      return;
    }
    this.#cursor = nextCursor;
    if (nextCursor === undefined) {
      if (this.#kind.name === 'tools') this.#upstream.learnMirrors(this.#mirrors);
      this.#finish(this.#pages, undefined, this.#ttlMs);
    } else this.#readPage();
  }

  /** Tools are asked for whatever is declared: there are servers that have them and do not say so. */
  get #isAsked(): boolean {
    return this.#kind.name === 'tools' || this.#isDeclared;
  }

  get #isDeclared(): boolean {
    return this.#upstream.record !== undefined && this.#upstream.declares(this.#kind.capability);
  }

  /** A backend that declares no tools, and says so again when asked, has none; one with resources need have no templates. */
  #onError(code: unknown): void {
    const mayHaveNone = this.#kind.name === 'templates' || !this.#isDeclared;
    const hasNone = code === rpcCodes.methodNotFound && mayHaveNone;
    if (hasNone) this.#finish([], undefined);
    else this.#fail(listRefusedFault(this.#kind.method));
  }

  #fail(fault: UpstreamFault): void {
    this.#dropPages();
    this.#finish([], fault);
  }

  /** @param ttlMs of a list from memory 0: it is not kept twice. */
  #finish(pages: readonly ReadPage[], fault: UpstreamFault | undefined, ttlMs = 0): void {
    this.#isOver = true;
    this.#patience?.cancel();
    const kept = this.#kept;
    if (kept === undefined) return this.#done(pages, fault, ttlMs);
    if (fault === undefined) return this.#done(this.#merger.keep(this.#upstream.subject, kept, pages), fault, ttlMs);
    kept.giveUp();
    this.#done(pages, fault, ttlMs);
  }

  /** The list thread was still reading when nobody wanted it any more. */
  #dropRead(answer: ReadAnswer | ReadFailure): void {
    if (typeof answer === 'object' && answer.kind === 'page')
      this.#merger.dropPages(this.#upstream.subject, [answer.page]);
  }

  #dropPages(): void {
    this.#mirrors = [];
    this.#merger.dropPages(this.#upstream.subject, this.#pages);
    this.#pages = [];
    this.#inlineBytesLeft = limits.listBytesInlineMax;
  }

  #readPage(): void {
    if (this.#upstream.state === 'closed') {
      this.#fail(upstreamFault('session-ended'));
      return;
    }
    const cursor = this.#cursor === undefined ? '' : `"cursor":${JSON.stringify(this.#cursor)}`;
    this.#id = this.#context.ids.next();
    const message = this.#upstream.ownRequest(this.#id, this.#kind.method, cursor);
    const id = { bytes: this.#id, start: 0, end: this.#id.length };
    this.#sentIn = this.#upstream.record;
    this.#request = this.#upstream.request(message, id, this.#metadata, this.#remainingMs, false, this);
  }
}
