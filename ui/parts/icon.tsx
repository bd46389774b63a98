// An icon, in the colour of the text beside it, which says the same in words; and the logo.
import type { JSX } from 'preact';
import { SHAPES, type IconName } from './icon-shapes.js';

export type { IconName };

export function Icon({ name }: { readonly name: IconName }): JSX.Element {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false">
      <path d={SHAPES[name]} />
    </svg>
  );
}

/** Two tracks, and the switch that joins them. */
export function Logo(): JSX.Element {
  return (
    <svg class="logo" viewBox="0 0 32 32" aria-hidden="true" focusable="false">
      <rect width="32" height="32" rx="8" fill="currentColor" />
      <g fill="none" stroke="var(--fill-ink)" stroke-width="2.75" stroke-linecap="round">
        <path d="M6 10h20M6 22h20M9 22c7 0 7-12 14-12" />
      </g>
    </svg>
  );
}
