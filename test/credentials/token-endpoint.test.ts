// A token endpoint on raw sockets that sends responses no server should: whatever it sends, the requester learns that there is no token,
// and the process keeps running. A forbidden address is never asked.
import t from 'tap';
import { DeadlineWheel } from '../../src/fair/deadline-wheel.js';
import { Names } from '../../src/http-client/names/names.js';
import type { UserGrant } from '../../src/credentials/secrets/user-grants.js';
import { corrections } from '../../src/credentials/oauth-answer.js';
import { requestToken, type IssuedToken, type OAuthTokenRequest } from '../../src/credentials/token-endpoint.js';
import { refreshGrant } from '../../src/credentials/user-tokens.js';
import { Http1Upstream } from '../../src/http-client/http1-upstream.js';
import { upstreamFault, type UpstreamFault, type UpstreamFaultKind } from '../../src/http-client/upstream-fault.js';
import type { HttpUpstream } from '../../src/http-client/http-upstream.js';
import { startNameServer } from '../support/name-server.js';
import { startRawBackend } from '../support/raw-backend.js';
import { REFUSED_HOSTS, REFUSED_NAMES } from '../support/refused-hosts.js';
import { until } from '../support/until.js';
import { ScriptedUpstream, type ScriptedCall } from '../upstream/scripted-upstream.js';

const GOOD = '{"access_token":"one","token_type":"Bearer","expires_in":60}';
const JSON_TYPE = 'content-type: application/json\r\n';

const deadlines = new DeadlineWheel();
t.teardown(() => deadlines.stop());

async function ask(http: HttpUpstream, endpoint: string): Promise<IssuedToken | UpstreamFault> {
  const auth = {
    ...({ type: 'oauth2-client-credentials', token_endpoint: endpoint } as const),
    ...{ client_id: 'c', client_secret: { secret: 's' } },
  };
  return requestToken({ http }, 'alice', { auth, clientSecret: 'x', callerToken: '' });
}

/** A response whose content-length is correct. */
function answer(status: number | string, headers = JSON_TYPE, body = GOOD): string {
  return `HTTP/1.1 ${status} Odd\r\nconnection: close\r\n${headers}content-length: ${body.length}\r\n\r\n${body}`;
}

const odd: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    ['000', '099', 100, 101, 199, 204, 205, 304, 399, 499, 599, 600, 999].map((status) => [status, answer(status)]),
  ),
  'that is none yet': 'HTTP/1.1 199 Odd\r\n\r\n',
  'with nothing in it': answer(200, JSON_TYPE, ''),
  'of two lengths': answer(200, `${JSON_TYPE}content-length: 3\r\n`),
  compressed: answer(200, `${JSON_TYPE}content-encoding: br\r\n`),
  'with bytes that are no text': answer(200, JSON_TYPE, '\xff\xfe\x00{'),
  'that ends within its head': 'HTTP/1.1 200 OK\r\nconte',
  'that ends within its body': answer(200).slice(0, -10),
  'that ends within a chunk': `HTTP/1.1 200 OK\r\n${JSON_TYPE}transfer-encoding: chunked\r\n\r\n40\r\n{"acc`,
  'that is too long': answer(200, JSON_TYPE, ' '.repeat(70_000)),
};

/** All of these can mean one thing only. */
const clear: Readonly<Record<string, string>> = {
  ...Object.fromEntries([201, 202, 203, 206, 299].map((status) => [`of status ${status}`, answer(status)])),
  'with a byte order mark': answer(200, JSON_TYPE, `\xef\xbb\xbf${GOOD}`),
  'of no type': answer(200, ''),
  'of a type in Latin-1': answer(200, 'content-type: application/j\xe4son\r\n'),
  'of a type with a tab': answer(200, 'content-type: \ttext\t/\thtml\r\n'),
  'of two types': answer(200, `${JSON_TYPE}content-type: text/html\r\n`),
};

t.test('whatever the endpoint answers, there is no token, and the next answer is read', async (t) => {
  const http = new Http1Upstream({ connectTimeoutMs: 10_000, names: new Names() });
  const endpoint = await startRawBackend((request) => request.empty(500));
  t.teardown(async () => {
    await http.close();
    await endpoint.close();
  });
  for (const [name, bytes] of Object.entries(odd)) {
    endpoint.handler = (request) => {
      request.bytes(Buffer.from(bytes, 'latin1'));
      request.destroy();
    };
    t.match(await ask(http, endpoint.url), { kind: 'token-unavailable', isUnsent: true }, `an answer ${name}`);
  }
  for (const [name, bytes] of Object.entries({ good: answer(200), ...clear })) {
    endpoint.handler = (request) => request.bytes(Buffer.from(bytes, 'latin1'));
    const token = { headers: ['authorization', 'Bearer one'], lifetimeMs: 60_000 };
    t.match(await ask(http, endpoint.url), token, `an answer ${name}`);
  }
});

