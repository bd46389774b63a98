// Renewal of a user's grant when its token ends: one of several processes that share a store renews it, whatever the store, the
// authorization server and these processes do meanwhile. The server issues each refresh token once, and treats a second use as theft.
import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import t, { type Test } from 'tap';
import { Names } from '../../src/http-client/names/names.js';
import { SecretKeys } from '../../src/credentials/secrets/secret-keys.js';
import { UserGrants, type UserGrant } from '../../src/credentials/secrets/user-grants.js';
import { DeadlineWheel } from '../../src/fair/deadline-wheel.js';
import { limits } from '../../src/shared/limits.js';
import type { Store, StoreRead } from '../../src/store/store.js';
import { ConnectLinks, openTicket } from '../../src/credentials/connect-links.js';
import { Credentials } from '../../src/credentials/credentials.js';
import type { OAuthSourceDependencies } from '../../src/credentials/oauth-source.js';
import { type HeadersOrFault, TOKEN_RENEWAL_GAP_MS } from '../../src/credentials/token.js';
import {
  UserTokens,
  type UserTokensDependencies,
  type WantedGrant,
  GRANT_POLL_MS,
  renewedGrant,
  userGrantKey,
} from '../../src/credentials/user-tokens.js';
import { Http1Upstream } from '../../src/http-client/http1-upstream.js';
import { Secrets } from '../../src/credentials/secrets.js';
import { upstreamFault } from '../../src/http-client/upstream-fault.js';
import type { UserAuth } from '../../src/user-config/auth.js';
import { until } from '../support/until.js';

const LIFE_MS = 100_000;
/** How much faster time passes for those who wait. */
const HASTE = 5;
const AUTH: UserAuth = { type: 'oauth2-user' };
const TARGET = { origin: 'https://tools.example', path: '/mcp' };
const CONSENT = upstreamFault('consent-missing', true);

class MemoryStore implements Pick<Store, 'readRecord' | 'swapRecord'> {
  readonly values = new Map<string, Buffer>();
  /** How many swaps fail, beginning with the next. */
  failing = 0;

  readRecord(key: string): StoreRead {
    const value = this.values.get(key);
    return value === undefined ? { kind: 'missing' } : { kind: 'found', value };
  }

  async swapRecord(key: string, expected: Buffer | undefined, value: Buffer | undefined): Promise<boolean> {
    await new Promise((resolve) => setImmediate(resolve));
    if (this.failing > 0) {
      this.failing -= 1;
      throw new Error('lost');
    }
    const stored = this.values.get(key);
    if (stored === undefined || expected === undefined ? stored !== expected : !stored.equals(expected)) return false;
    if (value === undefined) this.values.delete(key);
    else this.values.set(key, value);
    return true;
  }
}

/** Several processes that share a store, and the authorization server. */
class Scene {
  nowMs = 1_000_000;
  readonly store = new MemoryStore();
  readonly keys = new SecretKeys([randomBytes(32).toString('base64')]);
  readonly processes: UserTokens[] = [];
  /** The refresh tokens that are valid; below, the requests so far. */
  readonly good = new Set(['refresh-0']);
  asked = 0;
  thefts = 0;
  /** The status of the server's response; anything but 200 replaces the token. */
  status = 200;
  /** What the server says of a refresh token that is not valid. */
  refusal = 'invalid_grant';
  onAsked: () => Promise<void> = async () => {};
  readonly #grants: UserGrants;
  readonly #endpoint: string;

  private constructor(endpoint: string, grantsOf: (scene: Scene) => UserGrants) {
    this.#endpoint = endpoint;
    this.#grants = grantsOf(this);
  }

