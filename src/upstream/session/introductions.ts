// What callers have said of themselves of late. Sessions of one program all say the same: they share one copy, where each would
// hold a block of memory for a few hundred bytes of it. Cold: once a session.
import { limits } from '../../shared/limits.js';
import { RecentMap } from '../../shared/recent-map.js';
import { introductionBytes, OWN_INTRODUCTION, type ClientIntroduction } from './client-introduction.js';

export class Introductions {
  readonly #known = new RecentMap<ClientIntroduction>(
    limits.introductionsKnownMax,
    limits.introductionsKnownMax * limits.introductionSharedBytesMax,
    introductionBytes,
  );

  /** @returns a copy, perhaps one that others with the same bytes have. */
  of(said: ClientIntroduction): ClientIntroduction {
    if (said === OWN_INTRODUCTION) return said;
    if (introductionBytes(said) > limits.introductionSharedBytesMax) return copyOf(said);
    const { clientInfo, capabilities } = said;
    // Each is one JSON object: where the first ends is plain.
    const key = clientInfo.toString('latin1') + capabilities.toString('latin1');
    let introduction = this.#known.get(key);
    if (introduction === undefined) {
      introduction = copyOf(said);
      this.#known.set(key, introduction);
    }
    return introduction;
  }
}

/** Not of the pool from which `Buffer` takes small ones: with them a whole block of it would stay. */
function copyOf({ clientInfo, capabilities }: ClientIntroduction): ClientIntroduction {
  const both = Buffer.allocUnsafeSlow(clientInfo.length + capabilities.length);
  clientInfo.copy(both);
  capabilities.copy(both, clientInfo.length);
  return { clientInfo: both.subarray(0, clientInfo.length), capabilities: both.subarray(clientInfo.length) };
}
