// Remembers for one URL which subjects got no answer to `initialize` in time. The cause may concern only one subject (its headers, its
// config's path), so a subject is refused only after a timeout of its own, and may try again after a delay. Once two subjects got no
// answer, any other gets the fault at once, while its first try continues in the background. Cold path.

import { dropOldest } from '../../shared/index.js';

export const SILENCE_SUBJECTS_MAX = 64;

/** The delay before the first probe of an unreachable origin, shortened at random by up to half. It doubles for each further probe. */
export const PROBE_DELAY_MS_MIN = 200;
/** The longest delay before a probe; short, so that an origin that is back is found soon. */
export const PROBE_DELAY_MS_MAX = 4_000;
/** After this time without requests, an origin is not probed any more: the next request tries it. A subject's timeout is forgotten, too. */
export const ORIGIN_FORGOTTEN_MS = 60_000;

interface SubjectSilence {
  /** The delay before the subject's next try; 0 until a try has timed out. */
  delayMs: number;
  retryAtMs: number;
  isTrying: boolean;
}

/** Once so many subjects got no answer, the first try of any other one is a trial. */
const UNANSWERED_SUBJECTS_MIN = 2;

/** Whether a subject may open a session. `trial`: yes, but no request should wait for it. `refused`: its last try is too recent. */
export type OpeningAdmission = 'free' | 'trial' | 'refused';

export class SilenceLedger {
  readonly #silences = new Map<string, SubjectSilence>();

  /** Whether the subject may open a session. After `trial`, call `onSilence` or `onTrialOver`. */
  admit(subject: string, nowMs: number): OpeningAdmission {
    this.#dropExpired(nowMs);
    const silence = this.#silences.get(subject);
    if (silence === undefined) {
      if (this.#silences.size < UNANSWERED_SUBJECTS_MIN) return 'free';
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
