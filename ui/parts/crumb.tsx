// Before the title of a page: the page that it belongs to, and the way back to it.
import type { JSX } from 'preact';
import { Link } from 'wouter-preact';
import { Said } from './said.js';

const PLACES = { '/servers': 'Servers', '/compose': 'Compositions' } as const;

export function Crumb({ to }: { readonly to: keyof typeof PLACES }): JSX.Element {
  return (
    <span class="crumb">
      <Link href={to}>{PLACES[to]}</Link> <span aria-hidden="true">/</span>
    </span>
  );
}

interface UnknownProps {
  readonly to: keyof typeof PLACES;
  /** What is asked for. */
  readonly reference: string;
  readonly isReading: boolean;
}

/** The heading of a page about one thing while that thing is read, and where it cannot be. */
export function UnknownHeading({ to, reference, isReading }: UnknownProps): JSX.Element {
  return (
    <div class="heading">
      <div class="titled">
        <Crumb to={to} />
        <h1>{isReading ? '…' : <Said text={reference} max={64} />}</h1>
      </div>
    </div>
  );
}
