// Which tool catalogues the list thread keeps: by subject, by the virtual host as it was compiled last, and by what each backend was
// shown. A subject never gets the catalogue of another.
import type { DeadlineWheel } from '../../shared/deadline-wheel.js';
import { limits } from '../../shared/limits.js';
import type { CompiledVirtualHost } from '../../user-config/compiled-config.js';
import { KeptLists, type KeptRead } from './kept-lists.js';
import { ObjectNumbers } from './object-numbers.js';

/** Age of the tools that `find_tools` searches while a backend's tools are missing. After it, they are read again. */
export const PARTIAL_CATALOGUE_AGE_MS = 5_000;

/** What identifies a kept catalogue. */
export interface CatalogueIdentity {
  readonly subject: string;
  readonly virtualHost: CompiledVirtualHost;
  /** What the backends are shown, and told about the client. */
  readonly shown: string;
}

export class Catalogues {
  /** The list thread's keys of the catalogues. */
  readonly #kept: KeptLists<number>;
  readonly #configs = new ObjectNumbers<CompiledVirtualHost>();

  constructor(deadlines: DeadlineWheel, onDropped: (subject: string, key: number) => void) {
    const {
      catalogueAgeMs: ageMs,
      catalogueBytesMax: bytesMax,
      catalogueBytesPerSubjectMax: bytesPerSubjectMax,
    } = limits;
    const rules = { ageMs, bytesMax, bytesPerSubjectMax, onDropped };
    this.#kept = new KeptLists(rules, deadlines, () => deadlines.nowMs());
  }

  find(identity: CatalogueIdentity): number | undefined {
    return this.#kept.find(identity.subject, this.#keyOf(identity));
  }

  /** The lists are requested now: a change reported from now on makes the read stale. */
  begin(subject: string, { backends }: CompiledVirtualHost): KeptRead<number> {
    return this.#kept.begin({ subject, kind: 'tools', backends: backends.values() });
  }

  /** @param isComplete whether no backend's tools are missing. @returns whether it is kept. */
  keep(read: KeptRead<number>, identity: CatalogueIdentity, key: number, bytes: number, isComplete: boolean): boolean {
    const ageMs = isComplete ? limits.catalogueAgeMs : PARTIAL_CATALOGUE_AGE_MS;
    return read.keep(this.#keyOf(identity), key, bytes + limits.listCacheEntryBytes, ageMs);
  }

  /** The thread no longer has the catalogue. */
  remove(identity: CatalogueIdentity): void {
    this.#kept.remove(identity.subject, this.#keyOf(identity));
  }

  onChanged(...changed: Parameters<KeptLists<number>['onChanged']>): void {
    this.#kept.onChanged(...changed);
  }

  clear(): void {
    this.#kept.clear();
  }

  #keyOf({ virtualHost, shown }: CatalogueIdentity): string {
    return `${this.#configs.of(virtualHost)} ${shown}`;
  }
}
