export { type Account, Accounts, type ShareTable } from './accounts.js';
export { AnswerRoom } from './answer-room.js';
export { keepRoom } from './connection-room.js';
export { type Deadline, DeadlineWheel } from './deadline-wheel.js';
export { FairCache } from './fair-cache.js';
export { FairPlace, FairQueue, type QueueBounds } from './fair-queue.js';
export { LARGE_MEMORY_FROM_BYTES, bodyMemory, largeMemory, noteReturned } from './large-memory.js';
export { ListNode } from './list-node.js';
export {
  type MessageHold,
  type MessageMemories,
  type MessageMemory,
  type RoomWaiter,
  createMessageMemories,
  noWaiter,
} from './message-memory.js';
export { OverloadDoor, SESSION_BYTES_EACH } from './overload-door.js';
export { OverloadWatch, ProcessGauges } from './overload-watch.js';
export { Overload } from './overload.js';
export { Quota } from './quota.js';
export { type ShareBound, type ShareBounds, isOpenTo, withKept } from './share.js';
export { LENT_BYTES_MAX, copied, joined, joinedForNow, shortMemory } from './short-memory.js';
export { Turns, type TurnsRules, wokenTurns } from './turns.js';
