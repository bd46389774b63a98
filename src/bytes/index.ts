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
  cutsOf,
  endOf,
  findMembersOfAny,
  findMember,
  findMembers,
  findStringMember,
  isKey,
  isStringEqual,
  endOfPrefix,
  readStringMember,
  startOf,
  stringValue,
} from './json-member.js';
export { JsonScanner, type NodeFilter, jsonKind } from './json-scanner.js';
export { type Scan, readings } from './scan-queue.js';
export { idKey, ambiguousIdKey, isNumberIdAsText, requestIdIn, isSameId } from './request-id.js';
