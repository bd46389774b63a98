// Quotas of one maker (the subject that last wrote a composition), so that nobody uses up the store, the publishers' time
// or a user's config at the expense of others.
import type { ComposerQuotas } from '../../config/index.js';
import type { CompositionDirectory } from './composition-directory.js';
import { ControlPlaneFault } from '../common/control-plane-fault.js';
import { encodeComposition, type StoredComposition } from './composition.js';

/** Throws a `ControlPlaneFault` if the composition would exceed its maker's quotas. */
export function refuseAboveQuota(
  composition: StoredComposition,
  directory: CompositionDirectory,
  quotas: ComposerQuotas,
): void {
  const { id, maker = '', subjects, hostBytes = 0 } = composition;
  const usage = directory.usageOf(maker, id);
  if (usage.compositionCount >= quotas.makerCompositionsMax) {
    refuseFull(`You have ${usage.compositionCount} compositions, which is the maximum: delete one first`);
  }
  const storedBytes = usage.storedBytes + encodeComposition(composition).length;
  if (storedBytes > quotas.makerComposedBytesMax) {
    refuseFull(
      `Your compositions would have ${storedBytes} bytes together; at most ${quotas.makerComposedBytesMax} are allowed`,
    );
  }
  const publishedBytes = usage.publishedBytes + hostBytes * subjects.length;
  if (publishedBytes > quotas.makerPublishedBytesMax) {
    refuseFull(
      `Your compositions would write ${publishedBytes} bytes into the configs of their subjects; at most ${quotas.makerPublishedBytesMax} are allowed: name fewer subjects or tools`,
    );
  }
}

/** Why the composition does not fit into the part of the subject's config that its maker may fill; `undefined` if it does. */
export function findQuotaObstacle(
  subject: string,
  { id, maker = '', hostBytes = 0 }: StoredComposition,
  known: CompositionDirectory,
  quotas: ComposerQuotas,
): string | undefined {
  let bytes = hostBytes;
  for (const other of known.forSubject(subject)) {
    if (other.id !== id && (other.maker ?? '') === maker) bytes += other.hostBytes ?? 0;
  }
  if (bytes <= quotas.makerConfigBytesMax) return undefined;
  return `your compositions would fill ${bytes} bytes of this user's config; at most ${quotas.makerConfigBytesMax} are allowed for one maker`;
}

/**
 * A subject's virtual hosts (JSON by id) without those that exceed their makers' quotas now. A virtual host can outgrow a quota after it
 * was written, because its servers get more curation.
 */
export function hostsWithinQuotas(
  compositions: readonly StoredComposition[],
  hosts: ReadonlyMap<string, string>,
  { makerConfigBytesMax }: Pick<ComposerQuotas, 'makerConfigBytesMax'>,
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
