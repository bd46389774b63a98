// Who has lately waited in vain for one endpoint to answer `initialize`, by subject. Silence may be one caller's own doing (its
// headers, its config's path), so it never shuts an endpoint for others: a subject is kept back by its own experience only,
// and even then one try of it is always let through, when its delay is over. What two subjects have found in vain a third
// one is told at once, while its own first try goes on behind its back. Cold.
import { limits } from '../../shared/limits.js';

interface Silence {
  /** 0: it has not waited in vain itself. */
  delayMs: number;
  /** From when on it may try again. */
  retryAtMs: number;
  /** Whether its one try is under way. */
  isTrying: boolean;
}

/** How many subjects have to find an endpoint silent before it is expected of it. */
const WITNESSES_MIN = 2;

/** `free`: nothing is known. `trial`: let through, but not worth waiting for. `refused`: another try is under way or was just made. */
export type OpeningAdmission = 'free' | 'trial' | 'refused';

export class SilenceLedger {
  readonly #silences = new Map<string, Silence>();

  /** @param subject who is about to open a session; after `trial` it says how that went. */
  admit(subject: string, nowMs: number): OpeningAdmission {
    this.#dropOld(nowMs);
    const own = this.#silences.get(subject);
    if (own === undefined) {
      // Others' trials are no witnesses, but there are none without so many witnesses.
      if (this.#silences.size < WITNESSES_MIN) return 'free';
      this.#note(subject, { delayMs: 0, retryAtMs: nowMs, isTrying: true });
      return 'trial';
    }
    if (own.isTrying || nowMs < own.retryAtMs) return 'refused';
    own.isTrying = true;
    return 'trial';
  }

  /** An opening for the subject got no answer in time, nor did anybody meanwhile. */
  onSilence(subject: string, nowMs: number): void {
    const before = this.#silences.get(subject)?.delayMs ?? 0;
    const delayMs = Math.min(Math.max(before * 2, limits.probeDelayMsMin), limits.probeDelayMsMax);
    this.#silences.delete(subject);
    this.#note(subject, { delayMs, retryAtMs: nowMs + delayMs, isTrying: false });
  }

  /** A trial of the subject came to something else than silence. */
  onTrialOver(subject: string): void {
    const own = this.#silences.get(subject);
    if (own === undefined) return;
    own.isTrying = false;
    if (own.delayMs === 0) this.#silences.delete(subject);
  }

  #note(subject: string, silence: Silence): void {
    if (this.#silences.size >= limits.silenceSubjectsMax) {
      for (const oldest of this.#silences.keys()) {
        this.#silences.delete(oldest);
        break;
      }
    }
    this.#silences.set(subject, silence);
  }

  #dropOld(nowMs: number): void {
    for (const [subject, { retryAtMs }] of this.#silences) {
      if (nowMs - retryAtMs > limits.originForgottenMs) this.#silences.delete(subject);
    }
  }
}
