// Remembers for one URL who waited in vain for the answer to `initialize`. The cause may be one caller's own (its headers, its config's
// path), so a subject is refused only after its own timeout, and may try again after a delay. Once two subjects have waited in vain, a
// third gets the fault at once, while its first try continues in the background. Cold path.

import { dropOldest } from '../../shared/index.js';

export const SILENCE_SUBJECTS_MAX = 64;

/** First wait before an unreachable origin is probed, shortened at random by up to half; it doubles. */
export const PROBE_DELAY_MS_MIN = 200;
/** Longest wait before a probe; short, so that a reachable origin is found soon. */
export const PROBE_DELAY_MS_MAX = 4_000;
/** Time without a request or another timeout after which an origin is no longer probed: the next request tries it. */
export const ORIGIN_FORGOTTEN_MS = 60_000;

interface SubjectSilence {
  /** The delay before the subject's next try; 0 until a try has timed out. */
  delayMs: number;
  retryAtMs: number;
  isTrying: boolean;
}

/** How many subjects must have waited in vain before others are refused. */
const WITNESSES_MIN = 2;

/** Whether a subject may try. `trial`: yes, but nobody should wait for it. `refused`: another try is in progress or was just made. */
export type OpeningAdmission = 'free' | 'trial' | 'refused';

export class SilenceLedger {
  readonly #silences = new Map<string, SubjectSilence>();

  /** Whether the subject may open a session. After `trial`, the outcome must be reported. */
  admit(subject: string, nowMs: number): OpeningAdmission {
    this.#dropExpired(nowMs);
    const silence = this.#silences.get(subject);
    if (silence === undefined) {
      if (this.#silences.size < WITNESSES_MIN) return 'free';
      this.#note(subject, { delayMs: 0, retryAtMs: nowMs, isTrying: true });
      return 'trial';
    }
    if (silence.isTrying || nowMs < silence.retryAtMs) return 'refused';
    silence.isTrying = true;
    return 'trial';
  }

  onSilence(subject: string, nowMs: number): void {
    const before = this.#silences.get(subject)?.delayMs ?? 0;
    const delayMs = Math.min(Math.max(before * 2, PROBE_DELAY_MS_MIN), PROBE_DELAY_MS_MAX);
    this.#silences.delete(subject);
    this.#note(subject, { delayMs, retryAtMs: nowMs + delayMs, isTrying: false });
  }

  onTrialOver(subject: string): void {
    const silence = this.#silences.get(subject);
    if (silence === undefined) return;
    silence.isTrying = false;
    if (silence.delayMs === 0) this.#silences.delete(subject);
  }

  #note(subject: string, silence: SubjectSilence): void {
    dropOldest(this.#silences, SILENCE_SUBJECTS_MAX);
    this.#silences.set(subject, silence);
  }

  #dropExpired(nowMs: number): void {
    for (const [subject, { retryAtMs }] of this.#silences) {
      if (nowMs - retryAtMs > ORIGIN_FORGOTTEN_MS) this.#silences.delete(subject);
    }
  }
}
