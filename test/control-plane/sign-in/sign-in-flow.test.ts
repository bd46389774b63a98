// Signing in at an issuer that is made up, without a network: what is asked of it, what of its metadata is believed, which token is good
// enough, and what is told of each failure.
import t from 'tap';
import type { TokenOutcome } from '../../../src/auth/token-verifier.js';
import { ControlPlaneFault } from '../../../src/control-plane/common/control-plane-fault.js';
import { SignInFlow } from '../../../src/control-plane/sign-in/sign-in-flow.js';
import { Names } from '../../../src/http-client/names/names.js';
import { upstreamFault } from '../../../src/http-client/upstream-fault.js';
import { limits } from '../../../src/shared/limits.js';
import { logInto } from '../../support/log-lines.js';
import { scriptedHttp, type ScriptedAnswer, type ScriptedHttp } from '../connect/scripted-http.js';

const ISSUER = 'https://issuer.example/tenant/';
const CONSOLE = 'https://console.example';
const METADATA_AT = 'https://issuer.example/tenant/.well-known/openid-configuration';

interface Setup {
  readonly issuer?: string;
  readonly clientSecret?: string;
  readonly resource?: string;
  readonly consoleUrl?: string;
  readonly verified?: TokenOutcome;
}

interface Scene {
  readonly flow: SignInFlow;
  readonly http: ScriptedHttp;
  readonly lines: readonly string[];
  /** Members of the issuer's metadata that replace the usual ones. */
  readonly said: Record<string, unknown>;
  /** Answers in place of the usual ones, by URL. */
  readonly answers: Record<string, ScriptedAnswer>;
  readonly tokens: Record<string, unknown>;
  readonly verified: string[];
  /** @returns the outcome, or the fault in words. */
  readonly through: (more?: Readonly<Record<string, string>>) => Promise<unknown>;
  readonly begun: () => Promise<string>;
}

function scene(setup: Setup = {}): Scene {
  const {
    issuer = ISSUER,
    clientSecret,
    resource,
    consoleUrl = CONSOLE,
    verified = { kind: 'subject', subject: 'alice' },
  } = setup;
  const [said, answers, tokens]: [Record<string, unknown>, Record<string, ScriptedAnswer>, Record<string, unknown>] = [
    {},
    {},
    {},
  ];
  const [lines, shown]: [string[], string[]] = [[], []];
  let nonce = '';
  const http = scriptedHttp(({ url }) => {
    if (answers[url] !== undefined) return answers[url];
    if (url.endsWith('/openid-configuration'))
      return {
        body: {
          ...{ issuer: ISSUER, authorization_endpoint: `${ISSUER}auth?p=q`, token_endpoint: `${ISSUER}token`, ...said },
        },
      };
    if (url !== `${ISSUER}token`) return undefined;
    const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
    const nowS = Math.floor(Date.now() / 1_000);
    const claims = { iss: ISSUER, aud: 'c', sub: 'alice', iat: nowS, exp: nowS + 60, nonce };
    return {
      body: {
        access_token: 'the-token',
        token_type: 'Bearer',
        id_token: `${part({ alg: 'RS256' })}.${part(claims)}.c2ln`,
        ...tokens,
      },
    };
  });
  const flow = new SignInFlow(
    { issuer, clientId: 'c', clientSecret, scope: 'openid offline_access', resource, consoleUrl },
    {
      ...{ http, names: new Names(), mode: 'plain-text-or-tls', audience: 'aud', keys: [], logger: logInto(lines) },
      tokens: { verify: (header) => (shown.push(header), verified) },
    },
  );
  const wordsOf = (error: unknown): string => {
    if (error instanceof ControlPlaneFault) return `${error.code}: ${error.message}`;
    throw error;
  };
  const through: Scene['through'] = async (more = {}) => {
    try {
      const { url, sealed } = await flow.start('1.2.3.4');
      const { searchParams } = new URL(url);
      nonce = searchParams.get('nonce') ?? '';
      const query = new URLSearchParams({ code: 'x', state: searchParams.get('state') ?? '', ...more });
      return await flow.complete(String(query), sealed, '1.2.3.4', () => {});
    } catch (error) {
      return wordsOf(error);
    }
  };
  const begun = async (): Promise<string> => flow.start('1.2.3.4').then(({ url }) => url, wordsOf);
  return { flow, http, lines, said, answers, tokens, verified: shown, through, begun };
}

