// A backend that does not answer `initialize`. The cause may be one caller's own (its headers, its config's path), so a silent endpoint is
// not closed to other subjects: a subject is refused only after its own timeout, and gets one try whenever its delay is over. Once two
// subjects have met silence, a third gets the fault at once, while its own first try continues in the background. Cold path.

/** Subjects whose timeouts at one URL are remembered. Beyond that, the oldest is forgotten. */
export const SILENCE_SUBJECTS_MAX = 64;

/** First wait before an unreachable origin is probed, shortened at random by up to half. After that, it is probed, and the wait doubles. */
export const PROBE_DELAY_MS_MIN = 200;
/** Longest wait before such a probe; short, so that a reachable origin is found soon. After that, the wait grows no further. */
export const PROBE_DELAY_MS_MAX = 4_000;
/**
 * Time without any request for an unreachable origin, or without another timeout of a silent URL. After that, probing stops, or the silence
 * is forgotten; the next request tries it.
 */
export const ORIGIN_FORGOTTEN_MS = 60_000;

interface SubjectSilence {
  /** 0 until one of the subject's own tries has timed out. */
  delayMs: number;
  retryAtMs: number;
  /** Whether the subject's one permitted try is in progress. */
  isTrying: boolean;
}

/** Subjects that must have met silence before others get its fault at once. */
const WITNESSES_MIN = 2;

/** `free`: nothing is known. `trial`: let through, but not worth waiting for. `refused`: another try is in progress or was just made. */
export type OpeningAdmission = 'free' | 'trial' | 'refused';

/** The subjects that have recently waited in vain for one endpoint. */
export class SilenceLedger {
  /** By subject, oldest first. */
  readonly #silences = new Map<string, SubjectSilence>();

  /** @param subject is about to open a session; after `trial`, its outcome must be reported. */
  admit(subject: string, nowMs: number): OpeningAdmission {
    this.#dropOld(nowMs);
    const own = this.#silences.get(subject);
    if (own === undefined) {
      // Subjects that have only a trial are counted too, but there are such only where enough others have met silence.
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
    const delayMs = Math.min(Math.max(before * 2, PROBE_DELAY_MS_MIN), PROBE_DELAY_MS_MAX);
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

  #note(subject: string, silence: SubjectSilence): void {
    dropOldest(this.#silences, SILENCE_SUBJECTS_MAX);
    this.#silences.set(subject, silence);
  }

  #dropOld(nowMs: number): void {
    for (const [subject, { retryAtMs }] of this.#silences) {
      if (nowMs - retryAtMs > ORIGIN_FORGOTTEN_MS) this.#silences.delete(subject);
    }
  }
}

/** Makes room for one more entry. @returns the dropped value, if any. */
export function dropOldest<Value>(map: Map<string, Value>, sizeMax: number): Value | undefined {
  if (map.size < sizeMax) return undefined;
  for (const [key, value] of map) {
    map.delete(key);
    return value;
  }
  return undefined;
}
