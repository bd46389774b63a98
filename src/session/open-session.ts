// `initialize`: makes a session, opens its upstream sessions, and then writes its record if there is a session directory. Only then
// does the client learn the session's id. Cold path: once per session.
import type { ClientMessage } from '../mcp/index.js';
import { type Accounts } from '../fair/index.js';
import { rpcErrors } from '../shared/index.js';
import type { UpstreamContext } from '../upstream/index.js';
import { answer, answerError, refuse, resultMessage, type Exchange, type Caller } from '../exchange/index.js';
import { initializeResult, openUpstreams, readInitializeParams } from './initialize.js';
import { Session } from './session.js';
import type { Sessions } from './sessions.js';

export interface OpeningMeans {
  readonly accounts: Accounts;
  readonly sessions: Sessions;
}

export function openSession(
  context: UpstreamContext,
  { accounts, sessions }: OpeningMeans,
  { subject, virtualHost }: Caller,
  exchange: Exchange,
  message: ClientMessage,
): void {
  exchange.watcher?.onIdentified('initialize', '', '');
  const { body } = exchange.request;
  const id = { bytes: body, start: message.idStart, end: message.idEnd };
  const params = readInitializeParams(body, message);
  if (typeof params === 'string') {
    answerError(exchange, id, rpcErrors.initializeInvalid(params));
    return;
  }
  const account = accounts.of(subject);
  const session = account.refusalOfRequest() ?? sessions.create({ account, virtualHost, ...params });
  if (!(session instanceof Session)) {
    refuse(exchange, session);
    return;
  }
  session.applyConfig(virtualHost, exchange.request);
  account.requests.take(1);
  openUpstreams(context, session, virtualHost, exchange, (unavailable) => {
    const result = initializeResult(context, session, virtualHost, params.protocolVersion, unavailable);
    const end = (): void => {
      account.requests.give(1);
      // A caller that went away never learns the id: nobody could use or end the session.
      if (exchange.isAborted) void sessions.end(session, exchange.request);
      // Also when the caller has gone: an answer completes the exchange, and the access log has a line for each exchange.
      answer(exchange, resultMessage(id, result), session.identity.id);
    };
    if (session.entry === undefined || exchange.isAborted) end();
    else session.entry.begin(context.deadlines, end);
  });
}
