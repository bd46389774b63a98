// Signing in at an issuer: what browsers keep of it is valid once and for a short time, and how much of it there may be at once. The whole
// of it is tested in a browser (`test/ui/signing-in.test.ts`).
import { randomBytes } from 'node:crypto';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pino } from 'pino';
import t, { type Test } from 'tap';
import type { TokenOutcome } from '../../src/auth/token-verifier.js';
import {
  PendingSignIns,
  type PendingSignIn,
  SIGN_INS_ENDED_MAX,
  SignInFlow,
} from '../../src/control-plane/sign-in/sign-in-flow.js';
import { ControlPlaneFault } from '../../src/control-plane/common/control-plane-fault.js';
import { Http1Upstream } from '../../src/http-client/http1-upstream.js';
import { Names } from '../../src/http-client/names/names.js';
import { limits, perSubject } from '../../src/shared/limits.js';

const http = new Http1Upstream({ connectTimeoutMs: limits.connectMsMax, names: new Names() });

const NOW_MS = 1_000_000;

function begunWith(state: string, untilMs = NOW_MS + limits.personMsMax): PendingSignIn {
  return { state, nonce: 'n', verifier: 'v', untilMs };
}

t.test(
  'a browser’s sign-in cookie is valid once, in time, for its own state, and under the keys that sealed it',
  async (t) => {
    const key = randomBytes(32).toString('base64');
    const [one, other, stranger] = [new PendingSignIns([key]), new PendingSignIns([key]), new PendingSignIns([])];
    const begun = begunWith('s');
    const sealed = one.seal(begun);
    const notHere = { name: 'ControlPlaneFault', code: 'sign-in-refused', message: /was not started in this browser/ };
    t.throws(() => one.take('', 's', NOW_MS), notHere);
    t.throws(() => one.take(sealed.slice(0, -4), 's', NOW_MS), notHere, 'changed');
    t.throws(() => one.take(sealed, 'another', NOW_MS), notHere);
    t.throws(() => stranger.take(sealed, 's', NOW_MS), notHere);
    t.throws(() => stranger.take(sealed, '', NOW_MS), notHere);
    t.throws(() => one.take(sealed, 's', begun.untilMs), { code: 'sign-in-refused', message: /has expired/ });
    t.strictSame(
      other.take(sealed, 's', begun.untilMs - 1),
      begun,
      'none of these has used it up, and others with the key take it',
    );
    t.throws(() => other.take(sealed, 's', NOW_MS), { code: 'sign-in-refused', message: /was already completed/ });
  },
);

t.test('finished sign-ins are remembered until they are too old, and their number is bounded', async (t) => {
  const begun = new PendingSignIns([]);
  const take = (state: string): PendingSignIn => begun.take(begun.seal(begunWith(state)), state, NOW_MS);
  take('first');
  for (let i = 1; i < SIGN_INS_ENDED_MAX; i++) take(`s${i}`);
  t.throws(() => take('first'), ControlPlaneFault, 'all of them are');
  take('one more');
  t.throws(() => take('s1'), ControlPlaneFault);
  t.equal(take('first').state, 'first', 'the oldest was forgotten');
});

t.test('the number of sign-ins in progress is bounded, in all and per address', async (t) => {
  const silent = createServer(() => {});
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  const issuer = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
  const signIn = new SignInFlow(
    { issuer, clientId: 'c', clientSecret: undefined, scope: 'openid', resource: undefined, consoleUrl: issuer },
    {
      ...{ tokens: { verify: () => ({ kind: 'refused', reason: 'missing' }) }, audience: 'a', keys: [] },
      ...{ names: new Names(), http, mode: 'plain-text-or-tls', logger: pino({ level: 'silent' }) },
    },
  );
  const full = { name: 'ControlPlaneFault', code: 'sign-ins-full', message: /^Too many people are signing in/ };
  const waiting: Promise<unknown>[] = [];
  const begin = (address: string): void => void waiting.push(signIn.start(address).catch((error: unknown) => error));
  const share = perSubject(limits.signInsAtOnceMax);
  for (let i = 0; i < share; i++) begin('a0');
  await t.rejects(signIn.start('a0'), full, 'one address has its share');
  for (let address = share; address < limits.signInsAtOnceMax; address++) begin(`a${address}`);
  await t.rejects(signIn.start('another'), full, 'and all of them a bound');
  await t.rejects(
    signIn.complete('x'.repeat(limits.signInAnswerCharsMax + 1), '', 'a', () => {}),
    {
      code: 'sign-in-unreadable',
      message: /response of the issuer is too long/,
    },
  );
  const closed = new Promise<void>((resolve) => silent.close(() => resolve()));
  const cut = setInterval(() => silent.closeAllConnections(), 20);
  for (const fault of await Promise.all(waiting))
    t.match(fault, { code: 'sign-in-failed', message: /^The issuer .* cannot be reached/ });
  clearInterval(cut);
  await closed;
  await t.rejects(signIn.start('a0'), { message: /cannot be reached/ }, 'there is room again');
});

