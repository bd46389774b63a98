// Who is signed in: a token, kept for as long as the tab is open and sent in a header, never in an address.
import { computed, signal } from '@preact/signals';
import { claimsOf } from '../model/token-claims.js';

const KEY = 'switchyard.token';
const SIGN_OUT_KEY = 'switchyard.sign-out';

export const token = signal(sessionStorage.getItem(KEY) ?? '');
/** Whether somebody comes back from an issuer, and is not signed in yet. */
export const isComing = signal(false);
/** Where the session at the issuer can be ended as well, once somebody has signed out here; `''`: nowhere. */
export const leaveUrl = signal('');
/** Why the last token is not taken; `''` when nothing is wrong with it. */
export const refusal = signal('');

export const isSignedIn = computed(() => token.value !== '');
/** As the token says; the control plane alone decides whether that is so. */
export const subject = computed(() => claimsOf(token.value).subject);

export function signIn(text: string): void {
  sessionStorage.setItem(KEY, text);
  refusal.value = '';
  leaveUrl.value = '';
  token.value = text;
}

/** @param signOutUrl where the session at the issuer is ended; `''` where it does not say so. */
export function signedInAtIssuer(text: string, signOutUrl: string): void {
  sessionStorage.setItem(SIGN_OUT_KEY, signOutUrl);
  signIn(text);
}

/** @param why the token is not taken any more; `''` when whoever has it wants to go. */
export function signOut(why: string): void {
  sessionStorage.removeItem(KEY);
  leaveUrl.value = why === '' ? (sessionStorage.getItem(SIGN_OUT_KEY) ?? '') : '';
  sessionStorage.removeItem(SIGN_OUT_KEY);
  refusal.value = why;
  token.value = '';
}
