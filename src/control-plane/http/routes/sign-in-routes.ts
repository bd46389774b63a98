// Begins and ends the console's sign-in at an OpenID Connect issuer. Open: the caller has no token yet. A sign-in is
// bound to its browser by a cookie that no script can read and no other site's page sends.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { limits } from '../../../shared/limits.js';
import type { SignIn } from '../../sign-in/sign-in.js';
import { HttpRefusal } from '../answered-error.js';
import { mount } from '../mount.js';
import { operations } from '../operations.js';

const COOKIE = 'switchyard-sign-in';
const KEPT = /^[\w-]{1,2048}$/;

/** @param signIn `undefined` where people sign in only with a token. */
export function mountSignInRoutes(app: FastifyInstance, signIn: SignIn | undefined): void {
  mount(app, operations.getSignIn, async () => ({ issuer: signIn?.issuerHost ?? null }));

  mount(app, operations.beginSignIn, async (request, reply) => {
    const there = required(signIn);
    const { url, kept } = await there.begin(request.ip);
    setCookie(reply, there, kept, limits.signInMs / 1_000);
    return { url };
  });

  mount(app, operations.endSignIn, async (request, reply) => {
    const there = required(signIn);
    const { query } = request.body as { readonly query: string };
    const forget = (): void => setCookie(reply, there, '', 0);
    const { token, signOutUrl } = await there.end(query, keptBy(request, there), request.ip, forget);
    return { token, sign_out_url: signOutUrl ?? null };
  });
}

function required(signIn: SignIn | undefined): SignIn {
  if (signIn === undefined)
    throw new HttpRefusal(404, 'The console has no issuer to sign in at: that needs --sign-in-issuer');
  return signIn;
}

/** Over TLS, the prefix guarantees that this very host has set the cookie. */
function cookieName({ isTls }: SignIn): string {
  return isTls ? `__Host-${COOKIE}` : COOKIE;
}

function setCookie(reply: FastifyReply, signIn: SignIn, value: string, maxAgeS: number): void {
  const rules = `Path=/; Max-Age=${maxAgeS}; HttpOnly; SameSite=Strict${signIn.isTls ? '; Secure' : ''}`;
  reply.header('set-cookie', `${cookieName(signIn)}=${value}; ${rules}`);
}

function keptBy({ headers: { cookie = '' } }: FastifyRequest, signIn: SignIn): string {
  for (const pair of cookie.split(/; */)) {
    const [name, value = ''] = pair.split('=', 2);
    if (name === cookieName(signIn) && KEPT.test(value)) return value;
  }
  return '';
}
