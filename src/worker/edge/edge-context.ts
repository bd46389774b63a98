// What the exchanges of one listener share.
import type { MessageMemory } from '../../shared/message-memory.js';
import type { DeadlineWheel } from '../../shared/deadline-wheel.js';
import type { RequestIds } from '../../shared/request-ids.js';
import type { Logger } from '../../shared/logger.js';

export interface EdgeContext {
  readonly requestIds: RequestIds;
  readonly isTraced: boolean;
  readonly deadlines: DeadlineWheel;
  readonly bodyBytesMax: number;
  /** Whether the HTTP library is done with the memory of an answer when it returns. */
  readonly isCopiedAtOnce: boolean;
  /** What large requests take, and large answers that their callers are slow to read. */
  readonly requestMemory: MessageMemory;
  readonly answerMemory: MessageMemory;
  /** How long a caller may take nothing of its answer before it is cut off. */
  readonly slowReaderTimeoutMs: number;
  /** Silence on an event stream before a comment is sent. */
  readonly streamKeepAliveMs: number;
  readonly logger: Logger;
  /** While true every answer closes its connection, so that callers move on to another process: from the announcement of a drain on. */
  isDraining: boolean;
  /** Those with GET that are not over. */
  readonly gets: Set<{ leaveStream(): void }>;
  /** Exchanges without a complete answer. */
  openCount: number;
  /** Called whenever `openCount` has become 0. */
  onIdle: (() => void) | undefined;
}
