// Trials that fail through the gateway are repeated without it: what fails there as well is a matter between the two SDKs.
import type { ClientKind } from './clients.js';
import { FEATURES, fillMatrix, GOOD, type Pair, type WantedPair } from './matrix.js';

const ALIKE = 'so it is without the gateway: ';

/** @returns the pairs; cells that also fail without the gateway are marked. Pairs that cannot connect without it are not compared. */
export async function compared(wanted: readonly WantedPair[], pairs: readonly Pair[]): Promise<readonly Pair[]> {
  const doubted = wanted.flatMap((pair, at) => {
    const bad = FEATURES.filter((feature) => !isKnown(pair, pairs[at]!.cells[feature]));
    return bad.length === 0 ? [] : [{ pair: { ...pair, wanted: bad }, at }];
  });
  const direct = await fillMatrix(
    async ({ url }) => ({ url, token: undefined, backendName: undefined }),
    doubted.map(({ pair }) => pair),
  );
  const known = [...pairs];
  for (const [row, { at }] of doubted.entries()) {
    const { version, cells } = direct[row]!;
    const alike = Object.entries(cells).filter(([, cell]) => version !== 'none' && cell !== GOOD);
    const marked = Object.fromEntries(alike.map(([feature, cell]) => [feature, `${ALIKE}${cell}`]));
    known[at] = { ...pairs[at]!, cells: { ...pairs[at]!.cells, ...marked } };
  }
  return known;
}

/** Whether each cell is good, or fails for a reason known of the SDKs. */
export function isAsExpected(wanted: readonly WantedPair[], pairs: readonly Pair[]): boolean {
  return wanted.every((pair, at) =>
    FEATURES.every((feature) => {
      const cell = pairs[at]!.cells[feature];
      return isKnown(pair, cell) || cell.startsWith(ALIKE);
    }),
  );
}

function isKnown({ client, backend }: WantedPair, cell: string): boolean {
  return cell === GOOD || [client, backend].some((kind) => excusesOf(kind).includes(cell));
}

function excusesOf({ cannot = {} }: Pick<ClientKind, 'cannot'>): readonly string[] {
  return Object.values(cannot);
}
