export {
  type AnswerFrame,
  type ResultExtras,
  accept,
  answer,
  answerError,
  answerFrame,
  answerEncoded,
  answerInParts,
  answerJoined,
  answerVolatile,
  answerWithStatus,
  errorMessage,
  idSpanOf,
  refuse,
  resultMessage,
  hasReadableId,
  refuseMessage,
  refuseUnread,
  withRequestId,
} from './answers.js';
export {
  type AcceptedTypes,
  type BodyType,
  type Caller,
  Exchange,
  type ExchangeEnding,
  type ExchangeRequest,
  type ExchangeWatcher,
  JOINED_EVENT_BYTES_MAX,
  type MirrorHeaders,
  NO_MIRROR,
  type NameKind,
  type RequestOutcome,
  CallerlessExchange,
} from './exchange.js';
export { combinedHeader, mirrorIn, mirrorOfVersion } from './mirror-headers.js';
export { metadataFor } from './passthrough.js';
export { EventPieces } from './piece-source.js';
export { PieceSender } from './piece-sender.js';
export { type ServedEras, checkTransport, eraOfMessage, newSessionOrRequest } from './transport.js';