  static async set(
    t: Test,
    processCount: number,
    mode: UserTokensDependencies['mode'] = 'plain-text-or-tls',
  ): Promise<Scene> {
    const server = createServer((request, response) => {
      let body = '';
      request.on('data', (chunk: Buffer) => (body += chunk.toString()));
      request.on(
        'end',
        () =>
          void scene.#answer(new URLSearchParams(body)).then(([status, answer]) => {
            response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
          }),
      );
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const scene = new Scene(endpoint, ({ store, keys }) => grantsOf(store, keys));
    const deadlines = new DeadlineWheel(5, () => performance.now() * HASTE);
    const http = new Http1Upstream({ connectTimeoutMs: 5_000, names: new Names() });
    t.teardown(async () => {
      deadlines.stop();
      await http.close();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    });
    for (let i = 0; i < processCount; i++) {
      const grants = grantsOf(scene.store, scene.keys);
      const means = {
        http,
        deadlines,
        grants,
        secrets: new Secrets(undefined, () => 0),
        mode,
      };
      const links = new ConnectLinks(undefined, scene.keys);
      scene.processes.push(new UserTokens({ ...means, links }, { nowMs: () => scene.nowMs, random: () => 0 }));
    }
    return scene;
  }

  async #answer(body: URLSearchParams): Promise<[number, object]> {
    this.asked += 1;
    const number = this.asked;
    await this.onAsked();
    if (this.status !== 200) return [this.status, { error: 'server_error' }];
    const token = body.get('refresh_token') ?? '';
    if (!this.good.delete(token)) {
      this.thefts += 1;
      return [400, { error: this.refusal }];
    }
    this.good.add(`refresh-${number}`);
    const expires = { expires_in: LIFE_MS / 1_000, token_type: 'Bearer' };
    return [200, { access_token: `access-${number}`, refresh_token: `refresh-${number}`, ...expires }];
  }

  wanted(subject = 'alice', target = TARGET, auth = AUTH): WantedGrant {
    const key = userGrantKey(auth, target, subject);
    return { key, subject, origin: target.origin, auth, consentFault: CONSENT };
  }

  async grant(changes: Partial<UserGrant> = {}): Promise<void> {
    const { key, subject } = this.wanted();
    const grant: UserGrant = {
      ...{ subject, backendName: 'b', backendUrl: TARGET.origin + TARGET.path, resource: TARGET.origin, scope: '' },
      ...{ issuer: this.#endpoint, tokenEndpoint: `${this.#endpoint}/token` },
      client: { id: 'c', authentication: 'none' },
      ...{ accessToken: 'access-0', refreshToken: 'refresh-0' },
      ...{ issuedAtMs: this.nowMs, expiresAtMs: this.nowMs + LIFE_MS, grantedAtMs: this.nowMs },
      ...changes,
    };
    await this.#grants.replace(key, this.store.values.get(key), grant);
  }

  get stored(): UserGrant | undefined {
    const read = this.#grants.read(this.wanted().key);
    return read instanceof Promise || read.kind !== 'found' ? undefined : read.grant;
  }

  read(index = 0): HeadersOrFault | Promise<HeadersOrFault> {
    return this.processes[index]?.read(this.wanted()) ?? [];
  }

  expire(): void {
    this.nowMs += LIFE_MS;
  }
}

function grantsOf(store: MemoryStore, keys: SecretKeys): UserGrants {
  const grants = UserGrants.of(store, keys);
  if (grants === undefined) throw new Error('no key');
  return grants;
}

function bearer(number: number): readonly string[] {
  return ['authorization', `Bearer access-${number}`];
}

t.test('one process at a time renews the grant, and all use the token that it got', async (t) => {
  const scene = await Scene.set(t, 3);
  await scene.grant();
  t.same(scene.read(), bearer(0), 'without a promise');
  t.equal(scene.read(), scene.read(), 'the same headers');
  for (let round = 1; round <= 4; round++) {
    scene.expire();
    const reads = await Promise.all(Array.from({ length: 12 }, async (_, i) => scene.read(i % 3)));
    t.same([...new Set(reads.map(String))], [String(bearer(round))]);
    t.equal(scene.asked, round);
    t.equal(scene.stored?.lease, undefined);
  }
  t.equal(scene.thefts, 0);
  scene.nowMs += 0.8 * LIFE_MS;
  t.same(scene.read(), bearer(4), 'in the last third of its life nobody waits');
  await until(() => JSON.stringify(scene.read(1)) === JSON.stringify(bearer(5)), 'the next one');
  t.equal(scene.asked, 5);
});

