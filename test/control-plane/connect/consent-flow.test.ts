// The bounds of consents: how long links are valid, how many are used, how many grants a user has, what is cleaned up, and how much of a
// response is read. The whole course of a consent is in integration/user-consent.
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer as createTlsServer } from 'node:https';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { auth as askAsClient, type OAuthClientProvider } from '@modelcontextprotocol/client';
import { pino } from 'pino';
import t from 'tap';
import { ConsentFlow, GRANTS_PER_SUBJECT_MAX } from '../../../src/control-plane/connect/consent-flow.js';
import { ControlPlaneFault } from '../../../src/control-plane/common/control-plane-fault.js';
import {
  ConsentRecords,
  type PendingConsent,
  CONNECTS_SWEPT_MAX,
} from '../../../src/control-plane/connect/consent-records.js';
import { Http1Upstream } from '../../../src/http-client/http1-upstream.js';
import { Names } from '../../../src/http-client/names/names.js';
import { sealTicket } from '../../../src/credentials/connect-links.js';
import { resealGrants } from '../../../src/credentials/secrets/secret-records.js';
import { SecretKeys } from '../../../src/credentials/secrets/secret-keys.js';
import { UserGrants } from '../../../src/credentials/secrets/user-grants.js';
import { limits } from '../../../src/shared/limits.js';
import { openRecordStore, openStore } from '../../../src/store/open-store.js';
import { Secrets } from '../../../src/credentials/secrets.js';
import type { UserAuth } from '../../../src/user-config/auth.js';
import { corrections } from '../../../src/credentials/oauth-answer.js';
import { createCertificates } from '../../support/certificates.js';
import { startNameServer } from '../../support/name-server.js';
import { REFUSED_HOSTS, REFUSED_NAMES } from '../../support/refused-hosts.js';
import { createScratchDirectory } from '../../support/scratch-directory.js';

const BROWSER = 'browser';
const logger = pino({ level: 'silent' });
const options = { kind: 'embedded', path: createScratchDirectory(t) } as const;
const store = await openStore(options, logger);
const records = await openRecordStore(options, logger);
const OLD = randomBytes(32).toString('base64');
const keys = new SecretKeys([OLD]);
const grants = UserGrants.of(store, keys);
if (grants === undefined) throw new Error('no key');
t.teardown(async () => {
  await records.close();
  await store.close();
});

/** What the test changes in the metadata of one server, which is both the backend and its authorization server. */
const said: Record<string, unknown> = {};
const answered = { registrations: 0, elsewhere: 0 };
/** The `WWW-Authenticate` header of the backend's 401. */
let challenge = '';
/** The backend's metadata as a protected resource. */
let resourceSaid: object | undefined;
/** Where a request for the authorization server's metadata is redirected to. */
let redirection = '';
/** Headers of refusals, as of a proxy in front of the server. */
let refusedWith: Readonly<Record<string, string>> = {};
/** What the registration endpoint answers, if not as the standard says. */
let registered: { readonly status: number; readonly body?: object } = { status: 201 };
let tokenAnswer: object | undefined;
/** Bodies of token requests, and the last one's credentials. */
let asked = '';
let shown: string | undefined;
/** What registrations said, in order. */
const wishes: Readonly<Record<string, unknown>>[] = [];
/** Where the authorization server publishes its metadata. */
let published = '/.well-known/oauth-authorization-server';
/** Whether who does not ask for JSON gets a page for people there. */
let hasPage = false;
const server = createServer((request, response) => answer(request, response));
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
t.teardown(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});
const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

