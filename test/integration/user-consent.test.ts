// Backends that require each user's own consent, with a real authorization server and the control plane's consent pages. Two users
// with their own grants call one backend under load while tokens expire and are revoked and each refresh token is valid once. The
// backend verifies every token and compares its owner with the user, also in requests that it refuses.
import { createRemoteJWKSet, decodeJwt, jwtVerify } from 'jose';
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { pino } from 'pino';
import t, { type Test } from 'tap';
import type { StoreOptions } from '../../src/config/table/store-options.js';
import { SecretKeys } from '../../src/credentials/secrets/secret-keys.js';
import { SecretRecords } from '../../src/credentials/secrets/secret-records.js';
import { openRecordStore } from '../../src/store/open-store.js';
import { axeFindings, startBrowser } from '../support/browser.js';
import { writeConfig } from '../support/config-writer.js';
import { ConsentBrowser, ticketIn } from '../support/consent-browser.js';
import { startConsentServer } from '../support/consent-server.js';
import { findFreePort } from '../support/free-port.js';
import {
  childEnvironment,
  programPath,
  startGateway,
  startProgram,
  storeOptionWords,
  verifyWith,
  type Gateway,
} from '../support/gateway.js';
import { createKeyPair } from '../support/keys.js';
import { startMcpBackend } from '../support/mcp-backend.js';
import { INITIALIZE_PARAMS, McpCaller, rpc, type McpSession, type RpcMessage } from '../support/mcp-caller.js';
import { callTool } from '../support/modern-caller.js';
import { NamedCaller, WHO_HEADER } from '../support/named-caller.js';
import type { ReceivedRequest } from '../support/raw-backend.js';
import { startRedis } from '../support/redis.js';
import { createScratchDirectory } from '../support/scratch-directory.js';
import { mint } from '../support/tokens.js';
import { until } from '../support/until.js';

const SCOPE = 'call';
/** What some calls need in addition. */
const MORE = 'write';
const PATH = '/gw-rs/servers/v/mcp';
const CLIENT = { id: 'known', secret: 'client-secret-91bd55' };
const URL_PARAMS = INITIALIZE_PARAMS.replace('"capabilities":{}', '"capabilities":{"elicitation":{"url":{}}}');

const key = createKeyPair(t);
const tokenOf = async (sub: string): Promise<string> =>
  mint({ sub, key: key.privateKey, algorithm: key.algorithm, claims: { jti: randomBytes(8).toString('hex') } });
const connectUrl = `http://127.0.0.1:${await findFreePort()}`;
const server = await startConsentServer(t, {
  ...{ scope: `${SCOPE} ${MORE}`, lifetimeSeconds: 3, client: CLIENT, redirectUri: `${connectUrl}/connect/callback` },
});
const keySet = createRemoteJWKSet(new URL(`${server.issuer}/jwks`));

const shown = new Map<string, string>();
const revoked = new Set<string>();
let needsMore = '';
let refusedCount = 0;
let foreignCount = 0;
/** The users of the requests that were compared with their tokens, in order. */
const compared: string[] = [];
/** The backend's metadata as a protected resource. */
const metadata = { resource: '', authorization_servers: [server.issuer] };
const backend = await startMcpBackend({ tools: ['who'], withSessions: true, onRequest: check });
t.teardown(() => backend.close());
metadata.resource = backend.url;

/** Runs before the token is verified: an expired or revoked one still names its subject. Users appear as `alice-there` at the backend. */
function compare(request: ReceivedRequest, token: string): void {
  const { sub = '' } = decodeJwt(token);
  const [, who] = /"who":"([\w-]+)"/.exec(request.body.toString()) ?? [];
  const user = request.headers[WHO_HEADER];
  if (user !== undefined) compared.push(user);
  if ((who !== undefined && who !== sub) || (user !== undefined && user !== sub.split('-')[0])) foreignCount += 1;
}

