// Asks before edits are lost that nobody has saved: at links within the console, the browser's own buttons, and the closing of the page. The
// question is the browser's own, because nothing else can hold up the way back.
import { useEffect } from 'preact/hooks';

const QUESTION = 'What you have changed on this page is not published, and would be lost. Leave the page?';

/** The address of the page that has unsaved edits; `''` when there is none. */
let edited = '';

/** Whether the page may be left; asks if something on it is unsaved. */
export function mayLeave(): boolean {
  if (edited !== '' && !confirm(QUESTION)) return false;
  edited = '';
  return true;
}

/** What was unsaved has been saved, or is to be lost. */
export function forgetUnsaved(): void {
  edited = '';
}

/** @param hasEdits whether the page that calls this has edits that would be lost. */
export function useUnsaved(hasEdits: boolean): void {
  useEffect(() => {
    if (!hasEdits) return undefined;
    edited = location.href;
    return forgetUnsaved;
  }, [hasEdits]);
}

addEventListener('beforeunload', (event) => {
  if (edited !== '') event.preventDefault();
});

// Added before the router listens, which must not see the address that the browser shows already.
addEventListener('popstate', (event) => {
  const here = edited;
  if (mayLeave()) return;
  event.stopImmediatePropagation();
  history.pushState(null, '', here);
});
