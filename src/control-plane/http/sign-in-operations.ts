// Sign-in to the console at an OpenID Connect issuer. The routes are open, because the caller has no token yet. A cookie that
// no script can read binds a sign-in to its browser.
import type { FastifyReply } from 'fastify';
import { limits } from '../../shared/index.js';
import type { SignInFlow } from '../sign-in/sign-in-flow.js';
import { ControlPlaneFault } from '../common/control-plane-fault.js';
import { cookieIn, setCookie } from './browser-parts.js';
import { operationsOf, jsonAnswer } from './operation.js';

const COOKIE_NAME = 'switchyard-sign-in';
const COOKIE_VALUE = /^[\w-]{1,2048}$/;

function requireSignIn(signIn: SignInFlow | undefined): SignInFlow {
  if (signIn === undefined)
    throw new ControlPlaneFault('not-found', 'The console has no issuer to sign in at: that needs --sign-in-issuer');
  return signIn;
}

/** The cookie's name. Over TLS it has a prefix, which guarantees that this very host has set the cookie. */
function cookieName({ isTls }: SignInFlow): string {
  return isTls ? `__Host-${COOKIE_NAME}` : COOKIE_NAME;
}

function setSignInCookie(reply: FastifyReply, signIn: SignInFlow, value: string, maxAgeMs: number): void {
  setCookie(reply, cookieName(signIn), value, { path: '/', maxAgeMs, sameSite: 'Strict', isTls: signIn.isTls });
}

export const signInOperations = operationsOf('documentation', {
  'GET /ui/sign-in': {
    id: 'getSignIn',
    summary: 'How people sign in to the console',
    isOpen: true,
    isUncounted: true,
    answers: [jsonAnswer(200, 'The issuer, if there is one.', 'SignIn')],
    handle: async ({ signInFlow }) => ({ issuer: signInFlow?.issuerHost ?? null }),
  },
  'POST /ui/sign-in': {
    id: 'beginSignIn',
    summary: 'Begin to sign in to the console at its issuer',
    description:
      'The answer sets a cookie for this browser. The sign-in can be completed with it once, within ten minutes.',
    isOpen: true,
    answers: [jsonAnswer(200, 'Where it goes on.', 'SignInBeginning')],
    refusals: [404, 503],
    handle: async (parts, request, reply) => {
      const signIn = requireSignIn(parts.signInFlow);
      const { url, sealed } = await signIn.start(request.ip);
      setSignInCookie(reply, signIn, sealed, limits.personMsMax);
      return { url };
    },
  },
  'POST /ui/sign-in/token': {
    id: 'endSignIn',
    summary: 'End a sign-in with what the issuer has sent the browser back with',
    description: 'From the browser that has begun it, with the cookie.',
    isOpen: true,
    body: 'SignInCallback',
    answers: [jsonAnswer(200, 'A token of the issuer, for this interface.', 'SignedIn')],
    refusals: [403, 404, 422, 503],
    handle: async (parts, request, reply) => {
      const signIn = requireSignIn(parts.signInFlow);
      const { query } = request.body as { readonly query: string };
      const sealed = cookieIn(request, cookieName(signIn), COOKIE_VALUE);
      const removeCookie = (): void => setSignInCookie(reply, signIn, '', 0);
      const { token, signOutUrl } = await signIn.complete(query, sealed, request.ip, removeCookie);
      return { token, sign_out_url: signOutUrl ?? null };
    },
  },
});
