// The differences between two states of a composition, line by line.
import type { JSX } from 'preact';
import type { Difference } from '../../model/composition-draft.js';
import { Said } from '../../parts/said.js';

const SHOWN_MAX = 200;
const SIGN_WORDS = { '+': 'added', '-': 'removed', '~': 'changed' } as const;

interface DifferencesProps {
  readonly id: string;
  readonly title: string;
  readonly differences: readonly Difference[];
}

export function DifferenceList({ id, title, differences }: DifferencesProps): JSX.Element | null {
  if (differences.length === 0) return null;
  return (
    <section class="card" aria-labelledby={id}>
      <h2 id={id}>{title}</h2>
      <ul class="differences">
        {differences.slice(0, SHOWN_MAX).map(({ sign, words }) => (
          <li key={`${sign}${words}`} class={SIGN_WORDS[sign]}>
            <span class="sign">{SIGN_WORDS[sign]}</span> <Said text={words} />
          </li>
        ))}
        {differences.length > SHOWN_MAX && <li>and {differences.length - SHOWN_MAX} more</li>}
      </ul>
    </section>
  );
}
