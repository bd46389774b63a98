// The part of the endpoint table for signing in to the console by OpenID Connect, used by the console's own page.
import type { Operation } from './operation.js';
import { json } from './operation-parts.js';

export const signInOperations = {
  getSignIn: {
    id: 'getSignIn',
    method: 'GET',
    path: '/ui/sign-in',
    tag: 'documentation',
    summary: 'How people sign in to the console',
    isOpen: true,
    isUncounted: true,
    answers: [json(200, 'The issuer, if there is one.', 'SignIn')],
  },
  beginSignIn: {
    id: 'beginSignIn',
    method: 'POST',
    path: '/ui/sign-in',
    tag: 'documentation',
    summary: 'Begin to sign in to the console at its issuer',
    description:
      'The answer sets a cookie for this browser. The sign-in can be completed with it once, within ten minutes.',
    isOpen: true,
    answers: [json(200, 'Where it goes on.', 'SignInBeginning')],
    refusals: [404, 503],
  },
  endSignIn: {
    id: 'endSignIn',
    method: 'POST',
    path: '/ui/sign-in/token',
    tag: 'documentation',
    summary: 'End a sign-in with what the issuer has sent the browser back with',
    description: 'From the browser that has begun it, with the cookie.',
    isOpen: true,
    body: 'SignInAnswer',
    answers: [json(200, 'A token of the issuer, for this interface.', 'SignedIn')],
    refusals: [403, 404, 422, 503],
  },
} as const satisfies Record<string, Operation>;
