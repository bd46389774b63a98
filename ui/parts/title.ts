// The title of the tab: a page that is about one thing names it, others have the name of their place. Screen readers announce it.
import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';

export const pageTitle = signal('');

export function useTitle(title: string): void {
  useEffect(() => {
    pageTitle.value = title;
    return () => void (pageTitle.value = '');
  }, [title]);
}