function answer(request: IncomingMessage, response: ServerResponse): void {
  const { url = '', method } = request;
  const json = (status: number, value: unknown): void =>
    void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
  if (url === '/register') {
    answered.registrations += 1;
    const client = { client_id: `client-${answered.registrations}`, token_endpoint_auth_method: 'none' };
    let wish = '';
    request.setEncoding('utf8').on('data', (piece: string) => (wish += piece));
    request.on('end', () => {
      const said = JSON.parse(wish) as Readonly<Record<string, unknown>>;
      wishes.push(said);
      if (said['scope'] === 'unregistrable') return json(400, { error: 'invalid_client_metadata' });
      json(registered.status, registered.body ?? { redirect_uris: said['redirect_uris'], ...client });
    });
  } else if (url === '/token') {
    shown = request.headers.authorization;
    request.setEncoding('utf8').on('data', (piece: string) => (asked += piece));
    if (tokenAnswer !== undefined) json(201, tokenAnswer);
    else json(200, { access_token: 'a', token_type: 'bearer', refresh_token: 'r', expires_in: 60, ...said });
  } else if (url.startsWith('/.well-known/oauth-protected-resource') && resourceSaid !== undefined)
    json(200, { resource: origin, ...resourceSaid });
  else if (hasPage && url === published && request.headers.accept !== 'application/json')
    response.writeHead(200, { 'content-type': 'text/html' }).end('<p>Hello</p>');
  else if (redirection !== '') response.writeHead(302, { location: redirection }).end();
  else if (url === published)
    json(200, {
      ...{ issuer: origin, authorization_endpoint: `${origin}/authorize`, token_endpoint: `${origin}/token` },
      ...{ registration_endpoint: `${origin}/register`, code_challenge_methods_supported: ['S256'] },
      token_endpoint_auth_methods_supported: ['none'],
      ...said,
    });
  else if (url.startsWith('/elsewhere')) answered.elsewhere += 1;
  else if (method === 'POST')
    response.writeHead(401, { ...refusedWith, ...(challenge !== '' && { 'www-authenticate': challenge }) }).end();
  else response.writeHead(404, refusedWith).end();
}

function connectIn(mode: 'tls-only' | 'plain-text-or-tls', names = new Names(), authorities?: string): ConsentFlow {
  const secrets = new Secrets(undefined, () => 0);
  return new ConsentFlow({
    connectUrl: 'http://gateway.example',
    keys,
    records,
    grants: grants!,
    secrets,
    names,
    http: new Http1Upstream({ connectTimeoutMs: limits.connectMsMax, names, authorities }),
    mode,
    logger,
  });
}
const connect = connectIn('plain-text-or-tls');

function ticket(subject: string, auth: Partial<UserAuth> = {}, nowMs = Date.now()): string {
  const said = { subject, backendName: 'b', origin, path: '/mcp', auth: { type: 'oauth2-user' as const, ...auth } };
  return sealTicket(keys, said, nowMs) ?? '';
}

async function callback(subject: string, auth: Partial<UserAuth> = {}): Promise<URLSearchParams> {
  const address = new URL(await connect.start('b', ticket(subject, auth), BROWSER));
  return new URLSearchParams({ code: 'c', state: address.searchParams.get('state') ?? '', iss: origin });
}

async function faultOf(action: Promise<unknown>): Promise<string> {
  try {
    await action;
    return 'none';
  } catch (error) {
    if (error instanceof ControlPlaneFault) return `${error.status} ${error.message}`;
    throw error;
  }
}

t.test('a link is valid for ten minutes, and its length is bounded', async (t) => {
  const old = ticket('alice', {}, Date.now() - limits.personMsMax);
  t.equal(await faultOf(connect.preview('b', old)), '410 This link has expired.');
  t.equal(
    await faultOf(connect.preview('b', 'x'.repeat(limits.connectTicketCharsMax + 1))),
    '400 This link is not valid.',
  );
  const path = `/${'x'.repeat(limits.connectTicketCharsMax)}`;
  const long = { subject: 'alice', backendName: 'b', origin, path, auth: { type: 'oauth2-user' } } as const;
  t.equal(sealTicket(keys, long, Date.now()), undefined);
});

t.test('one user and backend use a bounded number of links in ten minutes', async (t) => {
  for (let i = 0; i < limits.connectStartsMax; i++) await callback('bob');
  t.match(await faultOf(callback('bob')), /^429 Too many links/);
  t.ok(await callback('carol'), 'others have their own');
  t.equal(answered.registrations, 1, 'the gateway registers itself once for all of them');
  t.match(wishes, [{ redirect_uris: [/\/connect\/callback$/], grant_types: ['authorization_code', 'refresh_token'] }]);
});