async function check(request: ReceivedRequest): Promise<boolean> {
  const { origin } = new URL(backend.url);
  if (request.path.startsWith('/.well-known/')) {
    if (request.path.endsWith('/mcp')) request.json(metadata);
    else request.empty(404);
    return true;
  }
  const token = (request.headers['authorization'] ?? '').replace('Bearer ', '');
  try {
    compare(request, token);
    const { payload } = await jwtVerify(token, keySet, { issuer: server.issuer, audience: backend.url });
    const { sub = '', scope = '', jti = '' } = payload;
    const scopes = String(scope).split(' ');
    shown.set(token, sub);
    if (!scopes.includes(SCOPE) || revoked.has(jti)) throw new Error('not allowed');
    if (needsMore === '' || scopes.includes(MORE) || !request.text.includes(`"${needsMore}"`)) return false;
    request.empty(403, { 'www-authenticate': `Bearer error="insufficient_scope", scope="${MORE}"` });
    return true;
  } catch {
    refusedCount += 1;
    const place = `${origin}/.well-known/oauth-protected-resource/mcp`;
    request.empty(401, { 'www-authenticate': `Bearer resource_metadata="${place}", scope="${SCOPE}"` });
    return true;
  }
}

const sealingKey = randomBytes(32).toString('base64');
const keyFile = join(createScratchDirectory(t), 'keys');
writeFileSync(keyFile, sealingKey);
const answers: string[] = [];
const callerTokens: string[] = [];
const links: string[] = [];

interface Stage {
  readonly storeOptions: StoreOptions;
  readonly gateway: Gateway;
  readonly controlPlane: Gateway;
  open(user: string, params?: string): Promise<McpSession>;
}

async function setStage(t: Test, storeOptions: StoreOptions, workerCount: number): Promise<Stage> {
  const records = await openRecordStore(storeOptions, pino({ level: 'silent' }));
  const keys = new SecretKeys([sealingKey]);
  const secret = { value: CLIENT.secret, origins: [server.issuer, new URL(backend.url).origin] };
  if (keys.sealingKey !== undefined) await new SecretRecords(records, keys).set('known', secret, keys.sealingKey);
  await records.close();
  const common = ['--secrets-key-file', keyFile, '--connect-url', connectUrl, '--log-level', 'debug'];
  const words = ['--address', new URL(connectUrl).host, ...storeOptionWords(storeOptions), ...verifyWith(key)];
  const controlPlane = await startProgram(t, ['control-plane', ...words, '--rate-limit', '0', ...common]);
  const gateway = await startGateway(t, {
    ...{ storeOptions, workerCount, upstreamConnectionMode: 'plain-text-or-tls' as const },
    ...{ keyOptions: verifyWith(key), options: common },
  });
  const open = async (user: string, params = URL_PARAMS): Promise<McpSession> => {
    const token = await tokenOf(user);
    callerTokens.push(token);
    return new NamedCaller(gateway.origin, PATH, token, user).openSession({ params });
  };
  return { storeOptions, gateway, controlPlane, open };
}

const configOf = (auth: object, host: object = {}): object => {
  const said = { url: backend.url, passthrough_headers: [WHO_HEADER], auth: { type: 'oauth2-user', ...auth } };
  return { virtual_hosts: { v: { backends: { b: said }, ...host } } };
};

/** @param isThrough whether the call goes through `call_tool`. */
async function callOf(session: McpSession, who?: string, isThrough = false): Promise<RpcMessage> {
  const args = who === undefined ? '{}' : `{"who":"${who}"}`;
  const answer = await (isThrough
    ? session.call('call_tool', `{"name":"b-who","arguments":${args}}`)
    : session.call('b-who', args));
  answers.push(answer.text);
  return rpc(answer);
}

function linkIn({ error }: RpcMessage): string {
  const { elicitations } = (error?.data ?? {}) as { readonly elicitations?: readonly { readonly url: string }[] };
  const link = elicitations?.[0]?.url ?? /open (\S+) in your browser/.exec(error?.message ?? '')?.[1];
  if (link === undefined) throw new Error(`no link: ${JSON.stringify(error)}`);
  links.push(link);
  return link;
}

/** A session of a user who has connected the backend with another user name there. */
async function connected(stage: Stage, user: string, who = `${user}-there`): Promise<McpSession> {
  await writeConfig(stage.storeOptions, user, configOf({}, { exposure: 'search' }));
  const session = await stage.open(user);
  const { status, text } = await new ConsentBrowser(who).connect(linkIn(await callOf(session)));
  if (status !== 200) throw new Error(text);
  return session;
}

