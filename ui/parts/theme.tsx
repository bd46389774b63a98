// The choice between light, dark, and what the system has. The browser remembers it.
import { signal } from '@preact/signals';
import type { JSX } from 'preact';

const KEY = 'switchyard.theme';
export const THEMES = [
  ['system', 'System'],
  ['light', 'Light'],
  ['dark', 'Dark'],
] as const;

const chosen = signal(localStorage.getItem(KEY) ?? 'system');

function apply(theme: string): void {
  document.documentElement.dataset['theme'] = theme;
}

export function setTheme(theme: string): void {
  localStorage.setItem(KEY, theme);
  chosen.value = theme;
  apply(theme);
}

/** Before the first picture, so that it does not change its colours. */
export function applyTheme(): void {
  apply(chosen.value);
}

export function ThemeChoice(): JSX.Element {
  return (
    <select aria-label="Theme" value={chosen.value} onChange={({ currentTarget: { value } }) => setTheme(value)}>
      {THEMES.map(([value, words]) => (
        <option key={value} value={value}>
          {words}
        </option>
      ))}
    </select>
  );
}
