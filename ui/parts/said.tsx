// A text that somebody else has written: always shown as text, never as markup, isolated in its direction, and cut to a maximum length.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { plainText } from '../model/plain-text.js';

interface SaidProps {
  readonly text: unknown;
  readonly max?: number;
}

const SHORT = 300;
/** What a page can show without freezing. */
const LONG = 20_000;

export function Said({ text, max = SHORT }: SaidProps): JSX.Element {
  const { text: shown, leftOut } = plainText(text, max);
  return (
    <bdi class="said">
      {shown}
      {leftOut > 0 && '…'}
    </bdi>
  );
}

/** A text that may be long: its beginning, and more on request. */
export function LongSaid({ text, max = SHORT }: SaidProps): JSX.Element {
  const [isWhole, setWhole] = useState(false);
  const { text: shown, leftOut } = plainText(text, isWhole ? LONG : max);
  return (
    <div class="long-said">
      <bdi class="said">{shown}</bdi>
      {leftOut > 0 && isWhole && (
        <span class="note"> … and {leftOut.toLocaleString()} characters that are not shown</span>
      )}
      {leftOut > 0 && !isWhole && (
        <button type="button" class="quiet" onClick={() => setWhole(true)}>
          Show more
        </button>
      )}
    </div>
  );
}

export function CodeBlock({ text, label }: { readonly text: unknown; readonly label: string }): JSX.Element {
  const { text: shown, leftOut } = plainText(text, LONG);
  return (
    <pre class="code" tabIndex={0} role="region" aria-label={label}>
      <bdi>{shown}</bdi>
      {leftOut > 0 && `\n… and ${leftOut.toLocaleString()} characters that are not shown`}
    </pre>
  );
}