/** Two users under load, until each has had several tokens and those in use were revoked before they expired. */
async function load(t: Test, stage: Stage): Promise<void> {
  const users = ['alice', 'bob'];
  const sessions = [];
  for (const user of users) sessions.push({ user, session: await connected(stage, user) });
  for (const user of users) sessions.push({ user, session: await stage.open(user) });
  const before = new Set(shown.keys());
  const requestsBefore = server.requests.token;
  let calls = 0;
  let foreignAnswers = 0;
  const failures: string[] = [];
  let isRevoked = false;
  compared.length = 0;
  const tokens = (user: string): number =>
    [...shown].filter(([token, sub]) => sub === `${user}-there` && !before.has(token)).length;
  const isEnough = (): boolean => isRevoked && users.every((user) => tokens(user) >= 4);
  const endMs = performance.now() + 100_000;
  await Promise.all(
    sessions.map(async ({ user, session }, index) => {
      let isFailing = false;
      for (let i = 0; !isEnough() && performance.now() < endMs; i++) {
        const who = `${user}-there`;
        const { result, error } = await callOf(session, who, i % 2 === 1);
        calls += 1;
        if (result === undefined && !isFailing) failures.push(error?.message ?? '');
        isFailing = result === undefined;
        if (result !== undefined && !JSON.stringify(result).includes(who)) foreignAnswers += 1;
        if (index > 0 || isRevoked || tokens('alice') < 2) continue;
        for (const token of shown.keys()) revoked.add(String(decodeJwt(token).jti));
        isRevoked = true;
      }
    }),
  );
  t.ok(isEnough(), `tokens have expired and were revoked, in ${calls} calls`);
  t.equal(foreignCount, 0, 'nothing was asked with another user’s token, good or not');
  t.ok(compared.length >= calls, `which was looked at ${compared.length} times, of ${calls} calls`);
  const turns = compared.filter((user, index) => index > 0 && user !== compared[index - 1]).length;
  t.ok(turns > calls / 10, `while now the one and now the other asked: ${turns} times`);
  t.equal(foreignAnswers, 0, 'nor has anybody had another’s answer');
  // A call fails if the token that a worker has used and the next one, used for its retry, are revoked at the same time. So do those behind
  // it: a token that is refused so soon after another is not replaced at once.
  t.ok(failures.length <= sessions.length, `calls of each session have failed at one time at most: ${failures.length}`);
  t.same(
    [...new Set(failures)].filter((message) => !message.includes('401')),
    [],
    'and that for two revoked tokens',
  );
  t.ok(refusedCount > 0, 'although some were refused at first');
  const issued = server.requests.token - requestsBefore;
  t.ok(issued <= tokens('alice') + tokens('bob') + 2, `each refresh token was used once: ${issued} requests`);

  // Alice's calls continue meanwhile.
  let isOver = false;
  const others = sessions
    .filter(({ user }) => user === 'alice')
    .map(async ({ session }) => {
      while (!isOver) await callOf(session, 'alice-there', true);
    });
  await server.revoke('bob-there');
  for (const token of shown.keys()) revoked.add(String(decodeJwt(token).jti));
  const bob = sessions[1]?.session;
  const alice = sessions[0]?.session;
  if (alice === undefined || bob === undefined) throw new Error('nobody');
  // A token that is refused so soon after another is not replaced at once, so this may take a few calls.
  await until(async () => (await callOf(bob)).error?.code === -32042, 'who has withdrawn the consent is asked anew');
  await until(async () => (await callOf(alice, 'alice-there')).result !== undefined, 'nobody else is');
  await new ConsentBrowser('bob-again').connect(linkIn(await callOf(bob)));
  t.match((await callOf(bob, 'bob-again')).result, {}, 'and the session goes on with another consent');
  isOver = true;
  await Promise.all(others);
  t.equal(foreignCount, 0);
  await checkCount(t);
}