t.test('metadata is asked for as JSON: there may be a page for people at the same address', async (t) => {
  hasPage = true;
  t.teardown(() => (hasPage = false));
  t.equal(await faultOf(callback('fay')), 'none');
});

t.test('a user with as many grants as are kept loses the oldest', async (t) => {
  for (let i = 0; i <= GRANTS_PER_SUBJECT_MAX; i++)
    await connect.complete(await callback('dave', { scope: `s${i}` }), BROWSER);
  const scopes = (await connect.list('dave')).map(({ scope }) => scope);
  t.equal(scopes.length, GRANTS_PER_SUBJECT_MAX);
  t.notOk(scopes.includes('s0'));
  t.ok(scopes.includes(`s${GRANTS_PER_SUBJECT_MAX}`));
  t.same(await connect.list('erin'), []);
});

t.test('grants and clients are sealed again under another key, and a second run has nothing to do', async (t) => {
  const all = new SecretKeys([randomBytes(32).toString('base64'), OLD]);
  if (all.sealingKey === undefined) throw new Error('no key');
  const count = GRANTS_PER_SUBJECT_MAX + 1;
  t.same(await resealGrants(records, all, all.sealingKey), { resealed: count, failed: 0 });
  t.same(await resealGrants(records, all, all.sealingKey), { resealed: 0, failed: 0 });
  const back = new SecretKeys([OLD]);
  if (back.sealingKey === undefined) throw new Error('no key');
  t.same(
    await resealGrants(records, back, back.sealingKey),
    { resealed: 0, failed: count },
    'without the key nothing opens',
  );
});

t.test('old unfinished consents are removed when new ones begin', async (t) => {
  const begun = new ConsentRecords(records, keys);
  const consent = (id: string, grantKey: string, untilMs: number): PendingConsent =>
    ({ id, grantKey, nonce: grantKey, untilMs }) as PendingConsent;
  const countOf = async (): Promise<number> => (await records.listKeys('connects/', '', 1_000)).length;
  t.equal(await begun.take('grants/x/1', 'grants/x/1', 1_500), undefined, 'not before it has begun');
  await begun.start(consent('t1', 'grants/x/1', 2_000), 1_000);
  t.equal((await begun.take('grants/x/1', 'grants/x/1', 1_500))?.nonce, 'grants/x/1');
  t.equal(await begun.take('grants/x/1', 'grants/x/1', 1_500), undefined, 'once');
  await begun.start(consent('t2', 'grants/x/2', 2_000), 1_000);
  t.equal(await begun.take('grants/x/2', 'grants/x/2', 2_000), undefined, 'in time');
  await begun.start({ ...consent('t3', 'grants/x/3', 2_000), nonce: 'earlier' }, 1_000);
  await begun.start({ ...consent('t4', 'grants/x/3', 2_000), nonce: 'later' }, 1_000);
  t.equal(
    await begun.take('grants/x/3', 'earlier', 1_500),
    undefined,
    'nor with the state of one that was begun before',
  );
  t.equal((await begun.take('grants/x/3', 'later', 1_500))?.nonce, 'later', 'which takes nothing from it');
  const far = Date.now() + 10 * limits.personMsMax;
  const before = await countOf();
  for (let i = 0; i < Math.ceil(before / CONNECTS_SWEPT_MAX) + 1; i++)
    await begun.start(consent(`far${i}`, 'grants/x/far', far + 1_000), far);
  t.equal(await countOf(), 1);
});

t.test('a state that was never given out ends no consent, and one that was ends it once', async (t) => {
  const end = async (query: URLSearchParams): Promise<string> => faultOf(connect.complete(query, BROWSER));
  for (const state of ['', 'made-up', 'x'.repeat(100_000)])
    t.match(await end(new URLSearchParams({ code: 'c', state, iss: origin })), /^400 .*no consent in progress/);
  const query = await callback('ivan');
  t.match(await faultOf(connect.complete(query, 'another browser')), /^403 .*another browser/);
  t.match(await end(query), /^410 .*already completed/);
});

