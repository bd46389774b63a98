// Keeps what somebody has typed. Asks before edits are lost that nobody has saved: at links within the console, the browser's own buttons,
// and the closing of the page. The question is the browser's own, because nothing else can hold up the way back. Where a token ends in the
// middle of a form, nobody can be asked: the form is kept for as long as the tab is open, and is there again after signing in.
import { useEffect, useRef } from 'preact/hooks';
import { refusal, subject } from '../api/session.js';

const QUESTION = 'What you have changed on this page is not saved, and would be lost. Leave the page?';
const KEY = 'switchyard.draft';

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

/** As `useUnsaved`, for a form that is kept when the token ends. @param draft what `keptDraft` is to return then. */
export function useDraft(draft: unknown, hasEdits: boolean): void {
  useUnsaved(hasEdits);
  const latest = useRef<unknown>();
  latest.current = hasEdits ? draft : undefined;
  useEffect(() => {
    const kept = { of: subject.peek(), at: location.pathname };
    return () => {
      if (refusal.peek() === '' || latest.current === undefined) return;
      sessionStorage.setItem(KEY, JSON.stringify({ ...kept, draft: latest.current }));
    };
  }, []);
}

/** The form that was kept for this page and this user; `undefined` where none was. */
export function keptDraft<Draft>(): Draft | undefined {
  const kept = JSON.parse(sessionStorage.getItem(KEY) ?? '{}') as {
    readonly of?: string;
    readonly at?: string;
    readonly draft?: Draft;
  };
  return kept.of === subject.peek() && kept.at === location.pathname ? kept.draft : undefined;
}

/** It is shown again, or is not wanted any more. */
export function dropKeptDraft(): void {
  sessionStorage.removeItem(KEY);
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
