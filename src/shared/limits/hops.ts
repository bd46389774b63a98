// Limits: hops between workers.
import { KIB, MIB } from './units.js';

export const hopLimits = {
  /**
   * bytes that the owner sends ahead on one answer: what a slow caller costs in memory → the owner stops reading the
   * backend until credit returns
   */
  hopWindowBytes: 256 * KIB,
  /** a connection to an owner, and the secret on it: a Unix socket answers at once or never → the link is closed */
  hopConnectMsMax: 2_000,
  /**
   * links that an owner accepts: twice the other workers, as a restarted one may still have its old link → one more is
   * closed
   */
  hopLinksMax: 2_048,
  /**
   * a request waiting for the owner of its session, which has died and is being started again → 503 `owner-starting`
   */
  ownerWaitMsMax: 30_000,
  /** between two tries to pass such a request on → it is tried again */
  ownerRetryMs: 50,
  /** requests of a worker that wait so: each is held in memory → 503 `owner-starting` */
  ownerWaitsMax: 10_000,
  /** those of one subject → 503 `owner-starting` */
  ownerWaitsPerSubjectMax: 1_000,
  /** hops on one link at once → 503 `owner-lost`; at the owner 500 `hop-failed` */
  hopsPerLinkMax: 65_536,
  /**
   * payload of one frame: holds the largest head of a request → 500 `hop-failed`; one that comes closes the link
   *
   * A head's strings are at most the request's headers and the token's subject out of them, both in UTF-16.
   */
  hopFrameBytesMax: 256 * KIB,
  /** body bytes of one frame: other hops have their turn in between → the body is sent in parts */
  hopPartBytesMax: 64 * KIB,
  /** the buffer in which a link's outgoing frames are gathered → the link takes a new one */
  hopBatchBytes: 32 * KIB,
  /** the one buffer that a worker reads the answers of all its hops into, in turn → the rest is read next */
  hopReadBytes: 64 * KIB,
  /** an answer given as a whole, which the receiver gathers → 500 `hop-failed`, and the log says so */
  hopAnswerBytesMax: 256 * MIB,
} as const;