t.test('a refusal that is compressed, unasked, says only that nothing is there', async (t) => {
  refusedWith = { 'content-encoding': 'gzip' };
  t.teardown(() => (refusedWith = {}));
  t.equal(await faultOf(connect.preview('b', ticket('grace'))), 'none');
});

t.test('a bounded part of servers’ answers is read, and invalid answers are not believed', async (t) => {
  const wordsFor = async (changes: object): Promise<string> => {
    Object.assign(said, changes);
    const words = await faultOf(connect.preview('b', ticket('frank')));
    for (const name of Object.keys(changes)) Reflect.deleteProperty(said, name);
    return words;
  };
  t.equal(await wordsFor({}), 'none');
  t.match(
    await wordsFor({ more: 'x'.repeat(limits.authorizationAnswerBytesMax) }),
    /^502 A server’s response is too large/,
  );
  t.match(await wordsFor({ code_challenge_methods_supported: ['plain'] }), /^502 .*PKCE/);
  t.match(await wordsFor({ issuer: 'https://other.example' }), /^502 .*another issuer/);
  for (const address of ['javascript:alert(1)', 'xhttps://idp.example', 'httpsx://idp.example'])
    t.match(await wordsFor({ authorization_endpoint: address }), /^502 .*not http or https/, address);
  t.match(await wordsFor({ token_endpoint: 'http://169.254.169.254/token' }), /^502 .*not allowed/);
  t.match(await wordsFor({ authorization_endpoint: 7 }), /^502 .*lacks a required endpoint/);
  const elsewhere = origin.replace('127.0.0.1', 'localhost');
  challenge = `Bearer resource_metadata="${elsewhere}/elsewhere", scope="one two"`;
  t.equal((await connect.preview('b', ticket('frank'))).scope, 'one two', 'what the challenge says is asked for');
  t.equal(answered.elsewhere, 0, 'nobody else is asked in the backend’s name');
  challenge = '';
  t.match(await faultOf(connectIn('tls-only').preview('b', ticket('frank'))), /^502 .*--upstream-connection-mode/);
});

t.test(
  'no request goes to a refused address, whoever names it: configs, tickets, metadata, names, redirections',
  async (t) => {
    const nameServer = await startNameServer(REFUSED_NAMES);
    const names = new Names({ nameServers: [nameServer.address] });
    t.teardown(() => {
      names.close();
      nameServer.close();
    });
    const guarded = connectIn('plain-text-or-tls', names);
    let users = 0;
    /** The outcome of a whole consent by a new user each time, because links are counted per user. */
    const wordsOf = async (auth: Partial<UserAuth>, at: string, changes: object): Promise<string> => {
      Object.assign(said, changes);
      users += 1;
      const subject = `visitor-${users}`;
      const sealed = {
        subject,
        backendName: 'b',
        origin: at,
        path: '/mcp',
        auth: { type: 'oauth2-user' as const, ...auth },
      };
      const words = await faultOf(
        (async (): Promise<void> => {
          const address = new URL(await guarded.start('b', sealTicket(keys, sealed, Date.now()) ?? '', BROWSER));
          const state = address.searchParams.get('state') ?? '';
          await guarded.complete(new URLSearchParams({ code: 'c', state, iss: origin }), BROWSER);
        })(),
      );
      for (const name of Object.keys(changes)) Reflect.deleteProperty(said, name);
      return words;
    };
    const NOT_ALLOWED = '502 A server names an address that is not allowed.';
    t.equal(await wordsOf({}, origin, {}), 'none');
    for (const host of [...REFUSED_HOSTS, ...Object.keys(REFUSED_NAMES)]) {
      const url = `http://${host}`;
      t.equal(await wordsOf({}, new URL(url).origin, {}), NOT_ALLOWED, `a backend at ${host}`);
      t.equal(await wordsOf({ issuer: url }, origin, {}), NOT_ALLOWED, `an issuer in auth at ${host}`);
      resourceSaid = { authorization_servers: [url] };
      t.equal(await wordsOf({}, origin, {}), NOT_ALLOWED, `authorization_servers of the backend’s metadata at ${host}`);
      resourceSaid = undefined;
      for (const name of ['token_endpoint', 'registration_endpoint']) {
        // The gateway registers itself once for each backend and issuer.
        const issuer = name === 'registration_endpoint' ? `${origin}/` : origin;
        t.equal(await wordsOf({}, origin, { issuer, [name]: `${url}/x` }), NOT_ALLOWED, `${name} at ${host}`);
      }
      // Only the browser goes to this URL, and it resolves names itself.
      if (!(host in REFUSED_NAMES))
        t.equal(await wordsOf({}, origin, { authorization_endpoint: `${url}/x` }), NOT_ALLOWED, `the page at ${host}`);
    }
    for (const target of [`${origin.replace('127.0.0.1', 'localhost')}/elsewhere`, 'http://169.254.169.254/latest']) {
      redirection = target;
      t.match(await wordsOf({}, origin, {}), /publishes no metadata/, 'a redirection elsewhere is not followed');
    }
    redirection = '';
    t.equal(answered.elsewhere, 0);
  },
);

