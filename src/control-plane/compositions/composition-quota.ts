// Limits of one maker, so that no subject fills the store, the publishers' time or a user's config at the expense of
// others. The maker of a composition is the subject that last wrote it.
import type { ComposerShares } from '../../config/index.js';
import type { CompositionDirectory } from './composition-directory.js';
import { ControlPlaneFault } from '../common/control-plane-fault.js';
import { encodeComposition, type StoredComposition } from './composition.js';

/** Throws a `ControlPlaneFault` when the composition would exceed its maker's share. */
export function refuseAboveQuota(
  composition: StoredComposition,
  known: CompositionDirectory,
  shares: ComposerShares,
): void {
  const { id, maker = '', subjects, hostBytes = 0 } = composition;
  const usage = known.usageOf(maker, id);
  if (usage.compositions >= shares.makerCompositionsMax) {
    full(`You have ${usage.compositions} compositions, which is the maximum: delete one first`);
  }
  const storedBytes = usage.storedBytes + encodeComposition(composition).length;
  if (storedBytes > shares.makerComposedBytesMax) {
    full(
      `Your compositions would have ${storedBytes} bytes together; at most ${shares.makerComposedBytesMax} are allowed`,
    );
  }
  const publishedBytes = usage.publishedBytes + hostBytes * subjects.length;
  if (publishedBytes > shares.makerPublishedBytesMax) {
    full(
      `Your compositions would write ${publishedBytes} bytes into the configs of their subjects; at most ${shares.makerPublishedBytesMax} are allowed: name fewer subjects or tools`,
    );
  }
}

/** Why the subject's config has no room for the composition: one maker's compositions may fill only a part of it. */
export function findShareObstacle(
  subject: string,
  { id, maker = '', hostBytes = 0 }: StoredComposition,
  known: CompositionDirectory,
  shares: ComposerShares,
): string | undefined {
  let bytes = hostBytes;
  for (const other of known.forSubject(subject)) {
    if (other.id !== id && (other.maker ?? '') === maker) bytes += other.hostBytes ?? 0;
  }
  if (bytes <= shares.makerConfigBytesMax) return undefined;
  return `your compositions would fill ${bytes} bytes of this user's config; at most ${shares.makerConfigBytesMax} are allowed for one maker`;
}

/**
 * Of one subject's virtual hosts (JSON by id), those that fit into their makers' shares now: servers' curation may have
 * grown since the compositions were written.
 */
export function hostsWithinShares(
  compositions: readonly StoredComposition[],
  hosts: ReadonlyMap<string, string>,
  { makerConfigBytesMax }: Pick<ComposerShares, 'makerConfigBytesMax'>,
): Map<string, string> {
  const bytesByMaker = new Map<string, number>();
  const fitting = new Map<string, string>();
  for (const { id, maker = '' } of compositions) {
    const json = hosts.get(id);
    if (json === undefined) continue;
    const bytes = (bytesByMaker.get(maker) ?? 0) + Buffer.byteLength(json);
    if (bytes > makerConfigBytesMax) continue;
    bytesByMaker.set(maker, bytes);
    fitting.set(id, json);
  }
  return fitting;
}

function full(words: string): never {
  throw new ControlPlaneFault('compositions-full', words);
}
