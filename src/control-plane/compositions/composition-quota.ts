// The shares of one maker, so that no subject fills the store, the publishers' time or a user's config at the expense of
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
    refuseFull(`You have ${usage.compositions} compositions, which is the maximum: delete one first`);
  }
  const storedBytes = usage.storedBytes + encodeComposition(composition).length;
  if (storedBytes > shares.makerComposedBytesMax) {
    refuseFull(
      `Your compositions would have ${storedBytes} bytes together; at most ${shares.makerComposedBytesMax} are allowed`,
    );
  }
  const publishedBytes = usage.publishedBytes + hostBytes * subjects.length;
  if (publishedBytes > shares.makerPublishedBytesMax) {
    refuseFull(
      `Your compositions would write ${publishedBytes} bytes into the configs of their subjects; at most ${shares.makerPublishedBytesMax} are allowed: name fewer subjects or tools`,
    );
  }
}

/** Why the composition exceeds the part of the subject's config that one maker may fill; `undefined` if it does not. */
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
 * Those of one subject's virtual hosts (JSON by id) that fit into their makers' shares now. Some may no longer fit, because the
 * curation of servers has grown since the compositions were written.
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

function refuseFull(words: string): never {
  throw new ControlPlaneFault('compositions-full', words);
}
