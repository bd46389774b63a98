// What a relay knows about reaching one URL of a backend, shared by all sessions that use it: its origin's circuit, whether `initialize` is
// answered there, and which era of MCP it speaks. Nothing else of the backend's answers is kept: they concern only the caller who got them.
import type { UpstreamFault } from '../http/upstream-fault.js';
import type { UpstreamTarget } from '../../user-config/upstream-target.js';
import type { OriginCircuit } from './origin-circuit.js';
import type { Forgiven } from './forgiven.js';
import { EraMemory } from './era-memory.js';
import { SilenceLedger, type OpeningAdmission } from './silence-ledger.js';

/** The headers of every request with a body: name, value, … */
export const CONTENT_HEADERS: readonly string[] = Object.freeze([
  ...['content-type', 'application/json'],
  ...['accept', 'application/json, text/event-stream'],
]);

export class BackendEndpoint {
  readonly circuit: OriginCircuit;
  /** The content headers, in this endpoint's own array: a request's head is remembered by its array (http1/request-bytes.ts). */
  readonly contentHeaders = [...CONTENT_HEADERS];
  readonly eras = new EraMemory();
  /** Where the backend has redirected requests to, within its origin. */
  moved: UpstreamTarget | undefined = undefined;
  #answeredAtMs = -Infinity;
  /** Present only while some subject waits in vain, or has done so recently. */
  #silence: SilenceLedger | undefined;

  constructor(circuit: OriginCircuit) {
    this.circuit = circuit;
  }

  /** The backend has begun any response, to any caller. Hot path. */
  onAnswer(nowMs: number): void {
    this.#answeredAtMs = nowMs;
    this.#silence = undefined;
    this.circuit.onAnswer(nowMs);
  }

  /** A reader has forgiven something. */
  onForgiven(what: Forgiven): void {
    const counts = (this.circuit.forgiven ??= {});
    counts[what] = (counts[what] ?? 0) + 1;
  }

  /** Where the backend once redirected to there may be nothing any more. */
  onRefused(status: number): void {
    if (status === 404 || status === 405) this.moved = undefined;
  }

  onFault(fault: UpstreamFault): void {
    this.circuit.onFault(fault);
  }

  /** Whether the subject may open a session here. A trial ends with any answer, with `onOpenFault` or with `onTrialOver`. */
  admit(subject: string, nowMs: number): OpeningAdmission {
    return this.#silence?.admit(subject, nowMs) ?? 'free';
  }

  /** The subject's trial was given up before it had an outcome. */
  onTrialOver(subject: string): void {
    this.#silence?.onTrialOver(subject);
  }

  /**
   * The subject's opening has failed.
   * @returns whether this endpoint now determines when to try again.
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
