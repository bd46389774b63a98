// What a relay knows of reaching one URL of a backend, for all sessions that use it: its origin's circuit, and whether
// `initialize` gets an answer there, and in which era of MCP. What the backend answers to somebody is not kept beyond that: it
// concerns that somebody alone.
import type { UpstreamFault } from '../http/upstream-fault.js';
import type { OriginCircuit } from './origin-circuit.js';
import { EraMemory } from './era-memory.js';
import { SilenceLedger, type OpeningAdmission } from './silence-ledger.js';

/** Of every request with a body: name, value, … */
export const CONTENT_HEADERS: readonly string[] = Object.freeze([
  ...['content-type', 'application/json'],
  ...['accept', 'application/json, text/event-stream'],
]);

export class Endpoint {
  readonly circuit: OriginCircuit;
  /** The content headers, in an array of its own: a request's head is remembered with its array (http1/request-bytes.ts). */
  readonly contentHeaders = [...CONTENT_HEADERS];
  readonly eras = new EraMemory();
  #answeredAtMs = -Infinity;
  /** There only while somebody waits in vain, or has of late. */
  #silence: SilenceLedger | undefined;

  constructor(circuit: OriginCircuit) {
    this.circuit = circuit;
  }

  /** The backend has begun an answer, whatever it is and to whomever. Hot. */
  onAnswer(nowMs: number): void {
    this.#answeredAtMs = nowMs;
    this.#silence = undefined;
    this.circuit.onAnswer(nowMs);
  }

  onFault(fault: UpstreamFault): void {
    this.circuit.onFault(fault);
  }

  /** Whether the subject may open a session here. A trial is over with any answer, with `onOpenFault` or `onTrialOver`. */
  admit(subject: string, nowMs: number): OpeningAdmission {
    return this.#silence?.admit(subject, nowMs) ?? 'free';
  }

  /** A trial of the subject was given up before it came to anything. */
  onTrialOver(subject: string): void {
    this.#silence?.onTrialOver(subject);
  }

  /**
   * An opening of the subject has failed.
   * @returns whether from here on it is known here when to try again.
   */
  onOpenFault(subject: string, fault: UpstreamFault, startedAtMs: number, nowMs: number): boolean {
    const isSilent = fault.kind === 'answer-timeout' && this.#answeredAtMs < startedAtMs;
    if (isSilent) {
      this.#silence ??= new SilenceLedger();
      this.#silence.onSilence(subject, nowMs);
    } else {
      this.#silence?.onTrialOver(subject);
    }
    return isSilent || this.circuit.fault !== undefined;
  }
}
