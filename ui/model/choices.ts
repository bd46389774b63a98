// What the search that Ctrl+K opens can find, and in which order.
import type { IconName } from '../parts/icon-shapes.js';

export interface Choice {
  readonly key: string;
  readonly name: string;
  /** What it is, in a word; found by it, too. */
  readonly kind: string;
  readonly icon: IconName;
  /** A path within the console; `''` where `act` does something instead. */
  readonly page: string;
  readonly act?: () => void;
}

const SHOWN_MAX = 40;

/**
 * Each word must occur in the name or the kind. Names that begin with the text come first, then words that do; and at the end, the way to
 * the tools, which are too many to be read for a search.
 */
export function choicesFor(choices: readonly Choice[], text: string): readonly Choice[] {
  const sought = text.trim().toLowerCase();
  if (sought === '') return choices.slice(0, SHOWN_MAX);
  const words = sought.split(/\s+/);
  const ranked: (readonly [number, Choice])[] = [];
  for (const choice of choices) {
    const name = choice.name.toLowerCase();
    const all = `${name} ${choice.kind.toLowerCase()}`;
    if (!words.every((word) => all.includes(word))) continue;
    const starts = name.split(/[^\p{L}\p{N}]+/u).some((word) => word.startsWith(words[0] ?? ''));
    ranked.push([name === sought ? 0 : name.startsWith(sought) ? 1 : starts ? 2 : 3, choice]);
  }
  // Stable: within a rank, pages and actions stay before servers and compositions.
  const found = ranked.sort(([one], [other]) => one - other).map(([, choice]) => choice);
  const page = `/playground?${new URLSearchParams({ search: sought }).toString()}`;
  const tools: Choice = {
    key: 'tools',
    name: `Search the tools for “${sought}”`,
    kind: 'playground',
    icon: 'search',
    page,
  };
  return [...found.slice(0, SHOWN_MAX), tools];
}
