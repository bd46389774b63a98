// What all upstream sessions of a relay share.
import { randomBytes } from 'node:crypto';
import type { CompiledBackend } from '../user-config/index.js';
import type { UpstreamOptions } from '../config/index.js';
import type { DeadlineWheel, MessageMemory } from '../fair/index.js';
import type { HttpUpstream, OneWayRequests } from '../http-client/index.js';
import type { BackendLog } from './backend-log.js';
import type { BackendEndpoints } from './reach/backend-endpoints.js';
import type { Credentials } from '../credentials/index.js';

const PREFIX_BYTES = 6;

/** Ids of the gateway's own requests, never used twice in a session (S32): hence a random prefix for each process. */
export class OwnRequestIds {
  /** The beginning of the ids: a string that callers' ids hardly ever equal. */
  readonly #prefix = `"switchyard-${randomBytes(PREFIX_BYTES).toString('base64url')}-`;
  #count = 0;

  next(): Buffer {
    this.#count += 1;
    return Buffer.from(`${this.#prefix}${this.#count}"`);
  }
}

export interface UpstreamDependencies {
  readonly http: HttpUpstream;
  /** The HTTP client for long-lived streams, so that calls do not wait for their connections. */
  readonly streams: HttpUpstream;
  readonly deadlines: DeadlineWheel;
  readonly options: Pick<UpstreamOptions, 'initializeTimeoutMs' | 'callIdleTimeoutMs'>;
  readonly oneWayRequests: OneWayRequests;
  /** The requests that carry notifications and responses. Calls may hold all connections of `http` while they wait for such a message. */
  readonly replies: OneWayRequests;
  readonly endpoints: BackendEndpoints;
  readonly ids: OwnRequestIds;
  /** The memory that counts large answers; `undefined` where `http` itself bounds them. */
  readonly answerMemory: MessageMemory | undefined;
  credentialsOf(backend: CompiledBackend, subject: string): Credentials | undefined;
  nowMs(): number;
  /** Called when lists may have changed. @param method of the notification; `''` if a session was lost or capabilities changed. */
  readonly onChanged?: ((backend: CompiledBackend, method: string) => void) | undefined;
  readonly log: Pick<BackendLog, 'onAvailable' | 'onUnavailable' | 'onOpenFault' | 'onFailure'>;
}

export interface UpstreamContext extends UpstreamDependencies {
  readonly options: UpstreamOptions;
  readonly answerMemory: MessageMemory;
  readonly log: Pick<BackendLog, keyof BackendLog>;
}
