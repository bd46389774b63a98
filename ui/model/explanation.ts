// What the workers of the dataplane say about a subject at a virtual host, put together for people: what all of them say once, and where
// they differ who says what.
import type { ExplainedBackend, Explanation } from '../api/view-types.js';

export interface Said {
  readonly words: string;
  /** `[]`: all that have answered. */
  readonly slots: readonly number[];
}

export interface BackendRow extends ExplainedBackend {
  readonly slot: number;
  /** Why it cannot be reached, or could not at last; `''` when nothing is known against it. */
  readonly why: string;
}

/** What a call would come to; `[]` where no tool was named and nothing stands in the way. */
export function verdictsOf({ workers }: Explanation): readonly Said[] {
  return together(workers.map(({ slot, verdict, error }) => ({ slot, words: verdict ?? error ?? '' })));
}

/** What in the user config is not as it should be. */
export function odditiesOf({ workers }: Explanation): readonly Said[] {
  return together(workers.map(({ slot, oddities = '' }) => ({ slot, words: oddities })));
}

export function backendRowsOf({ workers }: Explanation): readonly BackendRow[] {
  return workers.flatMap(({ slot, backends }) =>
    backends.map((backend) => {
      const { obstacle, reason, lastFault } = backend;
      const last = lastFault === null ? '' : `${lastFault.reason} (${lastFault.at})`;
      return { ...backend, slot, why: obstacle ?? reason ?? last };
    }),
  );
}

/** `''` when all have answered. */
export function silenceWords(slots: readonly number[]): string {
  if (slots.length === 0) return '';
  const workers = slots.length === 1 ? 'The worker of slot' : 'The workers of slots';
  return `${workers} ${slots.join(', ')} did not respond in time: the following is from the others.`;
}

function together(each: readonly { readonly slot: number; readonly words: string }[]): readonly Said[] {
  const slotsOf = new Map<string, number[]>();
  for (const { slot, words } of each) slotsOf.set(words, [...(slotsOf.get(words) ?? []), slot]);
  const said = [...slotsOf].filter(([words]) => words !== '');
  return said.map(([words, slots]) => ({ words, slots: slotsOf.size === 1 ? [] : slots }));
}

export function durationWords(seconds: number): string {
  if (seconds < 120) return `${seconds} s`;
  return seconds < 7_200 ? `${Math.floor(seconds / 60)} min` : `${Math.floor(seconds / 3_600)} h`;
}
