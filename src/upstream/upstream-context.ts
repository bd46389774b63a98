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

/**
 * The JSON-RPC ids of the gateway's own requests to backends. An id is never used twice in an upstream session (S32), whichever process
 * continues it: hence a random prefix for each process. Cold path: a few ids per session.
 */
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

/** What an upstream session needs from its surroundings. */
export interface UpstreamMeans {
  readonly http: HttpUpstream;
  /** For long-lived streams, on connections separate from calls: otherwise calls would wait for the connections that streams hold. */
  readonly streams: HttpUpstream;
  readonly deadlines: DeadlineWheel;
  readonly options: Pick<UpstreamOptions, 'initializeTimeoutMs' | 'callIdleTimeoutMs'>;
  readonly oneWayRequests: OneWayRequests;
  /** Sends notifications and responses. Apart from `http`: a call may hold a connection while it waits for such a message. */
  readonly replies: OneWayRequests;
  readonly endpoints: BackendEndpoints;
  readonly ids: OwnRequestIds;
  /** The memory that large answers are counted in; `undefined` where `http` itself bounds them. */
  readonly answerMemory: MessageMemory | undefined;
  /** @returns `undefined` for a backend that requires no credentials. */
  credentialsOf(backend: CompiledBackend, subject: string): Credentials | undefined;
  /** Milliseconds of a monotonic clock. */
  nowMs(): number;
  /** Lists of a backend may have changed. @param method its notification; `''` if its session was lost or its capabilities changed. */
  readonly onChanged?: ((backend: CompiledBackend, method: string) => void) | undefined;
  /** Records what happens to backends, in the log and in figures. */
  readonly log: Pick<BackendLog, 'onAvailable' | 'onUnavailable' | 'onOpenFault' | 'onFailure'>;
}

/** The same for the dataplane, where all members are present. */
export interface UpstreamContext extends UpstreamMeans {
  readonly options: UpstreamOptions;
  readonly answerMemory: MessageMemory;
  readonly log: Pick<BackendLog, keyof BackendLog>;
}
