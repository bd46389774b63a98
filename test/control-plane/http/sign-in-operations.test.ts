// What the operations of signing in ask of the flow, and what the browser keeps of it. The flow itself is a stand-in.
import type { LightMyRequestResponse } from 'fastify';
import t, { type Test } from 'tap';
import { ControlPlaneFault } from '../../../src/control-plane/common/control-plane-fault.js';
import { RateLimiter } from '../../../src/control-plane/http/control-plane-admission.js';
import type { SignInFlow } from '../../../src/control-plane/sign-in/sign-in-flow.js';
import { limits } from '../../../src/shared/limits.js';
import { openApp, NOTHING_KEPT, type Sent } from './app.js';

const URL_AT_ISSUER = 'https://issuer.example/authorize?a=b';

interface Flow {
  readonly isTls?: boolean;
  readonly signOutUrl?: string;
  readonly fault?: Error;
  readonly isAbsent?: boolean;
}

interface Scene {
  /** What the flow was asked. */
  readonly asked: unknown[][];
  readonly send: (method: 'GET' | 'POST', url: string, sent?: Sent) => Promise<LightMyRequestResponse>;
  readonly end: (cookie: string) => Promise<LightMyRequestResponse>;
}

async function scene(t: Test, { isTls = false, signOutUrl, fault, isAbsent = false }: Flow = {}): Promise<Scene> {
  const asked: unknown[][] = [];
  const signIn = {
    ...{ isTls, issuerHost: 'issuer.example' },
    start: async (address: string) => (asked.push([address]), { url: URL_AT_ISSUER, sealed: 'sealed-value' }),
    complete: async (query: string, sealed: string, address: string, onTaken: () => void) => {
      asked.push([query, sealed, address]);
      if (sealed === 'sealed-value') onTaken();
      if (fault !== undefined) throw fault;
      return { token: 'the-token', signOutUrl };
    },
  } as unknown as SignInFlow;
  const rates = new RateLimiter(50);
  const app = await openApp(t, { ...NOTHING_KEPT, ...(!isAbsent && { signInFlow: signIn }), rateLimiter: rates });
  const send: Scene['send'] = async (method, url, { headers = {}, payload } = {}) =>
    app.inject({ method, url, headers: { host: 'localhost', ...headers }, ...(payload !== undefined && { payload }) });
  const end: Scene['end'] = async (cookie) => {
    const headers = { cookie, 'content-type': 'application/json' };
    return send('POST', '/ui/sign-in/token', { headers, payload: '{"query":"code=c&state=s"}' });
  };
  return { asked, send, end };
}

t.test('the console is told whether there is an issuer, however often it asks', async (t) => {
  const { send } = await scene(t);
  for (let i = 0; i <= 50; i++) t.same((await send('GET', '/ui/sign-in')).json(), { issuer: 'issuer.example' });
  t.same((await (await scene(t, { isAbsent: true })).send('GET', '/ui/sign-in')).json(), { issuer: null });
});

t.test('what a sign-in is continued with goes to the browser alone that began it', async (t) => {
  for (const [isTls, name, secure] of [
    [false, 'switchyard-sign-in', ''],
    [true, '__Host-switchyard-sign-in', '; Secure'],
  ] as const) {
    const { asked, send, end } = await scene(t, { isTls });
    const begun = await send('POST', '/ui/sign-in');
    t.same([begun.statusCode, begun.json()], [200, { url: URL_AT_ISSUER }]);
    const attributes = (maxAgeS: number): string => `Path=/; Max-Age=${maxAgeS}; HttpOnly; SameSite=Strict${secure}`;
    t.equal(begun.headers['set-cookie'], `${name}=sealed-value; ${attributes(limits.personMsMax / 1_000)}`);
    const ended = await end(`other=x; ${name}=sealed-value`);
    t.same([ended.statusCode, ended.json()], [200, { token: 'the-token', sign_out_url: null }]);
    t.equal(ended.headers['set-cookie'], `${name}=; ${attributes(0)}`, 'and is removed there at its end');
    t.same(asked, [['127.0.0.1'], ['code=c&state=s', 'sealed-value', '127.0.0.1']]);
  }
});

t.test('a sign-in ends in its own browser, whatever comes of it', async (t) => {
  const fault = new ControlPlaneFault('sign-in-failed', 'The issuer did not sign you in.');
  const failing = await scene(t, { fault });
  const failed = await failing.end('switchyard-sign-in=sealed-value');
  t.same([failed.statusCode, failed.json()], [503, { detail: 'The issuer did not sign you in.' }]);
  t.match(failed.headers['set-cookie'], 'Max-Age=0');
  const { asked, end } = await scene(t);
  for (const cookie of ['', 'switchyard-sign-in=a.b', `switchyard-sign-in=${'x'.repeat(2_049)}`, 'x=sealed-value'])
    t.equal((await end(cookie)).headers['set-cookie'], undefined, 'another one’s stays');
  t.same(
    asked.map(([, sealed]) => sealed),
    ['', '', '', ''],
    'what this program never sealed is no cookie of its',
  );
});

t.test('a session at the issuer is ended where the issuer says', async (t) => {
  const { end } = await scene(t, { signOutUrl: 'https://issuer.example/out' });
  t.same((await end('')).json(), { token: 'the-token', sign_out_url: 'https://issuer.example/out' });
});

t.test('without an issuer, nobody signs in, and it is said what that takes', async (t) => {
  const { send, end } = await scene(t, { isAbsent: true });
  for (const answer of [await send('POST', '/ui/sign-in'), await end('')]) {
    t.equal(answer.statusCode, 404);
    t.match(answer.json(), { detail: /--sign-in-issuer/ });
  }
});
