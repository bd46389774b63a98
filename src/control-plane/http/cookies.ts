// The cookies by which consents and sign-ins are bound to the browser that began them: no script can read them. Cold path.
import type { FastifyReply, FastifyRequest } from 'fastify';

/** @returns `''` when there is none of this form. */
export function cookieIn({ headers: { cookie = '' } }: FastifyRequest, name: string, form: RegExp): string {
  for (const pair of cookie.split(/; */)) {
    const [each, value = ''] = pair.split('=', 2);
    if (each === name && form.test(value)) return value;
  }
  return '';
}

interface CookieRules {
  readonly path: string;
  readonly maxAgeMs: number;
  /** Whether pages of other sites may lead here with it. */
  readonly sameSite: 'Lax' | 'Strict';
  readonly isTls: boolean;
}

export function setCookie(reply: FastifyReply, name: string, value: string, rules: CookieRules): void {
  const { path, maxAgeMs, sameSite, isTls } = rules;
  const written = `Path=${path}; Max-Age=${maxAgeMs / 1_000}; HttpOnly; SameSite=${sameSite}${isTls ? '; Secure' : ''}`;
  reply.header('set-cookie', `${name}=${value}; ${written}`);
}
