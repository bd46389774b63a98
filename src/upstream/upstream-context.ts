// What all upstream sessions of a relay share.
import { randomInt } from 'node:crypto';
import type { CompiledBackend } from '../user-config/index.js';
import type { UpstreamOptions } from '../config/index.js';
import type { DeadlineWheel, MessageMemory } from '../fair/index.js';
import type { HttpUpstream, OneWayRequests } from '../http-client/index.js';
import type { BackendLog } from './backend-log.js';
import type { BackendEndpoints } from './reach/backend-endpoints.js';
import type { Credentials } from '../credentials/index.js';

/** Our ids collide with no caller's: callers that count stay below, and callers that use the seconds since 1970 are above. */
const FIRST_ID = 2 ** 30;
const ID_COUNT = 2 ** 29;

/**
 * Makes ids for the gateway's own requests. Each process starts at random, so that no id is likely to be used twice in a session (S32). Ids
 * are integers of 31 bits, as in official clients, because some servers read no others.
 */
export class OwnRequestIds {
  #offset = randomInt(ID_COUNT);

  next(): Buffer {
    this.#offset = (this.#offset + 1) % ID_COUNT;
    return Buffer.from(String(FIRST_ID + this.#offset));
  }
}

export interface UpstreamDependencies {
  readonly http: HttpUpstream;
  /** The HTTP client for long-lived streams, so that calls do not wait for their connections. */
  readonly streams: HttpUpstream;
  readonly deadlines: DeadlineWheel;
  readonly options: Pick<UpstreamOptions, 'initializeTimeoutMs' | 'callIdleTimeoutMs'>;
  readonly oneWayRequests: OneWayRequests;
  /** Sends notifications and responses. Calls may hold all connections of `http` while they wait for such a message. */
  readonly replies: OneWayRequests;
  readonly endpoints: BackendEndpoints;
  readonly ownIds: OwnRequestIds;
  /** The memory that counts large answers; `undefined` where `http` itself bounds them. */
  readonly answerMemory: MessageMemory | undefined;
  credentialsOf(backend: CompiledBackend, subject: string): Credentials | undefined;
  nowMs(): number;
  /** Called when lists may have changed. @param method of the notification; `''` if a session was lost or capabilities changed. */
  readonly onListsChanged?: ((backend: CompiledBackend, method: string) => void) | undefined;
  readonly log: Pick<BackendLog, 'onAvailable' | 'onUnavailable' | 'onOpenFault' | 'onFailure'>;
}

export interface UpstreamContext extends UpstreamDependencies {
  readonly options: UpstreamOptions;
  readonly answerMemory: MessageMemory;
  readonly log: Pick<BackendLog, keyof BackendLog>;
}