t.test('a sign-in asks the issuer for what the options say, and ends with its token', async (t) => {
  const { flow, http, begun, through, verified, lines } = scene({ resource: 'urn:r' });
  t.same([flow.issuerHost, flow.isTls], ['issuer.example', true]);
  const url = new URL(await begun());
  t.match(Object.fromEntries(url.searchParams), {
    ...{ p: 'q', response_type: 'code', client_id: 'c', redirect_uri: `${CONSOLE}/ui/sign-in/callback` },
    ...{ scope: 'openid offline_access', resource: 'urn:r', code_challenge_method: 'S256' },
    ...{ state: /^[\w-]{43}$/, nonce: /^[\w-]{43}$/, code_challenge: /^[\w-]{43}$/ },
  });
  t.notOk(url.searchParams.has('prompt'));
  t.match(http.asked, [{ url: METADATA_AT, method: 'GET', subject: '' }]);
  t.same(await through(), { token: 'the-token', signOutUrl: undefined });
  t.match(Object.fromEntries(new URLSearchParams(http.asked.at(-1)?.text)), {
    ...{ grant_type: 'authorization_code', code: 'x', redirect_uri: `${CONSOLE}/ui/sign-in/callback` },
    ...{ resource: 'urn:r', client_id: 'c', code_verifier: /^[\w-]{43}$/ },
  });
  t.same(verified, ['Bearer the-token']);
  t.match(lines, [/somebody has signed in to the console/]);
  t.notMatch(lines.join(), /alice|the-token/);
  t.equal(scene({ consoleUrl: 'http://console.example/https:' }).flow.isTls, false);
  t.notOk(new URL(await scene().begun()).searchParams.has('resource'));
});

t.test('the secret is shown in the way that the issuer supports', async (t) => {
  const basic = `Basic ${Buffer.from('c:s').toString('base64')}`;
  for (const [methods, authorization, inBody] of [
    [undefined, basic, null],
    [['client_secret_post'], undefined, 's'],
    [['client_secret_post', 'client_secret_basic'], basic, null],
    [['private_key_jwt'], basic, null],
  ] as const) {
    const { http, said, through } = scene({ clientSecret: 's' });
    said['token_endpoint_auth_methods_supported'] = methods;
    t.match(await through(), { token: 'the-token' });
    const { headers, text } = http.asked.at(-1)!;
    const at = headers.indexOf('authorization');
    t.equal(at < 0 ? undefined : headers[at + 1], authorization, String(methods));
    t.equal(new URLSearchParams(text).get('client_secret'), inBody);
  }
});

t.test(
  'an issuer that cannot be reached, or says what none may say, is told to the person and to the operator',
  async (t) => {
    const UNREADABLE =
      /^sign-in-failed: The issuer issuer\.example does not publish what OpenID Connect requires: the operator has to check --sign-in-issuer\.$/;
    const NO_ENDPOINT = /^sign-in-failed: The issuer issuer\.example names no authorization endpoint\.$/;
    const endpoint = `https://x.example/${'x'.repeat(limits.oauthMemberCharsMax)}`;
    const rows: readonly (readonly [said: Record<string, unknown>, words: RegExp])[] = [
      [{ issuer: 'https://other.example' }, UNREADABLE],
      [{ issuer: 7 }, UNREADABLE],
      [{ issuer: 'no URL' }, UNREADABLE],
      [{ authorization_endpoint: undefined }, NO_ENDPOINT],
      [{ authorization_endpoint: 'no URL' }, NO_ENDPOINT],
      [{ authorization_endpoint: endpoint }, NO_ENDPOINT],
      [{ authorization_endpoint: endpoint.slice(0, limits.oauthMemberCharsMax) }, /^https:/],
      [{ end_session_endpoint: 'no URL' }, NO_ENDPOINT],
      [
        { authorization_endpoint: 'ftp://x' },
        /^sign-in-failed: The issuer issuer\.example cannot be reached\. A server names an address that is not http/,
      ],
    ];
    for (const [changes, words] of rows) {
      const { said, begun } = scene();
      Object.assign(said, changes);
      t.match(await begun(), words, JSON.stringify(changes).slice(0, 80));
    }
    const answered = async (answer: ScriptedAnswer): Promise<string> => {
      const { answers, begun } = scene();
      answers[METADATA_AT] = answer;
      return begun();
    };
    t.match(await answered({ status: 404 }), UNREADABLE);
    const CANNOT =
      /^sign-in-failed: The issuer issuer\.example cannot be reached\. A server (?:cannot be reached|did not answer in time): try again later\.$/;
    t.match(await answered({ fault: upstreamFault('connect-failed') }), CANNOT);
    t.match(await answered({ fault: upstreamFault('answer-timeout') }), CANNOT);
    const { answers, through } = scene();
    answers[`${ISSUER}token`] = { fault: upstreamFault('connect-failed') };
    t.match(await through(), CANNOT);
  },
);