t.test('an authorization server is trusted whose certificate the operators’ own authority has signed', async (t) => {
  const { server: own, authority } = createCertificates(t);
  let at = '';
  const overTls = createTlsServer({ key: own.privateKey, cert: own.certificate }, (request, response) => {
    if (request.url !== '/.well-known/oauth-authorization-server') return void response.writeHead(404).end();
    response.writeHead(200, { 'content-type': 'application/json' }).end(
      JSON.stringify({
        ...{ issuer: at, authorization_endpoint: `${at}/authorize`, token_endpoint: `${at}/token` },
        code_challenge_methods_supported: ['S256'],
      }),
    );
  });
  await new Promise<void>((resolve) => overTls.listen(0, '127.0.0.1', resolve));
  t.teardown(() => {
    overTls.closeAllConnections();
    overTls.close();
  });
  at = `https://127.0.0.1:${(overTls.address() as AddressInfo).port}`;
  const authorities = readFileSync(authority.certificatePath, 'utf8');
  const trusting = connectIn('plain-text-or-tls', new Names(), authorities);
  t.match(await trusting.preview('b', ticket('harry', { issuer: at })), { server: { issuer: at } });
  t.match(await faultOf(connect.preview('b', ticket('harry', { issuer: at }))), /^502 .*cannot be reached/);
});

t.test('a token that no header can carry, or a refresh token too long to store, is no grant', async (t) => {
  const endWith = async (changes: object): Promise<string> => {
    const query = await callback('grace');
    Object.assign(said, changes);
    const words = await faultOf(connect.complete(query, BROWSER));
    for (const name of Object.keys(changes)) Reflect.deleteProperty(said, name);
    return words;
  };
  t.match(await endWith({ access_token: 'a\nb' }), /^502 /);
  t.match(await endWith({ token_type: 'dpop' }), /^502 /);
  t.match(await endWith({ refresh_token: 'r'.repeat(limits.tokenBytesMax + 1) }), /^502 /);
  t.same(await connect.list('grace'), []);
  t.equal(await endWith({}), 'none');
  t.match(await connect.list('grace'), [{ server: 'b', url: `${origin}/mcp` }]);
});

t.test('what is forgiven of token answers and of registrations is forgiven in a consent', async (t) => {
  t.teardown(() => {
    [registered, tokenAnswer] = [{ status: 201 }, undefined];
  });
  for (const [index, { why, sent: answerSaid, kinds }] of corrections.entries()) {
    // At a path of its own the gateway registers itself anew.
    const path = `/forgiven-${index}`;
    const auth = { type: 'oauth2-user' } as const;
    registered = { status: 200, body: kinds.includes('registration') ? answerSaid : { client_id: 'c' } };
    tokenAnswer = kinds.includes('token') ? answerSaid : { access_token: 't' };
    const sealed = sealTicket(keys, { subject: `heidi-${index}`, backendName: 'b', origin, path, auth }, Date.now());
    const address = new URL(await connect.start('b', sealed ?? '', BROWSER));
    t.equal(address.searchParams.get('client_id'), 'c', why);
    const state = address.searchParams.get('state') ?? '';
    t.equal(await connect.complete(new URLSearchParams({ code: 'c', state, iss: origin }), BROWSER), 'b', why);
  }
  tokenAnswer = { access_token: 't', token_type: 'mac' };
  t.match(
    await faultOf(connect.complete(await callback('heidi'), BROWSER)),
    /^502 The authorization server did not respond/,
  );
});

