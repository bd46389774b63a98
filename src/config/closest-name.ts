// For messages: finds the known name that is closest to a misspelled name. Cold path.

/** Words of many names: two names that share only these words are not alike. */
const COMMON_WORDS: ReadonlySet<string> = new Set(['name', 'switchyard']);

/**
 * The known name that shares most words with `name`, or differs from `name` in at most two letters; `undefined` if none is alike.
 * @param slipsInShort how many letters may differ in a name of up to three letters: 0 where unknown names are allowed, so that `uri` is
 *   not corrected to `url`.
 */
export function closestName(name: string, known: Iterable<string>, slipsInShort: 0 | 1 = 0): string | undefined {
  const words = wordsOf(name);
  const slipsMax = Math.max(slipsInShort, Math.min(2, Math.floor(name.length / 4)));
  let best: string | undefined;
  let bestScore = 0;
  for (const candidate of known) {
    const others = wordsOf(candidate);
    const shared = words.filter((word) => others.includes(word));
    const isSlip = editDistance(words.join(''), others.join('')) <= slipsMax;
    const isAlike = isSlip || shared.some((word) => !COMMON_WORDS.has(word));
    const score = isAlike ? (isSlip ? 1 : 0) + shared.length / new Set([...words, ...others]).size : 0;
    if (score > bestScore) [best, bestScore] = [candidate, score];
  }
  return best;
}

/** The words of a name in lower case, without the endings -s and -ed: `allowedToolNames` → allow, tool, name. */
function wordsOf(name: string): string[] {
  const words =
    name
      .replace(/([a-z\d])([A-Z])/g, '$1_$2')
      .toLowerCase()
      .match(/[a-z\d]+/g) ?? [];
  return words.map((word) => (word.length > 3 ? word.replace(/(?:ed|s)$/, '') : word));
}

/** How many letters to insert, omit, change or swap to turn one text into the other; 3 stands for three or more. */
function editDistance(one: string, other: string): number {
  if (Math.abs(one.length - other.length) > 2) return 3;
  let beforeLast: number[] = [];
  let last = Array.from({ length: other.length + 1 }, (_, column) => column);
  for (let row = 1; row <= one.length; row++) {
    const current = [row];
    for (let column = 1; column <= other.length; column++) {
      const isSame = one[row - 1] === other[column - 1];
      const isSwap = one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1];
      const [left = 0, up = 0, corner = 0] = [current[column - 1], last[column], last[column - 1]];
      const swapped = isSwap ? (beforeLast[column - 2] ?? 2) + 1 : 3;
      current.push(Math.min(left + 1, up + 1, corner + (isSame ? 0 : 1), swapped));
    }
    [beforeLast, last] = [last, current];
  }
  return Math.min(3, last[other.length] ?? 3);
}
