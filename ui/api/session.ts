// Who is signed in: a token, kept for as long as the tab is open and sent in a header, never in an address.
import { computed, signal } from '@preact/signals';
import { claimsOf } from '../model/token-claims.js';

const KEY = 'switchyard.token';

export const token = signal(sessionStorage.getItem(KEY) ?? '');
/** Why the last token is not taken; `''` when nothing is wrong with it. */
export const refusal = signal('');

export const isSignedIn = computed(() => token.value !== '');
/** As the token says; the control plane alone decides whether that is so. */
export const subject = computed(() => claimsOf(token.value).subject);

export function signIn(text: string): void {
  sessionStorage.setItem(KEY, text);
  refusal.value = '';
  token.value = text;
}

/** @param why the token is not taken any more; `''` when whoever has it wants to go. */
export function signOut(why: string): void {
  sessionStorage.removeItem(KEY);
  refusal.value = why;
  token.value = '';
}
