// What the ends of a hop agree on.
import { KIB, MIB } from '../../shared/index.js';

export const hopBounds = {
  /**
   * bytes of one answer that the owner may send before they are consumed, which is what a slow caller costs in memory → the owner stops
   * reading from the backend until credit returns
   */
  hopWindowBytes: 256 * KIB,
  /** body bytes in one frame, so that other hops have their turn in between → the body is sent in several frames */
  hopPartBytesMax: 64 * KIB,
  /** buffer in which a link's outgoing frames are gathered → the link takes a new buffer */
  hopBatchBytes: 32 * KIB,
  /**
   * payload of one frame; the largest request head fits → 500 `hop-failed`; receiving a larger frame closes the link
   *
   * A head's strings are at most the request's headers, and the token's subject, which is one of them decoded, both in UTF-16.
   */
  hopFrameBytesMax: 256 * KIB,
  /** concurrent hops on one link → 503 `owner-lost`; at the owner 500 `hop-failed` */
  hopsPerLinkMax: 65_536,
  /** an answer sent as a whole, which the receiver gathers in memory → 500 `hop-failed`, and the log says so */
  hopAnswerBytesMax: 256 * MIB,
  /** interval between attempts to forward a request whose owner is being restarted → the next attempt follows */
  ownerRetryMs: 50,
  /** cancellations that wait for the replaced worker, per worker → one more is dropped */
  predecessorNoticesWaitingMax: 64,
} as const;
