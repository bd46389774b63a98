// What does not work through the gateway is tried without it: what comes of it there is what the two SDKs make of each other.
import type { ClientKind } from './clients.js';
import { FEATURES, fillMatrix, GOOD, type Pair, type WantedPair } from './matrix.js';

const ALIKE = 'so it is without the gateway: ';

/** The pairs, with the cells marked that are no better without the gateway. Where there is no connection without it, nothing is compared. */
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

/** Every cell is good, or what the SDKs are known not to do. */
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
