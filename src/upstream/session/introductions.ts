// The recent introductions of callers. Sessions of the same client program send identical ones and share one copy, because a copy for each
// would hold a block of memory for a few hundred bytes. Cold path: once per session.
import { limits } from '../../shared/limits.js';
import { RecentMap } from '../../shared/recent-map.js';
import { introductionBytes, OWN_INTRODUCTION, type ClientIntroduction } from './client-introduction.js';

export class Introductions {
  readonly #known = new RecentMap<ClientIntroduction>(
    limits.introductionsKnownMax,
    limits.introductionsKnownMax * limits.introductionSharedBytesMax,
    introductionBytes,
  );

  /** @returns a copy, possibly shared by callers with the same bytes. */
  of(said: ClientIntroduction): ClientIntroduction {
    if (said === OWN_INTRODUCTION) return said;
    if (introductionBytes(said) > limits.introductionSharedBytesMax) return copyOf(said);
    const { clientInfo, capabilities } = said;
    // Each part is one JSON object, so the end of the first is unambiguous.
    const key = clientInfo.toString('latin1') + capabilities.toString('latin1');
    let introduction = this.#known.get(key);
    if (introduction === undefined) {
      introduction = copyOf(said);
      this.#known.set(key, introduction);
    }
    return introduction;
  }
}

/** Not allocated from `Buffer`'s pool for small buffers, because one small slice would keep a whole block of it alive. */
function copyOf({ clientInfo, capabilities }: ClientIntroduction): ClientIntroduction {
  const both = Buffer.allocUnsafeSlow(clientInfo.length + capabilities.length);
  clientInfo.copy(both);
  capabilities.copy(both, clientInfo.length);
  return { clientInfo: both.subarray(0, clientInfo.length), capabilities: both.subarray(clientInfo.length) };
}
