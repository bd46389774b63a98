// Signing in at an OpenID Connect issuer: the control plane does it; this page only sends the browser there and handles its return. Neither
// a token nor anything that a token can be obtained with stays in an address.
import { faultWords } from './api.js';
import { isComing, refusal, signedInAtIssuer, token } from './session.js';

/** Where the issuer redirects the browser to. */
const CALLBACK = '/ui/sign-in/callback';
const PLACE_KEY = 'switchyard.place';

/** The host of the issuer; `''` where none is configured. */
export async function issuerHost(): Promise<string> {
  const { issuer } = await answerOf<{ readonly issuer: string | null }>('/ui/sign-in');
  return issuer ?? '';
}

/** Leaves the page, or rejects with an error for users. */
export async function goToIssuer(): Promise<void> {
  const { url } = await answerOf<{ readonly url: string }>('/ui/sign-in', { method: 'POST' });
  sessionStorage.setItem(PLACE_KEY, location.pathname + location.search + location.hash);
  location.assign(url);
}

/** If the issuer has redirected the browser here, completes signing in and restores the address where it began. */
export function comeBack(): void {
  if (location.pathname !== CALLBACK) return;
  const query = location.search.slice(1);
  const place = sessionStorage.getItem(PLACE_KEY) ?? '';
  sessionStorage.removeItem(PLACE_KEY);
  history.replaceState(null, '', /^\/ui(?:[/?#]|$)/.test(place) && !place.startsWith(CALLBACK) ? place : '/ui/');
  isComing.value = true;
  void endSignIn(query).finally(() => (isComing.value = false));
}

async function endSignIn(query: string): Promise<void> {
  try {
    const body = JSON.stringify({ query });
    const headers = { 'content-type': 'application/json' };
    const answer = await answerOf<{ readonly token: string; readonly sign_out_url: string | null }>(
      '/ui/sign-in/token',
      { method: 'POST', headers, body },
    );
    signedInAtIssuer(answer.token, answer.sign_out_url ?? '');
  } catch (error) {
    // A user who is signed in already, and came here by an old address, stays signed in.
    if (token.value === '') refusal.value = faultWords(error);
  }
}

/** Rejects with an error for users. */
async function answerOf<Value>(path: string, init: RequestInit = {}): Promise<Value> {
  const response = await fetch(path, init).catch(() => undefined);
  if (response === undefined)
    throw new Error('The control plane does not respond: check that it is running and can be reached, then try again');
  const answer = (await response.json().catch(() => ({}))) as Value & { readonly detail?: string };
  if (response.ok) return answer;
  throw new Error(answer.detail ?? `Received status ${response.status}, but not from the control plane`);
}
