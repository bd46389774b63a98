// A consent from its end: what is stored of it, who ends it, what is told of a failure, and how it is withdrawn. The authorization server is
// made up, without a network.
import { randomBytes } from 'node:crypto';
import t, { type Test } from 'tap';
import { ControlPlaneFault } from '../../../src/control-plane/common/control-plane-fault.js';
import { ConsentFlow } from '../../../src/control-plane/connect/consent-flow.js';
import { sealTicket } from '../../../src/credentials/connect-links.js';
import { Secrets } from '../../../src/credentials/secrets.js';
import { SecretKeys } from '../../../src/credentials/secrets/secret-keys.js';
import { UserGrants, grantKeyPrefixOf } from '../../../src/credentials/secrets/user-grants.js';
import { Names } from '../../../src/http-client/names/names.js';
import { limits } from '../../../src/shared/limits.js';
import { openRecordStore, openStore } from '../../../src/store/open-store.js';
import type { UserAuth } from '../../../src/user-config/auth.js';
import { logInto } from '../../support/log-lines.js';
import { createScratchDirectory } from '../../support/scratch-directory.js';
import { scriptedHttp, type ScriptedAnswer, type ScriptedHttp } from './scripted-http.js';

const BACKEND = 'https://b.example';
const IDP = 'https://idp.example';
const BROWSER = 'browser';
const options = { kind: 'embedded', path: createScratchDirectory(t) } as const;
const store = await openStore(options, logInto([]));
const records = await openRecordStore(options, logInto([]));
const keys = new SecretKeys([randomBytes(32).toString('base64')]);
const grants = UserGrants.of(store, keys)!;
t.teardown(async () => {
  await records.close();
  await store.close();
});

interface Scene {
  readonly flow: ConsentFlow;
  readonly http: ScriptedHttp;
  readonly subject: string;
  readonly lines: readonly string[];
  /** What the authorization server answers, by path. */
  readonly answers: Record<string, ScriptedAnswer | 'silence'>;
  readonly start: (auth?: Partial<UserAuth>, at?: { name?: string; path?: string }) => Promise<URL>;
  /** @returns the backend's name, or the fault. */
  readonly end: (at: URL, more?: Readonly<Record<string, string>>, browser?: string) => Promise<string>;
}

let scenes = 0;
async function scene(t: Test, connectUrl = 'https://gateway.example', said: object = {}): Promise<Scene> {
  const lines: string[] = [];
  const subject = `alice-${(scenes += 1)}`;
  const metadata = {
    ...{ issuer: IDP, authorization_endpoint: `${IDP}/authorize`, token_endpoint: `${IDP}/token` },
    ...{ registration_endpoint: `${IDP}/register`, code_challenge_methods_supported: ['S256'] },
    ...{ token_endpoint_auth_methods_supported: ['none'], revocation_endpoint: `${IDP}/revoke`, ...said },
  };
  const tokens = { access_token: 'at', token_type: 'bearer', refresh_token: 'rt', expires_in: 60 };
  const answers: Scene['answers'] = {
    ...{ '/.well-known/oauth-authorization-server': { body: metadata }, '/token': { body: tokens } },
    ...{ '/register': { status: 201, body: { client_id: 'own' } }, '/revoke': {} },
  };
  const http = scriptedHttp(({ target }) => (target.origin === IDP ? answers[target.path] : undefined));
  const secrets = new Secrets(undefined, () => 0, {
    read: (name) =>
      name === 'known'
        ? { kind: 'found', secret: { value: 'sesame', origins: [IDP, BACKEND] } }
        : { kind: 'failed', reason: 'none' },
  });
  const flow = new ConsentFlow({
    ...{ connectUrl, keys, records, grants, secrets, names: new Names(), http, mode: 'plain-text-or-tls' },
    logger: logInto(lines),
  });
  const start: Scene['start'] = async (auth = {}, { name = 'b', path = `/${subject}` } = {}) => {
    const said = {
      subject,
      backendName: name,
      origin: BACKEND,
      path,
      auth: { type: 'oauth2-user', issuer: IDP, ...auth },
    } as const;
    return new URL(await flow.start(name, sealTicket(keys, said, Date.now()) ?? '', BROWSER));
  };
  const end: Scene['end'] = async (at, more = {}, browser = BROWSER) => {
    const query = new URLSearchParams({ code: 'c', state: at.searchParams.get('state') ?? '', ...more });
    try {
      return await flow.complete(query, browser);
    } catch (error) {
      if (error instanceof ControlPlaneFault) return `${error.code}: ${error.message}`;
      throw error;
    }
  };
  t.teardown(() => http.close());
  return { flow, http, subject, lines, answers, start, end };
}

