// Limits: parsing of JSON and JSON-RPC.
import { KIB } from './units.js';

export const messageLimits = {
  /** nesting depth of objects and arrays in a JSON text; the next parser may be recursive → refused as not JSON */
  jsonDepthMax: 512,
  /**
   * a JSON-RPC id or a progress token, which is compared with others and sent back → a longer id is refused as not JSON-RPC; for a longer
   * token no progress is relayed
   */
  messageIdBytesMax: 64 * KIB,
  /**
   * a JSON-RPC message that is scanned in one go, 3 ms in the worst case of one token per byte → a larger message is scanned in slices
   *
   * Measured on a 2.6 GHz AMD EPYC with Node 20.
   */
  readAtOnceBytesMax: 128 * KIB,
  /** time spent on slices in one turn of the event loop, all large messages together → the rest waits for the next turn */
  readingTurnMs: 5,
  /**
   * values of one JSON text whose positions are recorded, at 24 bytes each, in memory that is reused for the next text → refused as not
   * JSON
   */
  jsonNodesMax: 262_144,
  /**
   * names of arguments that are compared with those that the config fixes or hides, and recorded values of a large call whose headers repeat
   * arguments: members of `arguments`, and of the objects that contain them → the call fails with -32602, which says so
   */
  argumentsExaminedMax: 16_384,
  /**
   * characters of a number in an argument that a header repeats; never cut short, because the first digits alone would be another number →
   * the call fails with -32602, which says that the arguments are too long
   */
  mirroredNumberCharsMax: 64,
} as const;
