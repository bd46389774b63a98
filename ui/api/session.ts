// Who is signed in: a token, kept for as long as the tab is open, and sent in a header, never in an address.
import { computed, signal } from '@preact/signals';
import { claimsOf } from '../model/token-claims.js';

const KEY = 'switchyard.token';
const SIGN_OUT_KEY = 'switchyard.sign-out';

export const token = signal(sessionStorage.getItem(KEY) ?? '');
/** Whether the user has just returned from the issuer and signing in is not complete yet. */
export const isComing = signal(false);
/** After signing out: where the session at the issuer can be ended too; `''`: nowhere. */
export const leaveUrl = signal('');
/** Why the last token was refused; `''` when it was not. */
export const refusal = signal('');

export const isSignedIn = computed(() => token.value !== '');
/** The subject that the token claims; only the control plane decides whether that is true. */
export const subject = computed(() => claimsOf(token.value).subject);

export function signIn(text: string): void {
  sessionStorage.setItem(KEY, text);
  refusal.value = '';
  leaveUrl.value = '';
  token.value = text;
}

/** @param signOutUrl where the session at the issuer can be ended; `''` where the issuer names no such URL. */
export function signedInAtIssuer(text: string, signOutUrl: string): void {
  sessionStorage.setItem(SIGN_OUT_KEY, signOutUrl);
  signIn(text);
}

/** @param why the token was refused; `''` when the user chose to sign out. */
export function signOut(why: string): void {
  sessionStorage.removeItem(KEY);
  leaveUrl.value = why === '' ? (sessionStorage.getItem(SIGN_OUT_KEY) ?? '') : '';
  sessionStorage.removeItem(SIGN_OUT_KEY);
  refusal.value = why;
  token.value = '';
}
