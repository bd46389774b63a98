export { BodyCollector, addPiece, shortLivedMemory } from './body-collector.js';
export { type Edit, type Insertion, addInOrder, edited, insertion, partsOf } from './edits.js';
export {
  EventStreamParser,
  type LargeEventHandler,
  encodeEvent,
  encodeEventAfter,
  encodeLineBreaks,
  encodeNumberedEvent,
  eventEnd,
  eventHeadText,
  hasLineBreak,
  keepAliveComment,
  primingEventText,
  withoutByteOrderMark,
} from './event-stream.js';
export {
  MEMBER_ABSENT,
  MEMBER_AMBIGUOUS,
  ESCAPE_BYTES_MAX,
  MemberNames,
  ambiguousIdKey,
  cutsOf,
  findMember,
  findMembers,
  findStringMember,
  idKey,
  isEmptyObject,
  isKey,
  isNumberIdAsText,
  isSameId,
  isSameToken,
  isStringEqual,
  endOfPrefix,
  readStringMember,
  requestIdIn,
  stringValue,
} from './json-member.js';
export { JsonScanner, type NodeFilter, jsonKind } from './json-scanner.js';
export { type Scan, scanQueue } from './scan-queue.js';