t.test('a process that died while renewing blocks the others for a while only', async (t) => {
  const scene = await Scene.set(t, 1);
  await scene.grant({ lease: { by: 'the dead', untilMs: scene.nowMs + LIFE_MS + 5_000 } });
  scene.expire();
  const read = Promise.resolve(scene.read());
  await new Promise((resolve) => setTimeout(resolve, (3 * GRANT_POLL_MS) / HASTE));
  t.equal(scene.asked, 0, 'it may still be at it');
  scene.nowMs += 5_000;
  t.same(await read, bearer(1));
});

t.test('a token that the server has issued is not lost when the store is down for a moment', async (t) => {
  const scene = await Scene.set(t, 2);
  await scene.grant();
  scene.expire();
  scene.onAsked = async () => void (scene.store.failing = 4);
  t.same(await scene.read(), bearer(1));
  t.equal(scene.stored?.refreshToken, 'refresh-1');
  t.equal(scene.asked, 1);
  scene.store.failing = 1;
  scene.expire();
  t.match(await scene.read(), { kind: 'token-unavailable' }, 'without a lease nothing is asked for');
  t.equal(scene.asked, 1);
});

t.test('a failing authorization server ends no grant', async (t) => {
  const scene = await Scene.set(t, 2);
  await scene.grant();
  scene.status = 500;
  scene.nowMs += 0.8 * LIFE_MS;
  t.same(scene.read(), bearer(0));
  await until(() => scene.asked === 1 && scene.stored?.lease === undefined, 'the lease to be given back');
  await until(async () => !(scene.read() instanceof Promise), 'the renewal to be over');
  t.same(scene.read(), bearer(0), 'a token that is good is shown meanwhile');
  t.equal(scene.asked, 1, 'and the server left alone');
  scene.nowMs += LIFE_MS;
  t.match(await scene.read(), { kind: 'token-unavailable' });
  t.equal(scene.asked, 2);
  t.match(await scene.read(), { kind: 'token-unavailable' });
  t.equal(scene.asked, 2, 'nor by each request that has no other token');
  scene.status = 200;
  scene.nowMs += 2 * limits.retryDelayMsMax;
  t.match(await scene.read(), ['authorization', /^Bearer access-/]);
  t.equal(scene.thefts, 0);
});

t.test('with tls-only nothing is sent to a server in plain text', async (t) => {
  const scene = await Scene.set(t, 1, 'tls-only');
  await scene.grant();
  scene.expire();
  t.match(await scene.read(), { kind: 'plain-text-refused' });
  t.same([scene.asked, scene.stored?.refreshToken, scene.stored?.lease], [0, 'refresh-0', undefined]);
});

t.test('an ended grant, or one that cannot be renewed, asks for consent again', async (t) => {
  const scene = await Scene.set(t, 1);
  await scene.grant();
  scene.expire();
  scene.good.clear();
  t.equal(await scene.read(), CONSENT);
  t.equal(scene.stored, undefined, 'it is removed');
  t.equal(scene.read(), CONSENT);
  await scene.grant({ refreshToken: undefined });
  t.same(scene.read(), bearer(0));
  scene.expire();
  t.equal(scene.read(), CONSENT);
  t.equal(scene.asked, 1);
});

t.test(
  'as directly: a token without a refresh token is shown for as long as it is said to live, or until the backend refuses it',
  async (t) => {
    const DAY_S = 86_400;
    const answer = { access_token: 'access-0', token_type: 'bearer' };
    const rows: readonly (readonly [answer: object, shownDays: number, endsAfterDays: number])[] = [
      // An application of GitHub, and Meta’s advertisements, in their answers’ words.
      [{}, 3_650, Infinity],
      [{ expires_in: 60 * DAY_S }, 59, 61],
    ];
    for (const [changes, shownDays, endsAfterDays] of rows) {
      const scene = await Scene.set(t, 1);
      const [one] = scene.processes;
      const issued = renewedGrant({ ...answer, ...changes }, scene.nowMs);
      if (one === undefined || 'kind' in issued) throw new Error('?');
      await scene.grant(issued);
      scene.nowMs += shownDays * DAY_S * 1_000;
      const shown = scene.read();
      t.same(shown, bearer(0), `after ${shownDays} days`);
      if (shown instanceof Promise || 'kind' in shown) throw new Error('?');
      if (endsAfterDays === Infinity) one.onRejected(scene.wanted(), shown);
      else scene.nowMs += (endsAfterDays - shownDays) * DAY_S * 1_000;
      t.equal(scene.read(), CONSENT);
      t.equal(scene.asked, 0);
    }
    const renewable = renewedGrant({ ...answer, expires_in: 60 * DAY_S }, 0, 'refresh-0');
    t.match(renewable, { refreshToken: 'refresh-0', expiresAtMs: DAY_S * 1_000 }, 'one that can be renewed, is');
  },
);

