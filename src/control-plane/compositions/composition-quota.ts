// What one subject may make, so that nobody fills the store, the publishers' time or a user's config for the others. The
// last to write a composition is its maker.
import { limits } from '../../shared/limits.js';
import type { CompositionDirectory } from './composition-directory.js';
import { CompositionFault } from './composition-fault.js';
import { encodeComposition, type StoredComposition } from './composition-storage.js';

/** Throws a `CompositionFault` when the composition would be more than its maker's share. */
export function refuseAboveQuota(composition: StoredComposition, known: CompositionDirectory): void {
  const { id, maker = '', subjects, hostBytes = 0 } = composition;
  const usage = known.usageOf(maker, id);
  if (usage.compositions >= limits.compositionsPerMakerMax) {
    full(`You have made ${usage.compositions} compositions, and can have no more: delete one first`);
  }
  const storedBytes = usage.storedBytes + encodeComposition(composition).length;
  if (storedBytes > limits.composedBytesPerMakerMax) {
    full(`Your compositions would have ${storedBytes} bytes together, of ${limits.composedBytesPerMakerMax}`);
  }
  const publishedBytes = usage.publishedBytes + hostBytes * subjects.length;
  if (publishedBytes > limits.publishedBytesPerMakerMax) {
    full(
      `Your compositions would write ${publishedBytes} bytes into the configs of their subjects, of ${limits.publishedBytesPerMakerMax}: name fewer subjects or tools`,
    );
  }
}

/** Why the subject's config has no room for it: one maker's compositions may fill no more than a part of it. */
export function findShareObstacle(
  subject: string,
  { id, maker = '', hostBytes = 0 }: StoredComposition,
  known: CompositionDirectory,
): string | undefined {
  let bytes = hostBytes;
  for (const other of known.forSubject(subject)) {
    if (other.id !== id && (other.maker ?? '') === maker) bytes += other.hostBytes ?? 0;
  }
  if (bytes <= limits.composedShareBytesMax) return undefined;
  return `your compositions would fill ${bytes} bytes of this user's config, of ${limits.composedShareBytesMax} for one maker`;
}

function full(words: string): never {
  throw new CompositionFault('compositions-full', words);
}