t.test('a registration that fails is told by its own reason', async (t) => {
  t.teardown(() => (registered = { status: 201 }));
  const wordsOf = async (path: string): Promise<string> => {
    const auth = { type: 'oauth2-user' } as const;
    const sealed = sealTicket(keys, { subject: 'ivan', backendName: 'b', origin, path, auth }, Date.now());
    return faultOf(connect.start('b', sealed ?? '', BROWSER));
  };
  registered = { status: 400, body: { error: 'invalid_redirect_uri' } };
  t.match(await wordsOf('/refused'), /^502 .*refused \(invalid_redirect_uri\)/);
  registered = { status: 503, body: {} };
  t.match(await wordsOf('/down'), /^502 .*status 503/);
  registered = { status: 201, body: { client_id: 'c', client_secret: 'a\nb', token_endpoint_auth_method: 'none' } };
  t.equal(await wordsOf('/public'), 'none');
});

t.test('as directly: a client shows the secret that it was given, and none if it was given none', async (t) => {
  t.teardown(() => {
    registered = { status: 201 };
    delete said['token_endpoint_auth_methods_supported'];
  });
  const secret = { client_id: 'c', client_secret: 's' };
  const basic = `Basic ${Buffer.from('c:s').toString('base64')}`;
  const rows: readonly [what: string, supported: string[] | undefined, body: object, shown: RegExp | string][] = [
    ['no secret, and nothing said', undefined, { client_id: 'c' }, /client_id=c/],
    [
      'no secret, whatever is said',
      undefined,
      { client_id: 'c', token_endpoint_auth_method: 'client_secret_basic' },
      /client_id=c/,
    ],
    ['a secret that nobody asked for', ['none', 'client_secret_basic'], secret, basic],
    ['one for the body', ['none', 'client_secret_post'], secret, /client_secret=s/],
    ['one that is not wanted', ['none'], { ...secret, token_endpoint_auth_method: 'none' }, /client_id=c/],
  ];
  for (const [index, [what, supported, body, expected]] of rows.entries()) {
    said['token_endpoint_auth_methods_supported'] = supported;
    [registered, asked] = [{ status: 201, body }, ''];
    const auth = { type: 'oauth2-user' } as const;
    const sealed = { subject: `peggy-${index}`, backendName: 'b', origin, path: `/secrets-${index}`, auth };
    const address = new URL(await connect.start('b', sealTicket(keys, sealed, Date.now()) ?? '', BROWSER));
    const state = address.searchParams.get('state') ?? '';
    await connect.complete(new URLSearchParams({ code: 'c', state, iss: origin }), BROWSER);
    if (typeof expected === 'string') t.equal(shown, expected, what);
    else t.match([asked, shown], [expected, undefined], what);
    if (expected !== basic && !String(expected).includes('secret')) t.notMatch(asked, /client_secret/, what);
  }
});

t.test(
  'with `resource: false`, no resource is asked for, neither by the browser nor at the token endpoint',
  async (t) => {
    asked = '';
    const auth = { resource: false } as const;
    const address = new URL(await connect.start('b', ticket('judy', auth), BROWSER));
    t.notOk(address.searchParams.has('resource'));
    const state = address.searchParams.get('state') ?? '';
    await connect.complete(new URLSearchParams({ code: 'c', state, iss: origin }), BROWSER);
    t.match(asked, /grant_type=authorization_code/);
    t.notMatch(asked, /resource/);
    t.equal((await connect.preview('b', ticket('judy', auth))).resource, '');
  },
);

/** What an OpenID Connect provider says besides; the official client requires it. */
const OPENID = {
  ...{ response_types_supported: ['code'], subject_types_supported: ['public'], jwks_uri: `${origin}/keys` },
  id_token_signing_alg_values_supported: ['RS256'],
};