t.test('what is forgiven of token answers is forgiven at each token endpoint, and nothing else is', async (t) => {
  const http = new Http1Upstream({ connectTimeoutMs: 10_000, names: new Names() });
  const endpoint = await startRawBackend((request) => request.empty(500));
  t.teardown(async () => {
    await http.close();
    await endpoint.close();
  });
  const grant = {
    ...{ subject: 'alice', issuer: endpoint.url, tokenEndpoint: endpoint.url, resource: '' },
    ...{ client: { id: 'c', authentication: 'none' }, refreshToken: 'r' },
  } as UserGrant;
  const answeredWith = (status: number, body: object): void => {
    endpoint.handler = (request) => request.bytes(Buffer.from(answer(status, JSON_TYPE, JSON.stringify(body))));
  };
  const exchange = async (): Promise<unknown> => {
    const auth = {
      ...({ type: 'token-exchange', token_endpoint: endpoint.url, resource: false } as const),
      ...{ client_id: 'c', client_secret: { secret: 's' } },
    };
    return requestToken({ http }, 'alice', { auth, clientSecret: 'x', callerToken: 'theirs' });
  };
  t.ok(corrections.every(({ kinds }) => kinds.length > 0));
  for (const { why, correct, sent, corrected } of corrections) t.same(correct(sent), corrected, why);
  for (const { why, sent, kinds } of corrections) {
    if (!kinds.includes('token')) continue;
    answeredWith(201, sent);
    t.match(await ask(http, endpoint.url), { headers: ['authorization', 'Bearer t'] }, why);
    t.match(await exchange(), { headers: ['authorization', 'Bearer t'] }, why);
    t.match(await refreshGrant({ http }, grant, '', 0), { accessToken: 't' }, why);
  }
  for (const type of [null, 'user', 'Bot', 'Bearer ', 'access_token']) {
    answeredWith(200, { access_token: 't', token_type: type });
    t.match(await ask(http, endpoint.url), { headers: ['authorization', 'Bearer t'] }, `of the type ${type}`);
  }
  answeredWith(200, { access_token: 't', token_type: 'bearer', expires_in: '3600' });
  t.match(await ask(http, endpoint.url), { lifetimeMs: 3_600_000 }, 'a number as text');
  answeredWith(200, { error: 'invalid_client' });
  t.match(await ask(http, endpoint.url), { kind: 'token-refused', detail: '(invalid_client)' }, 'a refusal with 200');
  answeredWith(400, { error: 'invalid_scope' });
  t.match(await ask(http, endpoint.url), { kind: 'token-refused', detail: '(invalid_scope)' });
  answeredWith(400, { error: 'No such scope: x' });
  t.equal(((await ask(http, endpoint.url)) as UpstreamFault).detail, undefined, 'what is no code is told to nobody');
  answeredWith(503, { error: 'temporarily_unavailable' });
  t.match(await ask(http, endpoint.url), { kind: 'token-unavailable' }, 'an error of the server is tried again');
  for (const said of [{ token_type: 'mac' }, { expires_in: 'soon' }, { access_token: null }]) {
    answeredWith(200, { access_token: 't', token_type: 'bearer', ...said });
    t.match(await ask(http, endpoint.url), { kind: 'token-unavailable' }, JSON.stringify(said));
  }
});

t.test('a token is asked for with what is configured, and with nothing else', async (t) => {
  const http = new Http1Upstream({ connectTimeoutMs: 10_000, names: new Names() });
  let shown: readonly string[] = [];
  const endpoint = await startRawBackend((request) => {
    shown = [request.headers['authorization'] ?? '', ...request.text.split('&').sort()];
    request.bytes(Buffer.from(answer(200)));
  });
  t.teardown(async () => {
    await http.close();
    await endpoint.close();
  });
  const client = { token_endpoint: endpoint.url, client_id: 'c', client_secret: { secret: 's' } } as const;
  const [plain, exchange] = [
    { type: 'oauth2-client-credentials', ...client } as const,
    { type: 'token-exchange', resource: false, ...client } as const,
  ];
  const ask = (auth: OAuthTokenRequest['auth'], callerToken = ''): Promise<IssuedToken | UpstreamFault> =>
    requestToken({ http }, 'alice', { auth, clientSecret: 'x', callerToken });
  await ask(plain);
  t.same(shown, ['Basic Yzp4', 'grant_type=client_credentials']);
  await ask({ ...plain, client_authentication: 'post', scope: 'a b', audience: 'https://x', resource: 'https://y' });
  t.same(shown, [
    '',
    'audience=https%3A%2F%2Fx',
    'client_id=c',
    'client_secret=x',
    'grant_type=client_credentials',
    'resource=https%3A%2F%2Fy',
    'scope=a+b',
  ]);
  await ask(exchange, 'theirs');
  t.same(shown.slice(1), [
    'grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Atoken-exchange',
    'requested_token_type=urn%3Aietf%3Aparams%3Aoauth%3Atoken-type%3Aaccess_token',
    'subject_token=theirs',
    'subject_token_type=urn%3Aietf%3Aparams%3Aoauth%3Atoken-type%3Aaccess_token',
  ]);
});