t.test('a consent becomes a grant, of which everything is listed but its tokens', async (t) => {
  const { flow, http, subject, start, end, lines } = await scene(t);
  const nowMs = 1_700_000_000_000;
  t.capture(Date, 'now', () => nowMs);
  const url = await start({ scope: 'read' });
  t.equal(url.origin + url.pathname, `${IDP}/authorize`);
  t.match(Object.fromEntries(url.searchParams), {
    ...{ response_type: 'code', client_id: 'own', redirect_uri: 'https://gateway.example/connect/callback' },
    ...{
      scope: 'read',
      resource: `${BACKEND}/${subject}`,
      code_challenge_method: 'S256',
      code_challenge: /^[\w-]{43}$/,
    },
  });
  t.notOk(url.searchParams.has('nonce') || url.searchParams.has('prompt'));
  t.equal(await end(url), 'b');
  const { text, headers } = http.asked.at(-1)!;
  t.match(Object.fromEntries(new URLSearchParams(text)), {
    ...{ grant_type: 'authorization_code', code: 'c', redirect_uri: 'https://gateway.example/connect/callback' },
    ...{ client_id: 'own', code_verifier: /^[\w-]{43}$/, resource: `${BACKEND}/${subject}` },
  });
  t.notOk(headers.includes('authorization'));
  const at = new Date(nowMs).toISOString();
  t.same(await flow.list(subject), [
    { server: 'b', url: `${BACKEND}/${subject}`, issuer: IDP, scope: 'read', connectedAt: at },
  ]);
  const [key = ''] = await records.listKeys(grantKeyPrefixOf(subject), '', 10);
  const read = await grants.read(key);
  t.match(read, {
    kind: 'found',
    grant: {
      ...{
        accessToken: 'at',
        refreshToken: 'rt',
        issuedAtMs: nowMs,
        grantedAtMs: nowMs,
        subject,
        resource: `${BACKEND}/${subject}`,
      },
      ...{
        tokenEndpoint: `${IDP}/token`,
        revocationEndpoint: `${IDP}/revoke`,
        client: { id: 'own', authentication: 'none' },
      },
    },
  });
  t.match(
    lines.map((line) => JSON.parse(line) as unknown),
    [{ backend: 'b', msg: 'a user has connected a backend' }],
  );
  t.notMatch(lines.join(), subject);
});

t.test('the pages are TLS if their address is', async (t) => {
  t.equal((await scene(t)).flow.isTls, true);
  t.equal((await scene(t, 'http://gateway.example/https:')).flow.isTls, false);
});

t.test('a client that the config names is used as it says, and none is registered', async (t) => {
  const basic = `Basic ${Buffer.from('mine:sesame').toString('base64')}`;
  const client_secret = { secret: 'known' };
  const rows: readonly (readonly [Partial<UserAuth>, authorization: string | undefined, secret: string | null])[] = [
    [{ client_id: 'mine' }, undefined, null],
    [{ client_id: 'mine', client_secret }, basic, null],
    [{ client_id: 'mine', client_secret, client_authentication: 'post' }, undefined, 'sesame'],
  ];
  for (const [auth, authorization, secret] of rows) {
    const { http, start, end } = await scene(t);
    const url = await start(auth);
    t.equal(url.searchParams.get('client_id'), 'mine');
    t.equal(await end(url), 'b');
    const { headers, text } = http.asked.at(-1)!;
    const at = headers.indexOf('authorization');
    t.equal(at < 0 ? undefined : headers[at + 1], authorization);
    t.equal(new URLSearchParams(text).get('client_secret'), secret);
    t.notOk(http.asked.some(({ url: each }) => each === `${IDP}/register`));
  }
  const { start, end, http } = await scene(t);
  const url = await start({ client_id: 'mine', client_secret: { secret: 'unknown' } });
  t.match(await end(url), /^consent-unready: The gateway’s secret for the authorization server cannot be used/);
  t.notOk(http.asked.some(({ url: each }) => each === `${IDP}/token`));
});

t.test('a consent ends once, in its browser, by its link’s server', async (t) => {
  const { flow, subject, start, end } = await scene(t);
  const url = await start();
  t.match(await end(url, {}, 'another'), /^consent-refused: .*another browser/);
  t.match(await end(url), /^consent-over: .*already completed or has expired/, 'and is over then');
  for (const state of ['', 'x', 'x'.repeat(2_000)])
    t.match(await end(url, { state }), /^consent-unknown: There is no consent/);
  const sealed = {
    subject,
    backendName: 'b',
    origin: BACKEND,
    path: '/',
    auth: { type: 'oauth2-user', issuer: IDP },
  } as const;
  const ticket = sealTicket(keys, sealed, Date.now()) ?? '';
  await t.rejects(flow.preview('another', ticket), { code: 'consent-unknown', message: 'This link is not valid.' });
  t.match(await flow.preview('b', ticket), { ticket: { subject, backendName: 'b' }, server: { issuer: IDP } });
  const old = sealTicket(keys, sealed, Date.now() - limits.personMsMax) ?? '';
  await t.rejects(flow.preview('b', old), { code: 'consent-over', message: 'This link has expired.' });
  await flow.start('b', ticket, BROWSER);
  await t.rejects(flow.start('b', ticket, BROWSER), {
    code: 'consent-over',
    message: 'This link has already been used.',
  });
});