t.test('as directly: a server may call an ended grant by other names, and any other refusal ends none', async (t) => {
  const scene = await Scene.set(t, 1);
  scene.good.clear();
  for (const refusal of ['invalid_request', 'invalid_token', 'invalid_refresh_token', 'bad_refresh_token']) {
    await scene.grant();
    scene.expire();
    scene.refusal = refusal;
    t.equal(await scene.read(), CONSENT, refusal);
    t.equal(scene.stored, undefined);
  }
  await scene.grant();
  scene.expire();
  scene.refusal = 'rate_limited';
  t.match(await scene.read(), { kind: 'token-refused' });
  t.equal(scene.stored?.refreshToken, 'refresh-0');
});

t.test('a user who disconnects during a renewal stays disconnected', async (t) => {
  const scene = await Scene.set(t, 1);
  await scene.grant();
  scene.expire();
  scene.onAsked = async () => scene.store.values.clear();
  t.equal(await scene.read(), CONSENT);
  t.equal(scene.store.values.size, 0);
});

t.test('a token that the backend refuses is replaced once in a while, and its replacement is shown', async (t) => {
  const scene = await Scene.set(t, 2);
  const [one, other] = scene.processes;
  await scene.grant();
  const shown = scene.read();
  const after = scene.read(1);
  if (one === undefined || other === undefined || shown instanceof Promise || after instanceof Promise)
    throw new Error('?');
  if ('kind' in shown || 'kind' in after) throw new Error('no headers');
  t.equal(one.onRejected(scene.wanted(), shown), true);
  const next = await scene.read();
  t.same(next, bearer(1));
  t.equal(other.onRejected(scene.wanted(), after), true, 'it has shown the old one');
  t.same(await scene.read(1), bearer(1));
  t.equal(scene.asked, 1);
  if ('kind' in next) throw new Error('no headers');
  t.equal(one.onRejected(scene.wanted(), next), true);
  t.same(await scene.read(), bearer(1), 'so soon nothing is asked for');
  scene.nowMs += TOKEN_RENEWAL_GAP_MS;
  one.onRejected(scene.wanted(), next);
  const last = await scene.read();
  t.same(last, bearer(2));
  if ('kind' in last) throw new Error('no headers');
  scene.nowMs += TOKEN_RENEWAL_GAP_MS;
  scene.status = 500;
  t.equal(one.onRejected(scene.wanted(), last), true);
  t.match(await scene.read(), { kind: 'token-unavailable' });
  t.equal(one.onRejected(scene.wanted(), last), false, 'nobody tries again while there is no other');
});

t.test('a consent counts for its user, origin, path and what was asked for, and for nothing else', async (t) => {
  const scene = await Scene.set(t, 1);
  await scene.grant();
  const [process] = scene.processes;
  t.same(process?.read(scene.wanted()), bearer(0));
  const others: Readonly<Record<string, WantedGrant>> = {
    'another user': scene.wanted('bob'),
    'another path of the origin': scene.wanted('alice', { ...TARGET, path: '/other' }),
    'another query': scene.wanted('alice', { ...TARGET, path: '/mcp?tenant=2' }),
    'another origin': scene.wanted('alice', { ...TARGET, origin: 'https://tools.example:8443' }),
    'another issuer': scene.wanted('alice', TARGET, { ...AUTH, issuer: 'https://login.example' }),
    'another client': scene.wanted('alice', TARGET, { ...AUTH, client_id: 'c' }),
    'another scope': scene.wanted('alice', TARGET, { ...AUTH, scope: 'write' }),
    'another resource': scene.wanted('alice', TARGET, { ...AUTH, resource: 'https://tools.example/mcp' }),
  };
  for (const [what, wanted] of Object.entries(others)) t.equal(process?.read(wanted), CONSENT, what);
});

