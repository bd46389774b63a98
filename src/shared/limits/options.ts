// Limits: the ranges that options accept.
import { MIB } from './units.js';

export const optionLimits = {
  /** highest `--max-body-bytes`; a body is held in memory as a whole → fault at start-up */
  requestBodyBytesMax: 1024 * MIB,
  /** highest `--rate-limit`; 0 turns the limit off → fault at start-up */
  requestsPerMinuteMax: 1_000_000,
  /** longest `--expires-in`, ten years; anything longer is taken for a typing error → fault of the command line */
  tokenLifetimeMsMax: 10 * 365 * 24 * 3_600_000,
  /** highest `--max-sessions` and `--max-sessions-per-subject`; no process has memory for more → fault at start-up */
  sessionsMax: 1_000_000,
  /** highest `--max-requests-in-flight` and highest share of it for one subject; no process has memory for more → fault at start-up */
  requestsInFlightMax: 1_000_000,
  /** highest value of every option that bounds memory; no process has more → fault at start-up */
  shareBytesMax: 1024 * 1024 * MIB,
  /** highest `--name-look-ups`; each look-up takes one or two sockets → fault at start-up */
  nameLookUpsMax: 16_384,
  /** lowest `--control-plane-memory`; a control plane without any servers uses close to half of this → fault at start-up */
  controlPlaneMemoryBytesLeast: 256 * MIB,
  /** lowest `--worker-memory`, also for its default; an idle worker uses half of this → fault at start-up */
  workerMemoryBytesLeast: 192 * MIB,
  /** highest `--max-servers`; the list of all servers is kept sorted in memory → fault at start-up */
  serversMax: 10_000,
  /** highest `--max-compositions` and `--max-compositions-per-maker`; all of them are kept sorted in memory → fault at start-up */
  compositionsMax: 10_000,
  /** highest `--number-of-cpus`; beyond it, load is split over several machines → fault at start-up */
  workersMax: 1_024,
} as const;
