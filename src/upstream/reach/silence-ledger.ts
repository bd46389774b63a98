// Which subjects have recently waited in vain for one endpoint to answer `initialize`. Silence may be one caller's own doing (its headers,
// its config's path), so it never closes an endpoint to others: a subject is held back only by its own experience, and even then gets one
// try whenever its delay is over. Once two subjects have found the endpoint silent, a third is told so at once, while its own first try
// continues in the background. Cold path.
import { limits } from '../../shared/limits.js';

/** Subjects whose timeouts at one URL are remembered. Beyond it, the oldest is forgotten. */
export const SILENCE_SUBJECTS_MAX = 64;

interface Silence {
  /** 0 while the subject has not waited in vain itself. */
  delayMs: number;
  /** The time from which the subject may try again. */
  retryAtMs: number;
  /** Whether its one permitted try is in progress. */
  isTrying: boolean;
}

/** How many subjects must find an endpoint silent before others are told that it is. */
const WITNESSES_MIN = 2;

/** `free`: nothing is known. `trial`: let through, but not worth waiting for. `refused`: another try is in progress or was just made. */
export type OpeningAdmission = 'free' | 'trial' | 'refused';

export class SilenceLedger {
  readonly #silences = new Map<string, Silence>();

  /** @param subject that is about to open a session; after `trial` it must report the outcome. */
  admit(subject: string, nowMs: number): OpeningAdmission {
    this.#dropOld(nowMs);
    const own = this.#silences.get(subject);
    if (own === undefined) {
      // Entries of pure trials are counted too, but they exist only if there were enough real witnesses.
      if (this.#silences.size < WITNESSES_MIN) return 'free';
      this.#note(subject, { delayMs: 0, retryAtMs: nowMs, isTrying: true });
      return 'trial';
    }
    if (own.isTrying || nowMs < own.retryAtMs) return 'refused';
    own.isTrying = true;
    return 'trial';
  }

  /** The subject's opening got no answer in time, and nobody else got one meanwhile. */
  onSilence(subject: string, nowMs: number): void {
    const before = this.#silences.get(subject)?.delayMs ?? 0;
    const delayMs = Math.min(Math.max(before * 2, limits.probeDelayMsMin), limits.probeDelayMsMax);
    this.#silences.delete(subject);
    this.#note(subject, { delayMs, retryAtMs: nowMs + delayMs, isTrying: false });
  }

  /** The subject's trial ended with something other than silence. */
  onTrialOver(subject: string): void {
    const own = this.#silences.get(subject);
    if (own === undefined) return;
    own.isTrying = false;
    if (own.delayMs === 0) this.#silences.delete(subject);
  }

  #note(subject: string, silence: Silence): void {
    if (this.#silences.size >= SILENCE_SUBJECTS_MAX) {
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
