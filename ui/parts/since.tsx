// A relative time, with the exact one as its tooltip.
import type { JSX } from 'preact';
import { sinceWords } from '../model/since-words.js';

export function Since({ time }: { readonly time: string | null }): JSX.Element {
  if (time === null) return <>never</>;
  return (
    <time dateTime={time} title={new Date(time).toLocaleString()}>
      {sinceWords(Date.now() - Date.parse(time))}
    </time>
  );
}
