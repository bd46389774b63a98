// What one may do next: below lists that have little in them yet.
import type { JSX } from 'preact';
import { Link } from 'wouter-preact';
import { Icon, type IconName } from './icon.js';

/** Longer lists are of people who know their way. */
const SHOWN_UNTIL = 5;

interface NextStepsProps {
  /** How much there is already. */
  readonly count: number;
  /** Icon, page, title, and what it is for. */
  readonly steps: readonly (readonly [IconName, string, string, string])[];
}

export function NextSteps({ count, steps }: NextStepsProps): JSX.Element | null {
  if (count > SHOWN_UNTIL) return null;
  return (
    <nav class="next" aria-label="Next steps">
      {steps.map(([icon, page, title, words]) => (
        <Link key={page} href={page}>
          <Icon name={icon} />
          <strong>{title}</strong>
          <span class="note">{words}</span>
        </Link>
      ))}
    </nav>
  );
}
