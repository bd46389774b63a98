// What a caller says about itself in `initialize`, forwarded byte for byte to each backend. The session keeps these bytes, and counts them
// as session memory.
import { createHash } from 'node:crypto';
import { PROGRAM_VERSION, KIB, RecentMap, getOrMake } from '../../shared/index.js';

export interface ClientIntroduction {
  readonly clientInfo: Buffer;
  /** What backends can ask the caller for (sampling, elicitation, roots), as JSON. */
  readonly capabilities: Buffer;
}

/** The gateway's own introduction, for callers without `initialize`. It offers nothing, as no client could answer a backend's request. */
export const OWN_INTRODUCTION: ClientIntroduction = {
  clientInfo: Buffer.from(JSON.stringify({ name: 'switchyard', version: PROGRAM_VERSION })),
  capabilities: Buffer.from('{}'),
};

export function introductionBytes({ clientInfo, capabilities }: ClientIntroduction): number {
  return clientInfo.length + capabilities.length;
}

/** A hash: callers with the same hash look the same to a backend. @param others values besides the introduction in which callers differ. */
export function hashOfIntroduction(
  { clientInfo, capabilities }: ClientIntroduction,
  others: readonly unknown[],
): string {
  const hash = createHash('sha256').update(JSON.stringify([...others, capabilities.length]));
  return hash.update(capabilities).update(clientInfo).digest('base64');
}

/** Introductions that new sessions of a worker can share. Beyond that, the oldest is no longer shared. */
export const INTRODUCTIONS_KNOWN_MAX = 256;
/** The most bytes of an introduction that is shared. */
export const INTRODUCTION_SHARED_BYTES_MAX = 2 * KIB;

/**
 * Recent introductions, shared by sessions of the same client program: a copy for each would hold a block of memory for a few hundred
 * bytes. Cold path: once per session.
 */
export class Introductions {
  readonly #known = new RecentMap<ClientIntroduction>(
    INTRODUCTIONS_KNOWN_MAX,
    INTRODUCTIONS_KNOWN_MAX * INTRODUCTION_SHARED_BYTES_MAX,
    introductionBytes,
  );

  sharedCopyOf(original: ClientIntroduction): ClientIntroduction {
    if (original === OWN_INTRODUCTION) return original;
    if (introductionBytes(original) > INTRODUCTION_SHARED_BYTES_MAX) return copyOf(original);
    const { clientInfo, capabilities } = original;
    // Both parts are JSON objects, so it is clear where the first ends.
    const key = clientInfo.toString('latin1') + capabilities.toString('latin1');
    return getOrMake(this.#known, key, () => copyOf(original));
  }
}

/** A copy in memory of its own: one small slice of `Buffer`'s pool would keep a whole block alive. */
function copyOf({ clientInfo, capabilities }: ClientIntroduction): ClientIntroduction {
  const both = Buffer.allocUnsafeSlow(clientInfo.length + capabilities.length);
  clientInfo.copy(both);
  capabilities.copy(both, clientInfo.length);
  return { clientInfo: both.subarray(0, clientInfo.length), capabilities: both.subarray(clientInfo.length) };
}