t.test('what went wrong at the authorization server is told, and nothing is connected', async (t) => {
  const { flow, subject, answers, start, end, http } = await scene(t);
  t.equal(
    await end(await start(), { error: 'access_denied' }),
    'consent-refused: You did not give your consent: nothing was connected.',
  );
  t.match(
    await end(await start(), { error: 'server_error' }),
    /^party-unfit: .*did not respond as expected \(server_error\): nothing/,
  );
  answers['/token'] = { status: 400, body: { error: 'invalid_grant' } };
  t.match(await end(await start()), /expected \(invalid_grant\)/);
  answers['/token'] = { body: { access_token: 'a\nb', token_type: 'bearer' } };
  t.match(await end(await start()), /^party-unfit: The authorization server issued no usable token/);
  answers['/token'] = 'silence';
  t.same(await flow.list(subject), []);
  const registrations = (): number => http.asked.filter(({ url }) => url === `${IDP}/register`).length;
  t.equal(registrations(), 1);
  answers['/token'] = { status: 401, body: { error: 'invalid_client' } };
  t.match(await end(await start()), /expected \(invalid_client\)/);
  await start();
  t.equal(registrations(), 2, 'a client that the server does not know is registered anew');
  t.match(await end(await start({ client_id: 'mine' })), /invalid_client/);
  await start();
  t.equal(registrations(), 2, 'but not for the sake of one that the config names');
});

t.test('whose issuer is to be named in the callback, names it', async (t) => {
  const strict = await scene(t, undefined, { authorization_response_iss_parameter_supported: true });
  t.match(await strict.end(await strict.start()), /^party-unfit/);
  t.equal(await strict.end(await strict.start(), { iss: IDP }), 'b');
  const { start, end } = await scene(t);
  t.equal(await end(await start()), 'b');
  t.match(await end(await start(), { iss: 'https://other.example' }), /^party-unfit/);
});

t.test('a grant is forgotten here and withdrawn there', async (t) => {
  const rows: readonly (readonly [said: object, answer: ScriptedAnswer, outcome: string])[] = [
    [{}, {}, 'revoked'],
    [{}, { status: 503 }, 'failed'],
    [{ revocation_endpoint: undefined }, {}, 'unoffered'],
  ];
  for (const [said, answer, outcome] of rows) {
    const { flow, http, subject, answers, start, end, lines } = await scene(t, undefined, said);
    answers['/revoke'] = answer;
    await end(await start());
    await end(await start({}, { name: 'c', path: `/${subject}/c` }));
    t.equal(await flow.disconnect(subject, 'none'), 'missing');
    t.equal(await flow.disconnect(`${subject}x`, 'b'), 'missing');
    http.asked.length = 0;
    t.equal(await flow.disconnect(subject, 'b'), outcome);
    t.match(JSON.parse(lines.at(-1) ?? '{}'), { backend: 'b', revocation: outcome });
    t.same(
      (await flow.list(subject)).map(({ server }) => server),
      ['c'],
      'and no other is',
    );
    t.same(
      http.asked.map(({ url, text, subject: whose }) => [url, text, whose]),
      outcome === 'unoffered'
        ? []
        : [[`${IDP}/revoke`, 'token_type_hint=refresh_token&token=rt&client_id=own', subject]],
    );
    t.equal(await flow.disconnect(subject, 'b'), 'missing');
  }
});

t.test('all grants at a backend of this name are withdrawn, and the worst outcome is told', async (t) => {
  const { flow, subject, answers, start, end, http } = await scene(t);
  await end(await start());
  answers['/token'] = { body: { access_token: 'only', token_type: 'bearer' } };
  await end(await start({ scope: 'more', client_id: 'mine', client_secret: { secret: 'known' } }));
  t.equal((await flow.list(subject)).length, 2);
  const texts: string[] = [];
  http.asked.length = 0;
  Object.defineProperty(answers, '/revoke', { get: () => (http.asked.length === 1 ? {} : { status: 500 }) });
  t.equal(await flow.disconnect(subject, 'b'), 'failed');
  texts.push(...http.asked.map(({ text }) => text).sort());
  t.match(texts, [/^token_type_hint=access_token&token=only/, /^token_type_hint=refresh_token&token=rt/]);
  t.ok(http.asked.some(({ headers }) => headers.includes(`Basic ${Buffer.from('mine:sesame').toString('base64')}`)));
  t.same(await flow.list(subject), []);
});
