// Limits: how JSON and JSON-RPC are read.
import { KIB } from './units.js';

export const messageLimits = {
  /** objects and arrays open at once in a JSON text: what parses it next may recurse → refused as not JSON */
  jsonDepthMax: 512,
  /**
   * a JSON-RPC id and a progress token, which are compared with others' and sent back → refused as not JSON-RPC; no
   * progress is relayed
   */
  messageIdBytesMax: 64 * KIB,
  /** a method's name is told in the error that nobody knows it → the rest is cut off */
  methodNameBytesMax: 256,
  /**
   * a JSON-RPC message that is read at once, in 3 ms where each byte is a token of its own → it is read in slices
   *
   * Measured on a 2.6 GHz AMD EPYC with Node 20.
   */
  readAtOnceBytesMax: 128 * KIB,
  /** one slice of a large message → it ends with the character before it */
  readingSliceBytes: 64 * KIB,
  /** what slices take of one turn of the event loop, all messages together → others have their turn */
  readingTurnMs: 5,
  /** large messages whose reading has begun: each keeps the places of its values → others wait */
  readingsStartedMax: 8,
  /** of these, those of one subject: its oldest, and its smallest → its others wait */
  readingsStartedPerSubjectMax: 2,
  /**
   * values of one JSON text whose place is written down, 24 bytes each, kept for the next text → refused as not JSON
   */
  jsonNodesMax: 262_144,
  /**
   * of these, in a large answer, on the way to URIs of resources: blocks of content and their members → fault
   * `answer-invalid`
   */
  uriNodesMax: 32_768,
  /**
   * of these, in a large call whose head says some of its arguments again: members of `arguments`, and of what these are in → the call
   * fails with -32602, which says so
   */
  mirroredNodesMax: 16_384,
  /**
   * places in a large result of a read that say how it may be kept and are made to say `private` → the rest stays: only the first one means
   * anything
   */
  scopesChangedMax: 16,
} as const;