/** Proves that the check above would notice another user's token, and a revoked one as well. */
async function checkCount(t: Test): Promise<void> {
  const isBad = (token: string): boolean => revoked.has(String(decodeJwt(token).jti));
  const [bobs = ''] = [...shown].find(([token, sub]) => sub === 'bob-there' && isBad(token)) ?? [];
  const wrong = [
    ['alice', '{}'],
    ['bob', '{"who":"bob-again"}'],
  ] as const;
  for (const [user, body] of wrong) {
    const headers = { authorization: `Bearer ${bobs}`, [WHO_HEADER]: user };
    t.equal((await fetch(backend.url, { method: 'POST', headers, body })).status, 401);
  }
  t.equal(foreignCount, wrong.length);
  foreignCount = 0;
}

const redis = await startRedis(t);

t.test('on Redis: two users, and what Redis contains in the end', async (t) => {
  const stage = await setStage(t, redis.storeOptions, 2);
  await load(t, stage);
  const client = await redis.connect();
  const stored: string[] = [];
  for (const place of await client.keysBuffer('*')) {
    stored.push(place.toString('latin1'));
    if ((await client.type(place)) === 'string') stored.push((await client.getBuffer(place))?.toString('latin1') ?? '');
  }
  t.ok(stored.some((text) => text.includes('grants/')));
  checkSecrets(t, stage, stored.join());
  await stage.gateway.stop();
  await stage.controlPlane.stop();
});

/** Checks that no secret of the run is in the logs, the responses or the store where it does not belong. */
function checkSecrets(t: Test, { gateway, controlPlane }: Stage, stored: string): void {
  const given = server.said
    .join('&')
    .matchAll(/(?:refresh_token|code|code_verifier|access_token)"?[=:]"?([\w.~%-]{20,})/g);
  const tickets = links.map((link) => link.slice(link.indexOf('ticket=') + 7));
  const unseen = [...given].map(([, text = '']) => text);
  t.ok(unseen.length > 10 && tickets.length > 2);
  const secrets = [CLIENT.secret, sealingKey, ...callerTokens, ...shown.keys(), ...unseen];
  const logs = JSON.stringify([gateway.logs, controlPlane.logs, gateway.errorOutput, controlPlane.errorOutput]);
  const found = (text: string, all: readonly string[]): number => all.filter((each) => text.includes(each)).length;
  t.equal(found(stored, [...secrets, ...tickets]), 0, 'in the store');
  t.equal(found(logs, [...secrets, ...tickets]), 0, 'in the logs');
  t.equal(found(answers.join(), secrets), 0, 'in the answers');
}

