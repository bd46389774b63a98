export {
  type MessageReservation,
  type MessageMemories,
  type MessageMemory,
  type MemoryWaiter,
  createMessageMemories,
  noWaiter,
  AnswerMemory,
} from './message-memory.js';
export { CoalescedRuns } from './coalesced-runs.js';
export { limitConnections } from './connection-limit.js';
export { type Deadline, DeadlineWheel } from './deadline-wheel.js';
export { FairCache } from './fair-cache.js';
export { FairQueueEntry, FairQueue, type QueueBounds } from './fair-queue.js';
export { LARGE_MEMORY_FROM_BYTES, bodyMemory, largeMemory, announceReturned } from './large-memory.js';
export { ListNode } from './list-node.js';
export { LoadShedder, SESSION_BYTES_EACH } from './load-shedder.js';
export { OverloadWatch, ProcessGauges } from './overload-watch.js';
export { Overload } from './overload.js';
export { heapMemory, residentBytes } from './process-memory.js';
export { Quota } from './quota.js';
export {
  type Account,
  Accounts,
  type ShareBound,
  type ShareBounds,
  type ShareTable,
  isWithinBounds,
  withReserve,
} from './share.js';
export { REUSED_BUFFER_BYTES, copied, joined, joinedForNow, shortMemory } from './short-memory.js';
export { TurnScheduler, type TurnSchedulerRules, wakeScheduler } from './turn-scheduler.js';