t.test('a record that was moved to another key, or changed, opens for nobody', async (t) => {
  const scene = await Scene.set(t, 1);
  await scene.grant();
  const [process] = scene.processes;
  const alice = scene.store.values.get(scene.wanted().key);
  if (process === undefined || alice === undefined) throw new Error('?');
  scene.store.values.set(scene.wanted('mallory').key, alice);
  t.match(process.read(scene.wanted('mallory')), {
    kind: 'token-unavailable',
    logDetail: /changed after it was sealed/,
  });
  const changed = Buffer.from(alice);
  changed[changed.length - 1] = (changed.at(-1) ?? 0) ^ 1;
  scene.store.values.set(scene.wanted().key, changed);
  t.match(scene.read(), { kind: 'token-unavailable' });
  scene.store.values.set(scene.wanted().key, Buffer.from('{}'));
  t.match(scene.read(), { kind: 'token-unavailable', logDetail: /nothing that was sealed/ });
  t.notMatch(alice.toString('latin1'), /access-0|refresh-0|alice/);
});

t.test(
  'without keys no grant is read, and without an address for browsers there is no link to a consent',
  async (t) => {
    const scene = await Scene.set(t, 1);
    const keys = new SecretKeys([randomBytes(32).toString('base64')]);
    const usersWith = (links: ConnectLinks): UserTokens => {
      const deadlines = new DeadlineWheel();
      t.teardown(() => deadlines.stop());
      const secrets = new Secrets(undefined, () => 0);
      const http = new Http1Upstream({ connectTimeoutMs: 5_000, names: new Names() });
      t.teardown(() => http.close());
      const means = { http, deadlines, grants: undefined, secrets, mode: 'plain-text-or-tls' as const, links };
      return new UserTokens(means, { nowMs: () => 0, random: () => 0 });
    };
    const users = usersWith(new ConnectLinks('https://console.example', keys));
    t.match(users.read(scene.wanted()), { kind: 'secret-keys-missing' });
    t.equal(
      users.onRejected(scene.wanted(), ['authorization', 'Bearer unknown']),
      false,
      'a token that nobody has issued',
    );

    const credentialsOf = (users: UserTokens): Credentials | undefined =>
      Credentials.of(AUTH, { name: 'b c', target: TARGET }, 'alice', { users } as unknown as OAuthSourceDependencies);
    const link = credentialsOf(users)?.connect?.('files:write') ?? '';
    t.match(link, /^https:\/\/console\.example\/connect\/b%20c\?ticket=/);
    const opened = openTicket(keys, link.slice(link.indexOf('=') + 1), Date.now());
    t.match(opened, { kind: 'opened', ticket: { subject: 'alice', backendName: 'b c', missingScope: 'files:write' } });
    t.equal(credentialsOf(usersWith(new ConnectLinks(undefined, keys)))?.connect?.('files:write'), undefined);
  },
);

t.test('a grant that another process renews without an end is not waited for without an end', async (t) => {
  const scene = await Scene.set(t, 1);
  await scene.grant({ lease: { by: 'another', untilMs: scene.nowMs + 10 * LIFE_MS } });
  scene.expire();
  const read = scene.read();
  scene.nowMs += LIFE_MS;
  t.match(await read, { kind: 'token-unavailable', logDetail: /another process/ });
  t.equal(scene.asked, 0);
});

t.test('a user who disconnects while another process renews is asked to consent', async (t) => {
  const scene = await Scene.set(t, 1);
  await scene.grant({ lease: { by: 'another', untilMs: scene.nowMs + 10 * LIFE_MS } });
  scene.expire();
  const read = scene.read();
  scene.store.values.clear();
  t.match(await read, { kind: 'consent-missing' });
});
