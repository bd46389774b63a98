// A relative time. The exact one appears when it is pointed at or has the focus.
import type { JSX } from 'preact';
import { sinceWords } from '../model/since-words.js';

export function Since({ time }: { readonly time: string | null }): JSX.Element {
  if (time === null) return <>never</>;
  return (
    <time class="since" dateTime={time} data-exact={new Date(time).toLocaleString()} tabIndex={0}>
      {sinceWords(Date.now() - Date.parse(time))}
    </time>
  );
}
