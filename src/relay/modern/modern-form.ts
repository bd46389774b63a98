// How one modern request is served where that differs from a legacy one. Towards a legacy backend, whose session several programs
// of one subject may share, it goes under an id and a progress token of ours: each program counts for itself. Hot: one object a
// request.
import { readMember } from '../../protocol/json-member-text.js';
import type { BackendMessage, ClientMessage } from '../../protocol/json-rpc.js';
import { severityOf } from '../../protocol/log-levels.js';
import { rpcCodes } from '../../shared/refusals.js';
import type { OutgoingMessage } from '../../upstream/http-upstream.js';
import type { OwnIds } from '../../upstream/own-ids.js';
import type { IdSpan } from '../../upstream/rpc-request.js';
import type { UpstreamSession } from '../../upstream/upstream-session.js';
import { modernHead } from '../../upstream/modern-request.js';
import type { RpcError } from '../answers.js';
import type { ExchangeRequest } from '../exchange.js';
import { withEdits } from '../bare-body.js';
import { partsOf, type Edit } from '../edits.js';
import type { ListDress } from '../list-merge/merge.js';
import { NO_EDITS, type RequestForm } from '../request-form.js';
import { logSeverityIn } from './envelope-check.js';
import { modernError, statusOf } from './modern-errors.js';
import { LIST_DRESS, modernErrorEdit, resultTypeEdit } from './modern-results.js';

const NOT_ASKED_MID_CALL: RpcError = {
  code: rpcCodes.internalError,
  message: 'The client is of MCP 2026-07-28: it cannot be asked in the middle of a request',
};

export class ModernForm implements RequestForm {
  readonly endsWithCaller = true;
  readonly askingObstacle = NOT_ASKED_MID_CALL;
  readonly listDress: ListDress = LIST_DRESS;
  readonly #ids: OwnIds;
  readonly #request: ExchangeRequest;
  readonly #message: ClientMessage;
  /** JSON: the id, and the token where the caller has given one. */
  #own: Buffer | undefined;

  constructor(ids: OwnIds, request: ExchangeRequest, message: ClientMessage) {
    this.#ids = ids;
    this.#request = request;
    this.#message = message;
  }

  get sentToken(): Buffer | undefined {
    return this.#own;
  }

  outgoing(message: OutgoingMessage, { isModern }: UpstreamSession, bareName: string): OutgoingMessage {
    if (isModern) {
      this.#own = undefined;
      return { ...message, head: modernHead(this.#message.method, bareName, this.#request.mirror.params) };
    }
    const { idStart, idEnd, progressTokenStart, progressTokenEnd } = this.#message;
    // Anew for each try: no id is used twice in an upstream session (S32).
    const putIn = (this.#own = this.#ids.next());
    const edits: Edit[] = [{ start: idStart, end: idEnd, putIn }];
    if (progressTokenStart !== -1) edits.push({ start: progressTokenStart, end: progressTokenEnd, putIn });
    return withEdits(message, edits);
  }

  sentId(callers: IdSpan): IdSpan {
    const bytes = this.#own;
    return bytes === undefined ? callers : { bytes, start: 0, end: bytes.length };
  }

  /** Nothing but logs that it wants to hear belongs to it (M06, M24); its own progress has another way. */
  isHeard(bytes: Buffer, { method, paramsStart, paramsEnd }: BackendMessage): boolean {
    const { envelope } = this.#message;
    if (method !== 'notifications/message' || envelope === undefined) return false;
    const wanted = logSeverityIn(this.#request.body, envelope);
    if (wanted === -1) return false;
    const level = paramsStart === -1 ? undefined : readMember(bytes.subarray(paramsStart, paramsEnd), 'level');
    // A legacy backend sends what it sends to everybody.
    return level === undefined || severityOf(level) >= wanted;
  }

  withCallersToken(bytes: Buffer, { progressTokenStart: start, progressTokenEnd: end }: BackendMessage): Buffer {
    const call = this.#message;
    if (this.#own === undefined) return bytes;
    const putIn = this.#request.body.subarray(call.progressTokenStart, call.progressTokenEnd);
    return Buffer.concat(partsOf(bytes, [{ start, end, putIn }]));
  }

  answerEdits(bytes: Buffer, message: BackendMessage, { isModern }: UpstreamSession): readonly Edit[] {
    if (isModern) return NO_EDITS;
    const edit = message.isError ? modernErrorEdit(bytes, message) : resultTypeEdit(bytes, message);
    return edit === undefined ? NO_EDITS : [edit];
  }

  ownError(error: RpcError): RpcError {
    return modernError(error);
  }

  statusOf({ code }: RpcError): number {
    return statusOf(code);
  }
}