/** Where an official client sends the browser, or its error. */
async function directly(scope?: string): Promise<URLSearchParams | string> {
  let sentTo = new URL('about:blank');
  const redirectUrl = 'http://client.example/callback';
  const grant_types = ['authorization_code', 'refresh_token'];
  const provider: OAuthClientProvider = {
    redirectUrl,
    clientMetadata: { client_name: 'c', redirect_uris: [redirectUrl], grant_types },
    clientInformation: () => undefined,
    saveClientInformation: () => undefined,
    tokens: () => undefined,
    saveTokens: () => undefined,
    redirectToAuthorization: (url) => void (sentTo = url),
    saveCodeVerifier: () => undefined,
    codeVerifier: () => '',
  };
  const options = { serverUrl: `${origin}/mcp`, ...(scope !== undefined && { scope }) };
  try {
    await askAsClient(provider, options);
  } catch (error) {
    return String(error);
  }
  return sentTo.searchParams;
}

t.test('as directly: a resource is named to the authorization server if the backend’s metadata has one', async (t) => {
  t.teardown(() => {
    resourceSaid = undefined;
    for (const name of Object.keys(OPENID)) Reflect.deleteProperty(said, name);
  });
  Object.assign(said, OPENID);
  for (const [metadata, resource] of [
    [undefined, null],
    [{}, origin],
  ] as const) {
    resourceSaid = metadata;
    const expected = await directly();
    t.equal(typeof expected === 'string' ? expected : expected.get('resource'), resource, 'directly');
    const through = new URL(await connect.start('b', ticket('rupert'), BROWSER));
    t.equal(through.searchParams.get('resource'), resource, 'through the gateway');
  }
});

t.test('as directly: metadata that names no resource is not believed, and does not stand in the way', async (t) => {
  t.teardown(() => {
    resourceSaid = undefined;
    for (const name of Object.keys(OPENID)) Reflect.deleteProperty(said, name);
  });
  Object.assign(said, OPENID);
  resourceSaid = { resource: undefined, authorization_servers: ['https://nobody.example'] };
  const expected = await directly();
  t.equal(typeof expected === 'string' ? expected : expected.get('response_type'), 'code', 'directly');
  t.match(await connect.preview('b', ticket('quentin')), { server: { issuer: origin } }, 'through the gateway');
  resourceSaid = { resource: 'https://other.example' };
  t.match(await faultOf(connect.preview('b', ticket('quentin'))), /^502 .*not its own/, 'another one is refused');
});

t.test('as directly: a server that moves its addresses within its origin is followed there', async (t) => {
  const named = new Set<string>();
  const moving = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '', origin);
    const status = request.method === 'POST' ? 307 : 302;
    if (!pathname.endsWith('/')) {
      named.add(`${pathname}/`);
      return void response.writeHead(status, { location: `${pathname}/` }).end();
    }
    request.url = request.url?.replace(/\/$/, '') ?? '';
    answer(request, response);
  });
  await new Promise<void>((resolve) => moving.listen(0, '127.0.0.1', resolve));
  const { port } = moving.address() as AddressInfo;
  const place = `http://127.0.0.1:${port}`;
  Object.assign(said, { issuer: place, token_endpoint: `${place}/token`, registration_endpoint: `${place}/register` });
  challenge = 'Bearer scope="moved"';
  t.teardown(() => {
    for (const name of Object.keys(said)) Reflect.deleteProperty(said, name);
    challenge = '';
    moving.closeAllConnections();
    moving.close();
  });
  const auth = { type: 'oauth2-user' } as const;
  const sealed = sealTicket(keys, { subject: 'mona', backendName: 'b', origin: place, path: '/mcp', auth }, Date.now());
  const address = new URL(await connect.start('b', sealed ?? '', BROWSER));
  t.equal(address.searchParams.get('scope'), 'moved', 'what the backend says where it has moved to');
  const state = address.searchParams.get('state') ?? '';
  t.equal(await connect.complete(new URLSearchParams({ code: 'c', state, iss: place }), BROWSER), 'b');
  for (const path of ['/mcp/', '/.well-known/oauth-authorization-server/', '/register/', '/token/'])
    t.ok(named.has(path), path);
});