t.test('as directly: a client’s secret is shown as it is written, where decoding would not change it', async (t) => {
  const http = new Http1Upstream({ connectTimeoutMs: 10_000, names: new Names() });
  let shown = '';
  const endpoint = await startRawBackend((request) => {
    shown = Buffer.from(request.headers['authorization']?.replace('Basic ', '') ?? '', 'base64').toString();
    request.bytes(Buffer.from(answer(200)));
  });
  t.teardown(async () => {
    await http.close();
    await endpoint.close();
  });
  const showing = async (id: string, clientSecret: string): Promise<string> => {
    const auth = {
      ...({ type: 'oauth2-client-credentials', token_endpoint: endpoint.url } as const),
      ...{ client_id: id, client_secret: { secret: 's' } },
    };
    await requestToken({ http }, 'alice', { auth, clientSecret, callerToken: '' });
    return shown;
  };
  const id = '0b9c1c6e-3f0f-4b8e-9d61-7f6c9a0c5b11';
  t.equal(await showing(id, 'a_b.c~d/e='), `${id}:a_b.c~d/e=`);
  const [client, secret] = ['https://a.example/c', 'a+b%41:c d'];
  const decoded = (await showing(client, secret)).split(':').map((part) => decodeURIComponent(part));
  t.same(decoded, [client, secret], 'anything else is encoded, as RFC 6749 has it');
});

t.test('no token is requested at a refused address, by its URL or by what its name resolves to', async (t) => {
  const nameServer = await startNameServer(REFUSED_NAMES);
  const names = new Names({ nameServers: [nameServer.address] });
  const http = new Http1Upstream({ connectTimeoutMs: 10_000, names });
  t.teardown(async () => {
    await http.close();
    names.close();
    nameServer.close();
  });
  const refused = { kind: 'address-refused', isUnsent: true };
  for (const host of [...REFUSED_HOSTS, ...Object.keys(REFUSED_NAMES)]) {
    const tokenEndpoint = `http://${host}/token`;
    t.match(await ask(http, tokenEndpoint), refused, `the token_endpoint of auth at ${host}`);
    const grant = {
      ...{ subject: 'alice', issuer: `http://${host}`, tokenEndpoint, resource: 'https://tools.example' },
      ...{ client: { id: 'c', authentication: 'none' }, refreshToken: 'r' },
    } as UserGrant;
    t.match(await refreshGrant({ http }, grant, '', 0), refused, `a grant's at ${host}`);
  }
});

async function askScripted(script: (call: ScriptedCall) => void): Promise<IssuedToken | UpstreamFault> {
  const http = new ScriptedUpstream();
  const asked = ask(http, 'https://as.example/token');
  await until(() => http.calls.length === 1, 'the request');
  script(http.last);
  return asked;
}

t.test('nothing is thrown at the client that has read the answer, even one that it should have refused', async (t) => {
  for (const status of [0, 99, 199, 600, 1_000]) {
    t.match(await askScripted((call) => call.json(GOOD, '', status)), { kind: 'token-unavailable' }, `${status}`);
  }
  const odd = 'application/json\n\u{1f511}';
  t.match(await askScripted((call) => call.head(200, odd).data(GOOD).end()), { kind: 'token-unavailable' });
});

t.test('an exhausted share is reported as the subject’s own; every other fault is the server’s', async (t) => {
  const kindAfter = async (kind: UpstreamFaultKind): Promise<unknown> => {
    const outcome = await askScripted((call) => call.fault(upstreamFault(kind, true)));
    return 'kind' in outcome ? outcome.kind : outcome;
  };
  t.equal(await kindAfter('connections-share-used'), 'connections-share-used');
  t.equal(await kindAfter('backend-share-used'), 'connections-share-used');
  t.equal(await kindAfter('connections-used'), 'token-unavailable');
  t.equal(await kindAfter('connection-refused'), 'token-unavailable');
  t.equal(await kindAfter('address-refused'), 'address-refused');
});
