// A text with a button in its corner that copies it.
import type { ComponentChildren, JSX } from 'preact';
import { announce } from './announcements.js';
import { Icon } from './icon.js';

interface CopiedProps {
  readonly text: string;
  /** What is copied, for screen readers, such as `the result`. */
  readonly what: string;
  /** Said once it is copied. */
  readonly words?: string;
  /** The text as it is shown. */
  readonly children: ComponentChildren;
}

export function Copied({ text, what, words = 'Copied', children }: CopiedProps): JSX.Element {
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text);
      announce(words);
    } catch {
      announce('The browser does not allow copying: select and copy it by hand');
    }
  };
  return (
    <div class="copied">
      {children}
      <button type="button" onClick={() => void copy()}>
        <Icon name="copy" />
        Copy<span class="unseen"> {what}</span>
      </button>
    </div>
  );
}