t.test('as directly: scopes are asked for and registered, so that tokens can be renewed', async (t) => {
  t.teardown(() => {
    [resourceSaid, challenge] = [undefined, ''];
    for (const name of Object.keys({ ...OPENID, scopes_supported: [] })) Reflect.deleteProperty(said, name);
  });
  Object.assign(said, OPENID);
  const rows: readonly [of: string, wanted: string | undefined, scopes: string[] | undefined, offered: string[]][] = [
    ['the challenge’s', 'read write', ['all'], ['offline_access', 'read']],
    ['the challenge’s, with the one for renewal', 'offline_access read', undefined, ['offline_access']],
    ['the resource’s', undefined, ['files', 'mail'], ['openid', 'offline_access']],
    ['a server’s that offers no renewal', 'read', undefined, ['read']],
    ['none', undefined, undefined, ['offline_access']],
  ];
  for (const [index, [of, wanted, scopes, offered]] of rows.entries()) {
    said['scopes_supported'] = offered;
    challenge = wanted === undefined ? '' : `Bearer scope="${wanted}"`;
    resourceSaid = { ...(scopes !== undefined && { scopes_supported: scopes }), authorization_servers: [origin] };
    const expected = await directly(wanted);
    if (typeof expected === 'string') throw new Error(expected);
    const registeredScope = wishes.at(-1)?.['scope'];
    // At a path of its own the gateway registers itself anew.
    const sealed = {
      subject: `mallory-${index}`,
      backendName: 'b',
      origin,
      path: `/scopes-${index}`,
      auth: { type: 'oauth2-user' },
    } as const;
    const address = new URL(await connect.start('b', sealTicket(keys, sealed, Date.now()) ?? '', BROWSER));
    for (const name of ['scope', 'prompt', 'code_challenge_method'])
      t.equal(address.searchParams.get(name), expected.get(name), `${name}: ${of}`);
    t.equal(wishes.at(-1)?.['scope'], registeredScope, `registered: ${of}`);
  }
  const own = new URL(await connect.start('b', ticket('mallory', { scope: 'mine' }), BROWSER));
  t.equal(own.searchParams.get('scope'), 'mine', 'what the config says is asked for as it is');
  const { registrations } = answered;
  await connect.start('b', ticket('niaj', { scope: 'mine' }), BROWSER);
  t.equal(answered.registrations, registrations, 'registered once');
  await connect.start('b', ticket('niaj', { scope: 'mine more' }), BROWSER);
  t.equal(answered.registrations, registrations + 1, 'but for other scopes');
  const without = new URL(await connect.start('b', ticket('niaj', { scope: 'unregistrable' }), BROWSER));
  t.equal(without.searchParams.get('scope'), 'unregistrable', 'asked for, though the server registers nobody for it');
  t.notOk(wishes.at(-1)?.['scope']);
});

t.test('as directly: a provider of OpenID Connect supports PKCE without a word', async (t) => {
  t.teardown(() => {
    [published, resourceSaid] = ['/.well-known/oauth-authorization-server', undefined];
    for (const name of Object.keys({ ...OPENID, code_challenge_methods_supported: [] }))
      Reflect.deleteProperty(said, name);
  });
  Object.assign(said, { ...OPENID, code_challenge_methods_supported: undefined });
  published = '/.well-known/openid-configuration';
  const expected = await directly();
  const through = new URL(await connect.start('b', ticket('olivia'), BROWSER)).searchParams;
  t.equal(typeof expected === 'string' ? expected : expected.get('code_challenge_method'), 'S256', 'directly');
  t.equal(through.get('code_challenge_method'), 'S256', 'through the gateway');
  said['code_challenge_methods_supported'] = ['plain'];
  t.match(await directly(), /S256/, 'directly: one that names other methods is refused');
  t.match(await faultOf(connect.preview('b', ticket('olivia'))), /^502 .*PKCE/, 'through the gateway');
  // RFC 8414: omitted means unsupported.
  published = '/.well-known/oauth-authorization-server';
  said['code_challenge_methods_supported'] = undefined;
  t.match(await faultOf(connect.preview('b', ticket('olivia'))), /^502 .*PKCE/);
});