t.test('on the embedded store', async (t) => {
  const path = createScratchDirectory(t);
  const stage = await setStage(t, { kind: 'embedded', path }, 2);

  await t.test('two users of one backend never get each other’s token, whatever becomes of theirs', async (t) => {
    await load(t, stage);
  });

  await t.test('a user who has not consented is told where to, in the form that the client supports', async (t) => {
    await writeConfig(stage.storeOptions, 'carol', configOf({}));
    const asked = await stage.open('carol');
    const { error } = await callOf(asked);
    t.equal(error?.code, -32042);
    const elicitation = { mode: 'url', url: new RegExp(`^${connectUrl}/connect/b\\?ticket=[\\w-]+$`) };
    t.match(error?.data, { elicitations: [elicitation] });
    t.match(asked.opening.text, /needs your consent first: open http/, 'and with the session’s first answer');
    const plain = await stage.open('carol', INITIALIZE_PARAMS);
    const told = (await callOf(plain)).error;
    t.equal(told?.code, -32603);
    t.match(told?.message, /Backend "b" needs your consent first: open http\S+ in your browser, then try again/);
    t.same(await plain.toolNames(), []);
    const modern = await callTool(asked.caller, 'b-who', '{}', { capabilities: '{"elicitation":{"url":{}}}' });
    t.match(rpc(modern).error, { code: -32603, message: /open http\S+ in your browser/ }, 'in MCP 2026-07-28 in words');
    const browser = new ConsentBrowser('nobody');
    const refused = await browser.connect(linkIn(await callOf(plain)));
    t.equal(refused.status, 403);
    t.match(refused.text, /You did not give your consent/);
    t.equal((await callOf(plain)).error?.code, -32603, 'nothing was connected');
    await new ConsentBrowser('carol-there').connect(linkIn(await callOf(plain)));
    t.match((await callOf(plain, 'carol-there')).result, {});
    t.same(await plain.toolNames(), ['b-who']);
  });

  await t.test('a user whose consent does not cover a call is asked for both, and the session goes on', async (t) => {
    const session = await connected(stage, 'wendy');
    t.match((await callOf(session)).result, {});
    needsMore = 'tools/call';
    t.teardown(() => (needsMore = ''));
    const refused = await callOf(session);
    t.equal(refused.error?.code, -32042);
    t.same(await session.toolNames(), ['call_tool', 'find_tools'], 'what needs no more still works');
    const page = await fetch(linkIn(refused));
    t.match(await page.text(), new RegExp(`>${SCOPE} (?:\\w+ )?${MORE}<`), 'the page says for what');
    t.equal((await new ConsentBrowser('wendy-there').connect(linkIn(await callOf(session)))).status, 200);
    t.match((await callOf(session, 'wendy-there')).result, {});
    const [token = ''] = [...shown].filter(([, sub]) => sub === 'wendy-there').at(-1) ?? [];
    t.same(String(decodeJwt(token)['scope']).split(' ').sort(), [SCOPE, MORE]);
    const other = await stage.open('wendy', INITIALIZE_PARAMS);
    t.match((await callOf(other, 'wendy-there')).result, {}, 'in every session of the user');
  });

  for (const [user, method] of [
    ['xenia', 'initialize'],
    ['yusuf', 'tools/list'],
  ] as const)
    await t.test(`what is missing because a consent does not cover ${method} is listed with the link`, async (t) => {
      await connected(stage, user);
      await writeConfig(stage.storeOptions, user, configOf({}));
      needsMore = method;
      t.teardown(() => (needsMore = ''));
      const session = await stage.open(user);
      const answer = method === 'initialize' ? session.opening : await session.list();
      t.match(
        answer.text,
        /"switchyard\/unavailable":\[\{"backend":"b","reason":"[^"]*403[^"]*: open http\S+ in your browser"/,
      );
    });

  await t.test('a preregistered client authenticates with its secret', async (t) => {
    const registered = server.requests.reg;
    await writeConfig(
      stage.storeOptions,
      'dave',
      configOf({ issuer: server.issuer, client_id: CLIENT.id, client_secret: { secret: 'known' }, scope: SCOPE }),
    );
    const session = await stage.open('dave');
    const { text } = await new ConsentBrowser('dave-there').connect(linkIn(await callOf(session)));
    t.match(text, /Connected b/);
    t.match((await callOf(session, 'dave-there')).result, {});
    t.equal(server.requests.reg, registered);
    t.ok(registered > 0, 'others have registered themselves');
  });

  await t.test('links and callbacks are valid once, for a short time, only in the browser that began', async (t) => {
    await writeConfig(stage.storeOptions, 'erin', configOf({}));
    const session = await stage.open('erin');
    const link = linkIn(await callOf(session));
    const browser = new ConsentBrowser('erin-there');
    const callback = await browser.consent(link);
    const outcome = async (who: ConsentBrowser, url: string): Promise<[number, string]> => {
      const { status, text } = await who.open(url);
      return [status, /id="outcome">([^<]*)/.exec(text)?.[1] ?? ''];
    };
    const again = await browser.submit(link, ticketIn((await browser.open(link)).text));
    t.equal(again.status, 410);
    t.match(again.text, /This link has already been used/);
    const forged = new URL(callback);
    const state = forged.searchParams.get('state') ?? '';
    forged.searchParams.set('state', `${state.slice(0, -8)}AAAAAAAA`);
    t.same(await outcome(browser, forged.href), [400, 'There is no consent in progress.']);
    t.same(await outcome(browser, `${connectUrl}/connect/callback?code=x`), [400, 'There is no consent in progress.']);
    const issuer = new URL(callback);
    t.equal(issuer.searchParams.get('iss'), server.issuer);
    const stranger = new ConsentBrowser('mallory-there');
    const foreign = await outcome(stranger, callback);
    t.same(foreign, [403, 'This consent was started in another browser: nothing was connected.']);
    t.match(await outcome(browser, callback), [410, /already completed/], 'and it is over with that');
    t.equal((await callOf(session)).error?.code, -32042, 'nothing was connected');

    const second = await browser.consent(linkIn(await callOf(session)));
    const mixed = new URL(second);
    mixed.searchParams.set('iss', 'https://other.example');
    t.match(await outcome(browser, mixed.href), [502, /did not respond as expected/], 'from another issuer');
    const third = await browser.consent(linkIn(await callOf(session)));
    t.same((await outcome(browser, third))[0], 200);
    t.match(await outcome(browser, third), [410, /already completed/], 'once');
    t.match((await callOf(session, 'erin-there')).result, {});

    const [page = ''] = link.split('?', 1);
    for (const ticket of ['', 'x', `${ticketOf(link).slice(0, -4)}AAAA`, state])
      t.same(await outcome(browser, `${page}?ticket=${ticket}`), [400, 'This link is not valid.']);
    t.same(await outcome(browser, link.replace('/connect/b', '/connect/c')), [400, 'This link is not valid.']);
  });

  await t.test('no consent is given for another resource, and refused addresses get no request', async (t) => {
    await writeConfig(stage.storeOptions, 'frank', configOf({}));
    const session = await stage.open('frank');
    const browser = new ConsentBrowser('frank-there');
    const wordsFor = async (changes: object): Promise<string> => {
      const before = { ...metadata };
      Object.assign(metadata, changes);
      const { status, text } = await browser.open(linkIn(await callOf(session)));
      Object.assign(metadata, before);
      t.equal(status, 502);
      return text;
    };
    t.match(await wordsFor({ resource: 'https://bank.example/mcp' }), /a resource that is not its own/);
    t.match(await wordsFor({ resource: backend.url.replace('/mcp', '/mc') }), /a resource that is not its own/);
    const refused = [
      'http://169.254.169.254',
      'http://[fe80::1]',
      'http://[::ffff:169.254.169.254]',
      'http://[fd00:ec2::254]',
    ];
    for (const issuer of refused)
      t.match(await wordsFor({ authorization_servers: [issuer] }), /address that is not allowed/, issuer);
    t.match(
      await wordsFor({ authorization_servers: ['file:///etc/passwd'] }),
      /not http or https|no authorization server/,
    );
  });

  await t.test('a user who disconnects is asked for consent again', async (t) => {
    const session = await connected(stage, 'grace');
    t.match((await callOf(session, 'grace-there')).result, {});
    const headers = { authorization: `Bearer ${await tokenOf('grace')}` };
    const list = await (await fetch(`${connectUrl}/connect`, { headers })).json();
    t.match(list, [{ server: 'b', url: backend.url, issuer: server.issuer, scope: SCOPE }]);
    const disconnect = async (): Promise<unknown> =>
      (await fetch(`${connectUrl}/connect/b`, { method: 'DELETE', headers })).json();
    t.equal(await server.tokensOf('grace-there'), 1);
    t.same(await disconnect(), { revocation: 'revoked' });
    t.equal(await server.tokensOf('grace-there'), 0, 'there, too');
    t.equal((await callOf(session)).error?.code, -32042);
    for (const revocation of ['refused', 'silent'] as const) {
      await new ConsentBrowser('grace-there').connect(linkIn(await callOf(session)));
      server.revocation = revocation;
      t.same(await disconnect(), { revocation: 'failed' }, revocation);
      server.revocation = 'served';
      t.equal((await callOf(session)).error?.code, -32042, 'here it is gone all the same');
    }
    t.equal((await fetch(`${connectUrl}/connect/b`, { method: 'DELETE', headers })).status, 404);
    const audited = stage.controlPlane.logs.filter(({ audit }) => audit === 'disconnect');
    t.match(audited, [{ msg: 'changed', name: 'b' }], 'the one that was has a line');
    t.equal(audited.length, 3);
  });

  await t.test('a registered server has its own grant for probes, and users can connect before a call', async (t) => {
    const headers = { authorization: `Bearer ${await tokenOf('heidi')}`, 'content-type': 'application/json' };
    const post = async (path: string, body: object): Promise<Record<string, unknown>> => {
      const answer = await fetch(`${connectUrl}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
      return (await answer.json()) as Record<string, unknown>;
    };
    const made = await post('/servers', { name: 'wanting', url: backend.url, auth: { type: 'oauth2-user' } });
    t.match(made, { status: 'inactive', lastError: 'needs your consent first' });
    const { url: probes } = await post('/servers/wanting/connect', { probes: true });
    t.match((await new ConsentBrowser('machine-there').connect(String(probes))).text, /Connected wanting/);
    // On a slow machine the token may expire before it is used, so the refresh is repeated.
    let refreshed: Record<string, unknown> = {};
    await until(async () => {
      refreshed = await post('/servers/wanting/refresh', {});
      return refreshed['status'] === 'active';
    }, 'the probe to be let in');
    t.match(refreshed, { toolsAdded: 1 });
    const run = async (...words: readonly string[]): Promise<string> => {
      const environment = childEnvironment({ SWITCHYARD_TOKEN: await tokenOf('heidi') });
      const line = [programPath(), 'servers', ...words, '--control-plane-url', connectUrl];
      return (await promisify(execFile)(process.execPath, line, { env: environment })).stdout.trim();
    };
    await new ConsentBrowser('heidi-there').connect(await run('connect', 'wanting'));
    const aggregate = new McpCaller(connectUrl, '/mcp', await tokenOf('heidi'));
    const session = await aggregate.openSession();
    const answer = await session.call('wanting-who', '{"who":"heidi-there"}');
    t.match(rpc(answer).result, {}, 'the caller’s own, and not the one that probes');

    t.equal(await run('disconnect', 'wanting'), 'Disconnected wanting.');
    t.match(rpc(await session.call('wanting-who')).error?.message, /open http\S+ in your browser/);

    const servers = [{ name: 'wanting', tools: ['who'] }];
    const { id } = await post('/compositions', { name: 'wanted', servers, subjects: ['judy'] });
    const judy = new McpCaller(stage.gateway.origin, `/gw-rs/servers/${String(id)}/mcp`, await tokenOf('judy'));
    const composed = await judy.openSession({ params: URL_PARAMS });
    const asked = rpc(await composed.call('wanting-who'));
    t.equal(asked.error?.code, -32042, 'a composition wants the consent of each of its users');
    await new ConsentBrowser('judy-there').connect(linkIn(asked));
    t.match(rpc(await composed.call('wanting-who', '{"who":"judy-there"}')).result, {});
    t.equal(foreignCount, 0);
  });

  await t.test('the page, in a real browser', async (t) => {
    await writeConfig(stage.storeOptions, 'ivan', configOf({}));
    const session = await stage.open('ivan');
    const context = await (await startBrowser(t)).newContext();
    const page = await context.newPage();
    const complaints: string[] = [];
    page.on('pageerror', ({ message }) => complaints.push(message));
    page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()));
    await context.addCookies([{ name: 'who', value: 'ivan-there', url: server.issuer }]);
    await page.goto(linkIn(await callOf(session)));
    t.equal(await page.textContent('#subject'), 'ivan');
    t.equal(await page.textContent('#server'), backend.url);
    t.equal(await page.textContent('#scope'), `${SCOPE} offline_access`, 'what is asked for, renewal included');
    t.equal(await page.textContent('#issuer'), server.issuer);
    t.same(await axeFindings(page, 'all'), []);
    await page.click('button');
    await page.waitForURL(/\/connect\/callback/);
    t.equal(await page.textContent('h1'), 'Connected b');
    const [cookie] = (await context.cookies(`${connectUrl}/connect/`)).filter(
      ({ name }) => name === 'switchyard-connect',
    );
    t.match(cookie, { httpOnly: true, sameSite: 'Lax', path: '/connect' });
    t.same(complaints, [], 'nothing was refused by the page’s policy');
    t.match((await callOf(session, 'ivan-there')).result, {});
  });

  await t.test('no secret is in a log, a response or the store', async (t) => {
    const files = readdirSync(path, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    const stored = files.map((file) => readFileSync(join(file.parentPath, file.name), 'latin1')).join();
    t.ok(stored.includes('grants/'));
    checkSecrets(t, stage, stored);
  });
});

function ticketOf(link: string): string {
  return link.slice(link.indexOf('ticket=') + 'ticket='.length);
}
