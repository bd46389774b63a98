export { BodyCollector, addPiece, passingMemory } from './body-collector.js';
export {
  EventStreamParser,
  type LargeEventTaker,
  encodeEvent,
  encodeEventAfter,
  encodeLineBreaks,
  encodeNumberedEvent,
  eventEnd,
  eventHeadText,
  hasLineBreak,
  keepAliveComment,
  primingText,
  withoutByteOrderMark,
} from './event-stream.js';
export {
  ABSENT,
  AMBIGUOUS,
  ESCAPE_BYTES_MAX,
  MemberNames,
  cutsOf,
  endOf,
  findIn,
  findMember,
  findMembers,
  findText,
  isKey,
  isString,
  prefixEnd,
  readMember,
  startOf,
  stringValue,
} from './json-member.js';
export { JsonScanner, type NodeFilter, jsonKind } from './json-scanner.js';
export { type Reading, readings } from './reading-queue.js';
export { idKey, idLikeness, isIdAsText, requestIdIn, sameId } from './request-id.js';
