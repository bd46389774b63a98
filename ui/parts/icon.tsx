// The console's own icons: strokes on a grid of 24, in the colour of the text beside them, which says the same in words.
import type { JSX } from 'preact';

const SHAPES = {
  overview: 'M4 4h6.5v8H4zM13.5 4H20v4.5h-6.5zM13.5 12H20v8h-6.5zM4 15.5h6.5V20H4z',
  servers: 'M4 4.5h16v6H4zM4 13.5h16v6H4zM7.5 7.5h.01M7.5 16.5h.01M12 7.5h4.5M12 16.5h4.5',
  playground: 'M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zM10 8.5l5.5 3.5L10 15.5z',
  compose: 'm12 3 9 4.75-9 4.75-9-4.75zM3 12.25 12 17l9-4.75M3 16.5l9 4.5 9-4.5',
  explain: 'M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zM9.5 9.5a2.5 2.5 0 1 1 3.4 2.3c-.6.3-.9.8-.9 1.7M12 16.75h.01',
  audit: 'M3.5 12A8.5 8.5 0 1 0 6 6L3.5 8.5M3.5 4v4.5H8M12 7.5V12l3 2',
  add: 'M12 5v14M5 12h14',
  theme: 'M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zM12 3v18M12 7.5h7.5M12 12h9M12 16.5h7.5',
  search: 'M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14zM16 16l4 4',
} as const;

export type IconName = keyof typeof SHAPES;

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
      <g fill="none" stroke="var(--raised)" stroke-width="2.75" stroke-linecap="round">
        <path d="M6 10h20M6 22h20M9 22c7 0 7-12 14-12" />
      </g>
    </svg>
  );
}
