// What all upstream sessions of a relay share.
import { randomBytes } from 'node:crypto';
import type { CompiledBackend } from '../user-config/index.js';
import type { UpstreamOptions } from '../config/index.js';
import type { DeadlineWheel, MessageMemory } from '../fair/index.js';
import type { HttpUpstream, OneWayRequests } from '../http-client/index.js';
import type { BackendLog } from './backend-log.js';
import type { BackendEndpoints } from './reach/backend-endpoints.js';
import type { Credentials } from '../credentials/index.js';

// The JSON-RPC ids of the gateway's own requests to backends. An id is never used twice in an upstream session (S32), whichever process
// continues it: hence a random prefix for each process. Cold path: a few ids per session.

const PREFIX_BYTES = 6;

export class OwnRequestIds {
  /** A string, so that it is unlikely to equal an id that a caller has chosen. */
  readonly #prefix = `"switchyard-${randomBytes(PREFIX_BYTES).toString('base64url')}-`;
  #count = 0;

  /** The next id, as JSON. */
  next(): Buffer {
    this.#count += 1;
    return Buffer.from(`${this.#prefix}${this.#count}"`);
  }
}

export interface UpstreamMeans {
  readonly http: HttpUpstream;
  /** For long-lived streams, on connections separate from calls: otherwise calls would wait for the connections that streams hold. */
  readonly streams: HttpUpstream;
  readonly deadlines: DeadlineWheel;
  readonly options: Pick<UpstreamOptions, 'initializeTimeoutMs' | 'callIdleTimeoutMs'>;
  readonly oneWayRequests: OneWayRequests;
  /** Messages that a call may be waiting for. Separate from calls: otherwise they would wait for a connection that a call holds. */
  readonly replies: OneWayRequests;
  readonly endpoints: BackendEndpoints;
  readonly ids: OwnRequestIds;
  /** The memory that large answers are counted in; `undefined` where `http` itself bounds them. */
  readonly answerMemory: MessageMemory | undefined;
  /** The credentials that the backend requires, if it does. */
  credentialsOf(backend: CompiledBackend, subject: string): Credentials | undefined;
  /** Milliseconds of a monotonic clock. */
  nowMs(): number;
  /** A backend has said that one of its lists has changed, or has forgotten a session: then `method` is `''`. */
  readonly onChanged?: ((backend: CompiledBackend, method: string) => void) | undefined;
  /** Told of what happens to backends, for the log and for figures. */
  readonly log: Pick<BackendLog, 'onAvailable' | 'onUnavailable' | 'onOpenFault' | 'onFailure'>;
}

export interface UpstreamContext extends UpstreamMeans {
  readonly options: UpstreamOptions;
  readonly answerMemory: MessageMemory;
  readonly log: Pick<BackendLog, keyof BackendLog>;
}
