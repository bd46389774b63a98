// The choice between light, dark, and what the system has. The browser remembers it.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';

const KEY = 'switchyard.theme';
const THEMES = [
  ['system', 'System'],
  ['light', 'Light'],
  ['dark', 'Dark'],
] as const;

function apply(theme: string): void {
  document.documentElement.dataset['theme'] = theme;
}

/** Before the first picture, so that it does not change its colours. */
export function applyTheme(): void {
  apply(localStorage.getItem(KEY) ?? 'system');
}

export function ThemeChoice(): JSX.Element {
  const [theme, setTheme] = useState(localStorage.getItem(KEY) ?? 'system');
  return (
    <select
      aria-label="Theme"
      value={theme}
      onChange={({ currentTarget: { value } }) => {
        localStorage.setItem(KEY, value);
        setTheme(value);
        apply(value);
      }}
    >
      {THEMES.map(([value, words]) => (
        <option key={value} value={value}>
          {words}
        </option>
      ))}
    </select>
  );
}
