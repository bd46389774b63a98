// Messages about what was just done or has failed: shown for a while at the edge of the page, and announced by screen readers.
import { signal } from '@preact/signals';
import type { JSX } from 'preact';

interface Announcement {
  readonly id: number;
  readonly words: string;
}

const announcements = signal<readonly Announcement[]>([]);
let lastId = 0;

const SHOWN_MS = 6_000;
const SHOWN_MAX = 3;

export function announce(words: string): void {
  const id = ++lastId;
  announcements.value = [...announcements.value, { id, words }].slice(-SHOWN_MAX);
  setTimeout(() => (announcements.value = announcements.value.filter((each) => each.id !== id)), SHOWN_MS);
}

export function Announcements(): JSX.Element {
  return (
    <div class="announcements" role="status" aria-live="polite">
      {announcements.value.map(({ id, words }) => (
        <p key={id}>{words}</p>
      ))}
    </div>
  );
}
