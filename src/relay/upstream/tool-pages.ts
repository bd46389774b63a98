// All pages of one backend's `tools/list`, one after the other, under one deadline for the whole (decisions 2.5, 2.6).
import type { BackendMessage } from '../../protocol/json-rpc.js';
import { readToolPage, type ToolPage } from '../../protocol/tool-page.js';
import { limits } from '../../shared/limits.js';
import { rpcCodes } from '../../shared/refusals.js';
import type { UpstreamContext } from './upstream-context.js';
import { upstreamFault, type UpstreamFault } from './upstream-fault.js';
import type { RequestHandler } from './upstream-request.js';
import type { UpstreamSession, UpstreamSessionRecord } from './upstream-session.js';

/** One page as it came: the message's bytes, and where its tools stand in them. */
export interface ReceivedToolPage {
  readonly bytes: Buffer;
  readonly tools: ToolPage['tools'];
}

/** Called once. */
export type ToolPagesReader = (pages: readonly ReceivedToolPage[], fault: UpstreamFault | undefined) => void;

const LIST_ID = Buffer.from('"switchyard-list"');

export class ToolPages implements RequestHandler {
  readonly #context: UpstreamContext;
  readonly #upstream: UpstreamSession;
  readonly #passthrough: readonly string[];
  readonly #done: ToolPagesReader;
  readonly #dueMs: number;
  #pages: ReceivedToolPage[] = [];
  #cursor: string | undefined;
  #sentIn: UpstreamSessionRecord | undefined;
  #isSecondTry = false;

  constructor(
    context: UpstreamContext,
    upstream: UpstreamSession,
    passthrough: readonly string[],
    done: ToolPagesReader,
  ) {
    this.#context = context;
    this.#upstream = upstream;
    this.#passthrough = passthrough;
    this.#done = done;
    this.#dueMs = context.nowMs() + context.options.listTimeoutMs;
  }

  /** Opens the upstream session if need be, and reads the first page. */
  start(): void {
    this.#upstream.whenOpen(this.#passthrough, (fault) => {
      if (fault === undefined) this.#readPage();
      else this.#done([], fault);
    });
  }

  onMessage(bytes: Buffer, message: BackendMessage): void {
    this.#upstream.answer(bytes, message, this.#passthrough);
  }

  onAnswer(bytes: Buffer, message: BackendMessage): void {
    if (message.isError) {
      this.#onError(bytes, message);
      return;
    }
    const page = readToolPage(bytes, message.bodyStart, message.bodyEnd);
    const isEndless =
      this.#pages.length >= limits.listPagesMax || (page?.nextCursor !== undefined && page.nextCursor === this.#cursor);
    if (page === undefined || isEndless) {
      this.#done([], upstreamFault('answer-invalid'));
      return;
    }
    this.#pages.push({ bytes, tools: page.tools });
    this.#cursor = page.nextCursor;
    if (this.#cursor === undefined) this.#done(this.#pages, undefined);
    else this.#readPage();
  }

  onFault(fault: UpstreamFault): void {
    if (fault.kind !== 'session-lost') {
      this.#done([], fault);
      return;
    }
    this.#upstream.lose(this.#sentIn);
    if (this.#isSecondTry) {
      this.#done([], fault);
      return;
    }
    // From the first page again: cursors were the lost session's.
    this.#isSecondTry = true;
    this.#pages = [];
    this.#cursor = undefined;
    this.start();
  }

  /** A backend that declares no tools, and says so again when asked, has none. */
  #onError(bytes: Buffer, message: BackendMessage): void {
    const error = JSON.parse(bytes.toString('utf8', message.bodyStart, message.bodyEnd)) as { code?: unknown };
    const hasNone = error.code === rpcCodes.methodNotFound && this.#upstream.record?.hasTools === false;
    this.#done([], hasNone ? undefined : upstreamFault('list-refused'));
  }

  #readPage(): void {
    const params = this.#cursor === undefined ? '' : `,"params":{"cursor":${JSON.stringify(this.#cursor)}}`;
    const body = Buffer.from(`{"jsonrpc":"2.0","id":${LIST_ID.toString()},"method":"tools/list"${params}}`);
    const id = { bytes: LIST_ID, start: 0, end: LIST_ID.length };
    const remainingMs = this.#dueMs - this.#context.nowMs();
    this.#sentIn = this.#upstream.record;
    this.#upstream.request(body, id, this.#passthrough, remainingMs, false, this);
  }
}
