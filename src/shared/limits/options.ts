// Limits: how far an option can be turned.
import { MIB } from './units.js';

export const optionLimits = {
  /** `--max-body-bytes` at most: a body is held in memory as a whole → fault at start-up */
  requestBodyBytesMax: 1024 * MIB,
  /** `--rate-limit` at most: whoever wants no limit says 0 → fault at start-up */
  requestsPerMinuteMax: 1_000_000,
  /** `--expires-in` at most, ten years: a longer one is a slip of the hand → fault of the command line */
  tokenLifetimeMsMax: 10 * 365 * 24 * 3_600_000,
  /**
   * `--max-sessions` and `--max-sessions-per-subject` at most: no process has the memory for more → fault at start-up
   */
  sessionsMax: 1_000_000,
  /**
   * `--max-requests-in-flight` and its share of a subject at most: no process has the memory for more → fault at
   * start-up
   */
  requestsInFlightMax: 1_000_000,
  /** an option that bounds memory at most: no process has more → fault at start-up */
  shareBytesMax: 1024 * 1024 * MIB,
  /** `--name-look-ups` at most: each takes a socket or two → fault at start-up */
  nameLookUpsMax: 16_384,
  /** `--control-plane-memory` at least: without any server it takes close to half of it → fault at start-up */
  controlPlaneMemoryBytesLeast: 256 * MIB,
  /** `--worker-memory` at least, and its default at least: an idle worker takes half of it → fault at start-up */
  workerMemoryBytesLeast: 192 * MIB,
  /** `--max-servers` at most: a list of all is kept in order in memory → fault at start-up */
  serversMax: 10_000,
  /** `--max-compositions` and `--max-compositions-per-maker` at most, as with servers → fault at start-up */
  compositionsMax: 10_000,
  /** `--number-of-cpus` at most: beyond it, the way to split a machine is another machine → fault at start-up */
  workersMax: 1_024,
} as const;
