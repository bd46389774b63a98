// State shared by all exchanges of one worker's listeners.
import type { MessageMemory, DeadlineWheel } from '../fair/index.js';
import type { RequestIds } from './request-ids.js';
import type { Logger } from '../shared/index.js';

export interface EdgeContext {
  readonly requestIds: Pick<RequestIds, 'of'>;
  readonly isTraced: boolean;
  readonly deadlines: DeadlineWheel;
  readonly bodyBytesMax: number;
  /** Whether the HTTP library no longer needs an answer's memory once the write call returns. */
  readonly isCopiedAtOnce: boolean;
  /** Memory for large requests, and for large answers that their callers read slowly. */
  readonly requestMemory: MessageMemory;
  readonly answerMemory: MessageMemory;
  /** How long a caller may read nothing of its answer before it is disconnected. */
  readonly slowReaderTimeoutMs: number;
  /** Silence on an event stream before a comment is sent. */
  readonly streamKeepAliveMs: number;
  readonly logger: Logger;
  /** True from the announcement of a drain: every answer closes its connection, so that callers move on to another process. */
  isDraining: boolean;
  /** Open exchanges of GET requests. */
  readonly gets: Set<{ leaveStream(): void }>;
  /** Exchanges without a complete answer. */
  openCount: number;
  /** Called whenever `openCount` has become 0. */
  onIdle: (() => void) | undefined;
}
