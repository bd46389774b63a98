// The command line of the attack: which experiments, on which gateways, in full or short form.
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';

export type StoreKind = 'embedded' | 'redis';

/** One kind of gateway to attack. */
export interface Arrangement {
  readonly workerCount: number;
  readonly store: StoreKind;
}

export interface AttackOptions {
  /** All experiments when empty. */
  readonly only: readonly string[];
  readonly isShort: boolean;
  /** Tests whether the experiments can fail, instead of running them. */
  readonly isOfControls: boolean;
  readonly arrangements: readonly Arrangement[];
}

/** Read from the source tree, as `scripts/attack.mjs` does: `--help` needs no build. */
export const usage = readFileSync(new URL('../../../test/attack/usage.txt', import.meta.url), 'utf8');

const STORES: readonly StoreKind[] = ['embedded', 'redis'];

/** Throws an error fit for the user. `list` asks only for the names. */
export function parseOptions(words: readonly string[], names: readonly string[]): AttackOptions | 'list' {
  const { values } = parseArgs({
    args: [...words],
    options: {
      short: { type: 'boolean', default: false },
      controls: { type: 'boolean', default: false },
      only: { type: 'string', multiple: true, default: [] },
      workers: { type: 'string' },
      store: { type: 'string' },
      list: { type: 'boolean', default: false },
    },
  });
  if (values.list) return 'list';
  const unknown = values.only.filter((name) => !names.includes(name));
  if (unknown.length > 0) throw new Error(`no such experiment: ${unknown.join(', ')}`);
  const [workers, store] = [parseWorkers(values.workers), parseStore(values.store)];
  return {
    only: values.only,
    // An experiment that can fail does so with smaller counts, too.
    isShort: values.short || values.controls,
    isOfControls: values.controls,
    arrangements: values.controls
      ? [{ workerCount: workers ?? 1, store: store ?? 'embedded' }]
      : arrangementsOf(values.short, workers, store),
  };
}

function arrangementsOf(isShort: boolean, workers: number | undefined, store: StoreKind | undefined): Arrangement[] {
  if (isShort && workers === undefined && store === undefined) {
    return [
      { workerCount: 1, store: 'embedded' },
      { workerCount: 4, store: 'redis' },
    ];
  }
  const counts = workers === undefined ? [1, 4] : [workers];
  const stores = store === undefined ? STORES : [store];
  return stores.flatMap((kind) => counts.map((workerCount) => ({ workerCount, store: kind })));
}

function parseWorkers(word: string | undefined): number | undefined {
  if (word === undefined) return undefined;
  const count = Number(word);
  if (!Number.isInteger(count) || count < 1 || count > 64)
    throw new Error('--workers takes a whole number from 1 to 64');
  return count;
}

function parseStore(word: string | undefined): StoreKind | undefined {
  if (word === undefined) return undefined;
  const kind = STORES.find((candidate) => candidate === word);
  if (kind === undefined) throw new Error('--store takes embedded or redis');
  return kind;
}