t.test('what the issuer refuses is told with its code, and logged', async (t) => {
  const { answers, through, lines } = scene();
  t.equal(
    await through({ error: 'access_denied' }),
    'sign-in-refused: You are not signed in: it was refused at issuer.example.',
  );
  t.same(lines, [], 'a refusal by the person is no fault');
  answers[`${ISSUER}token`] = { status: 400, body: { error: 'invalid_grant' } };
  t.equal(await through(), 'sign-in-failed: The issuer issuer.example did not sign you in (invalid_grant).');
  t.match(lines, [/"level":40.*the issuer for signing in to the console did not respond as expected/]);
  answers[`${ISSUER}token`] = { status: 401, body: { error: 'invalid_client' } };
  const advice = 'the operator has to check --sign-in-client-id and --sign-in-client-secret-file';
  t.equal(
    await through(),
    `sign-in-failed: The issuer issuer.example did not sign you in (invalid_client): ${advice}.`,
  );
  answers[`${ISSUER}token`] = { body: { access_token: 'a', token_type: 'bearer' } };
  t.match(await through(), /^sign-in-failed: The issuer issuer\.example did not sign you in\.$/, 'no ID token');
});

t.test('a token that this interface would refuse is refused at once, with what to configure', async (t) => {
  const refused = async (setup: Setup, token = 'the-token'): Promise<unknown> => {
    const { tokens, through } = scene(setup);
    tokens['access_token'] = token;
    return through();
  };
  const long = 'x'.repeat(limits.requestHeaderBytesMax / 2);
  t.match(await refused({}, long), { token: long });
  const BEGIN = 'sign-in-failed: You signed in at issuer.example, but the access token that it issued ';
  t.equal(
    await refused({}, `${long}x`),
    `${BEGIN}is longer than a request header may be: configure the issuer to put fewer claims into it.`,
  );
  const key = 'is signed with a key that the gateway does not have for this issuer: check --token-jwks-url.';
  const rows: readonly (readonly [TokenOutcome, string])[] = [
    [{ kind: 'refused', reason: 'expired' }, 'has already expired: check the clocks of both machines.'],
    [
      { kind: 'refused', reason: 'unavailable' },
      'cannot be verified, as the keys of the issuer cannot be fetched: try again.',
    ],
    [
      { kind: 'refused', reason: 'invalid', cause: 'audience' },
      'is not for the audience aud: configure the issuer to put it into aud, or the gateway with --token-audience.',
    ],
    [{ kind: 'refused', reason: 'invalid', cause: 'issuer' }, 'is from another issuer: add that to --token-jwks-url.'],
    [{ kind: 'refused', reason: 'invalid', cause: 'not-yet' }, 'is not valid yet: check the clocks of both machines.'],
    [
      { kind: 'refused', reason: 'invalid', cause: 'claims' },
      'has no subject (sub) or no expiry (exp), or a claim of a wrong type: configure the issuer to put them in.',
    ],
    [{ kind: 'refused', reason: 'invalid', cause: 'key' }, key],
    [{ kind: 'refused', reason: 'invalid', cause: 'algorithm' }, key],
    [{ kind: 'refused', reason: 'invalid', cause: 'signature' }, key],
    [
      { kind: 'refused', reason: 'invalid', cause: 'not-a-jwt' },
      'is not a JWT: configure the issuer to issue JWTs to this client, which may need --sign-in-resource.',
    ],
  ];
  for (const [verified, words] of rows) t.equal(await refused({ verified }), BEGIN + words);
});

t.test('a session at the issuer is ended there, by this client', async (t) => {
  const { said, through } = scene();
  said['end_session_endpoint'] = 'https://issuer.example/out?a=b';
  t.match(await through(), { signOutUrl: 'https://issuer.example/out?a=b&client_id=c' });
});

t.test('a sign-in ends once, and is taken before anything is asked', async (t) => {
  const { flow, http, said } = scene();
  const { url, sealed } = await flow.start('a');
  const state = new URL(url).searchParams.get('state') ?? '';
  const asked = http.asked.length;
  let taken = 0;
  const end = async (query: string): Promise<unknown> => flow.complete(query, sealed, 'a', () => (taken += 1));
  await t.rejects(end('state=another'), { code: 'sign-in-refused', message: /not started in this browser/ });
  await t.rejects(end(''), { code: 'sign-in-refused' });
  t.same([taken, http.asked.length], [0, asked]);
  said['issuer'] = 'https://other.example';
  await t.rejects(end(`state=${state}`), { code: 'sign-in-failed' });
  t.equal(taken, 1);
  await t.rejects(end(`state=${state}`), { code: 'sign-in-refused', message: /already completed/ });
  const edge = `state=${state}&x=`;
  const query = edge + 'x'.repeat(limits.signInAnswerCharsMax - edge.length);
  await t.rejects(end(query), { code: 'sign-in-refused' }, 'so long it may be');
  await t.rejects(end(`${query}x`), { code: 'sign-in-unreadable', message: /too long/ });
});