interface FakeIssuer {
  readonly url: string;
  /** The token endpoint's auth methods in the issuer's metadata. */
  methods: readonly string[];
  /** Claims that replace those of the ID token; `null`: there is no ID token. */
  claims: Readonly<Record<string, unknown>> | null;
  /** An OAuth error that replaces the tokens. */
  refusal: string | undefined;
  nonce: string;
  readonly asked: { readonly headers: IncomingHttpHeaders; readonly body: URLSearchParams }[];
}

/** An issuer that can send what no real one would. */
async function startIssuer(t: Test): Promise<FakeIssuer> {
  const server = createServer((request, response) => void answer(request, response));
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    let body = '';
    for await (const piece of request) body += String(piece);
    const { url, methods, claims, refusal, nonce } = issuer;
    const nowS = Math.floor(Date.now() / 1_000);
    const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
    const said = { iss: url, aud: 'c', sub: 'alice', iat: nowS, exp: nowS + 60, nonce, ...claims };
    const idToken = claims === null ? {} : { id_token: `${part({ alg: 'RS256' })}.${part(said)}.c2ln` };
    const isToken = request.url === '/token';
    if (isToken) issuer.asked.push({ headers: request.headers, body: new URLSearchParams(body) });
    const metadata = {
      ...{ issuer: url, authorization_endpoint: `${url}/auth`, token_endpoint: `${url}/token` },
      token_endpoint_auth_methods_supported: methods,
    };
    const tokens = { access_token: 'the-token', token_type: 'Bearer', refresh_token: 'r', ...idToken };
    const isRefused = isToken && refusal !== undefined;
    response.writeHead(isRefused ? 400 : 200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(isRefused ? { error: refusal } : isToken ? tokens : metadata));
  };
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => void server.close());
  const issuer: FakeIssuer = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    ...{ methods: ['client_secret_basic'], claims: {}, refusal: undefined, nonce: '', asked: [] },
  };
  return issuer;
}

t.test('the issuer’s response is checked against the request', async (t) => {
  const issuer = await startIssuer(t);
  const verified: TokenOutcome = { kind: 'subject', subject: 'alice' };
  const signInWith = (clientSecret: string | undefined): SignInFlow =>
    new SignInFlow(
      { issuer: issuer.url, clientId: 'c', clientSecret, scope: 'openid', resource: 'r:r', consoleUrl: issuer.url },
      {
        ...{ tokens: { verify: () => verified }, audience: 'the-gateway', keys: [], names: new Names(), http },
        ...{ mode: 'plain-text-or-tls', logger: pino({ level: 'silent' }) },
      },
    );
  const signIn = signInWith('secret');
  const through = async (by = signIn): Promise<string> => {
    const { url, sealed } = await by.start('a');
    const { searchParams } = new URL(url);
    issuer.nonce = searchParams.get('nonce') ?? '';
    const query = new URLSearchParams({ code: 'x', state: searchParams.get('state') ?? '' });
    return (await by.complete(String(query), sealed, 'a', () => {})).token;
  };

  t.equal(await through(), 'the-token');
  t.match(issuer.asked.at(-1)?.headers.authorization, /^Basic /);
  t.equal(issuer.asked.at(-1)?.body.get('resource'), 'r:r');
  t.ok((issuer.asked.at(-1)?.body.get('code_verifier') ?? '').length >= 43);
  issuer.methods = ['client_secret_post'];
  await through();
  t.equal(issuer.asked.at(-1)?.body.get('client_secret'), 'secret');
  await through(signInWith(undefined));
  const { headers, body } = issuer.asked.at(-1)!;
  t.strictSame([headers.authorization, body.get('client_id'), body.get('client_secret')], [undefined, 'c', null]);

  for (const claims of [{ nonce: 'another' }, { aud: 'another' }, { iss: 'https://another' }, { exp: 1 }, null]) {
    issuer.claims = claims;
    await t.rejects(through(), { code: 'sign-in-failed', message: /did not sign you in/ }, JSON.stringify(claims));
  }
  issuer.claims = {};
  issuer.refusal = 'invalid_client';
  await t.rejects(through(), { code: 'sign-in-failed', message: /\(invalid_client\).*--sign-in-client-secret-file/ });
  issuer.refusal = undefined;
});
