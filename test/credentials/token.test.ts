// One access token; the test sets the clock: when the token is requested, how many callers share a request, and how failures are handled.
import t from 'tap';
import { limits } from '../../src/shared/limits.js';
import { Credentials } from '../../src/credentials/credentials.js';
import {
  createCredentials,
  Tokens,
  TOKENS_CACHED_MAX,
  TOKENS_PER_SUBJECT_MAX,
  TOKENS_BYTES_MAX,
  TOKENS_BYTES_PER_SUBJECT_MAX,
} from '../../src/credentials/oauth-source.js';
import { Token, tokenLife, type HeadersOrFault, TOKEN_RENEWAL_GAP_MS } from '../../src/credentials/token.js';
import type { IssuedToken } from '../../src/credentials/token-endpoint.js';
import { upstreamFault, type UpstreamFault } from '../../src/http-client/upstream-fault.js';
import { DeadlineWheel } from '../../src/fair/deadline-wheel.js';
import { until } from '../support/until.js';
import { ScriptedUpstream } from '../upstream/scripted-upstream.js';
import type { OAuthAuth } from '../../src/user-config/auth.js';

const LIFE_MS = 100_000;

class Scene {
  nowMs = 1;
  readonly token: Token;
  /** Settles each fetch with an outcome. */
  readonly fetches: ((outcome: IssuedToken | UpstreamFault) => void)[] = [];
  readonly subjects: string[] = [];

  constructor() {
    this.token = new Token(
      (subject) => {
        this.subjects.push(subject);
        return new Promise((resolve) => this.fetches.push(resolve));
      },
      { nowMs: () => this.nowMs, random: () => 0 },
    );
  }

  read(): HeadersOrFault | Promise<HeadersOrFault> {
    return this.token.read('alice');
  }

  async settle(outcome: IssuedToken | UpstreamFault): Promise<void> {
    this.fetches.at(-1)?.(outcome);
    await new Promise((resolve) => setImmediate(resolve));
  }

  async issue(name: string): Promise<void> {
    await this.settle(issued(name));
  }
}

function issued(name: string): IssuedToken {
  return { headers: ['authorization', `Bearer ${name}`], lifetimeMs: LIFE_MS };
}

t.test('all callers who wait share one request, and later callers do not wait', async (t) => {
  const scene = new Scene();
  const waiting = [scene.read(), scene.read(), scene.token.read('bob')];
  t.equal(scene.fetches.length, 1);
  await scene.issue('one');
  const reads: HeadersOrFault[] = [];
  for (const read of waiting) reads.push(await read);
  t.same(reads[2], ['authorization', 'Bearer one']);
  t.equal(scene.read(), reads[0], 'the same array, without a promise');
  t.same(scene.subjects, ['alice']);
});

t.test('a token is renewed while it is valid, by one request, and nobody waits for that', async (t) => {
  const scene = new Scene();
  void scene.read();
  await scene.issue('one');
  scene.nowMs += 0.69 * LIFE_MS;
  void scene.read();
  t.equal(scene.fetches.length, 1, 'too early');
  scene.nowMs += 0.02 * LIFE_MS;
  t.same([scene.read(), scene.read()], [issued('one').headers, issued('one').headers]);
  t.equal(scene.fetches.length, 2);
  await scene.issue('two');
  t.same(scene.read(), issued('two').headers);
  scene.nowMs += LIFE_MS;
  t.ok(scene.read() instanceof Promise, 'one that has expired is shown to nobody');
});

t.test('many processes renew their tokens at different times, all of them before the end', (t) => {
  const renewals = [0, 0.5, 1].map((random) => tokenLife(5, LIFE_MS, random));
  t.same(
    renewals.map(({ renewAtMs }) => Math.round(renewAtMs - 5)),
    [0.7, 0.775, 0.85].map((part) => part * (LIFE_MS - 1_000)),
  );
  t.ok(renewals.every(({ goodUntilMs }) => goodUntilMs === 5 + LIFE_MS - 1_000));
  t.equal(tokenLife(0, 1_000, 0).goodUntilMs, 500, 'a short life is used by half');
  t.end();
});

t.test('a failed renewal keeps the valid token, and is retried only after a while', async (t) => {
  const scene = new Scene();
  void scene.read();
  await scene.issue('one');
  scene.nowMs += 0.75 * LIFE_MS;
  void scene.read();
  await scene.settle(upstreamFault('token-unavailable', true));
  t.same(scene.read(), issued('one').headers);
  t.equal(scene.fetches.length, 2, 'not at once');
  scene.nowMs += limits.retryDelayMsMin;
  t.same(scene.read(), issued('one').headers);
  t.equal(scene.fetches.length, 3);
});

t.test('a failing authorization server is asked less and less often, and delays nobody meanwhile', async (t) => {
  const scene = new Scene();
  for (let delayMs = limits.retryDelayMsMin; delayMs <= 16_000; delayMs *= 2) {
    const waiting = scene.read();
    t.ok(waiting instanceof Promise);
    await scene.settle(upstreamFault('token-unavailable', true));
    t.match(await waiting, { kind: 'token-unavailable' });
    const { length } = scene.fetches;
    scene.nowMs += delayMs - 1;
    t.match(scene.read(), { kind: 'token-unavailable' }, 'at once, and nobody is asked');
    t.equal(scene.fetches.length, length);
    scene.nowMs += 1;
  }
  void scene.read();
  await scene.issue('late');
  t.same(scene.read(), issued('late').headers);
});

t.test('a token that the backend refuses is replaced once, and not again for a while', async (t) => {
  const scene = new Scene();
  void scene.read();
  await scene.issue('one');
  const [first, second] = [issued('one').headers, issued('two').headers];
  const shown = scene.read() as readonly string[];
  t.same(shown, first);
  t.equal(scene.token.onRejected(shown), true);
  t.ok(scene.read() instanceof Promise);
  t.equal(scene.token.onRejected(shown), true, 'another one is on its way');
  await scene.issue('two');
  t.equal(scene.token.onRejected(shown), true, 'another one is there');
  t.same(scene.read(), second, 'and is not thrown away for what was shown before it');
  t.equal(scene.token.onRejected(scene.read() as readonly string[]), false, 'a backend that takes none');
  t.same(scene.read(), second);
  scene.nowMs += TOKEN_RENEWAL_GAP_MS;
  t.equal(scene.token.onRejected(scene.read() as readonly string[]), true);
  t.equal(scene.fetches.length, 2);
});

t.test('a token that a backend refuses is still shown as long as there is no other', async (t) => {
  const scene = new Scene();
  void scene.read();
  await scene.issue('one');
  const shown = scene.read() as readonly string[];
  t.equal(scene.token.onRejected(shown), true);
  const waiting = [scene.read(), scene.token.read('bob')];
  t.equal(scene.fetches.length, 2);
  await scene.settle(upstreamFault('token-unavailable', true));
  for (const read of waiting) t.same(await read, shown, 'another path of the backend may take it');
  t.equal(scene.read(), shown, 'at once');
  t.equal(scene.token.onRejected(shown), false, 'nobody tries again who would have nothing else to show');
  t.equal(scene.fetches.length, 2);
  scene.nowMs += limits.retryDelayMsMin;
  t.equal(scene.read(), shown, 'nobody waits for an authorization server that fails');
  t.equal(scene.fetches.length, 3);
  await scene.issue('two');
  t.same(scene.read(), issued('two').headers);
  scene.nowMs += TOKEN_RENEWAL_GAP_MS;
  const second = scene.read() as readonly string[];
  t.equal(scene.token.onRejected(second), true);
  t.ok(scene.read() instanceof Promise, 'it is waited for again once the authorization server answers');
});

t.test('a refused token is shown to nobody once it has expired', async (t) => {
  const scene = new Scene();
  void scene.read();
  await scene.issue('one');
  scene.token.onRejected(scene.read() as readonly string[]);
  const waiting = scene.read();
  scene.nowMs += LIFE_MS;
  await scene.settle(upstreamFault('token-unavailable', true));
  t.match(await waiting, { kind: 'token-unavailable' });
  t.match(scene.read(), { kind: 'token-unavailable' });
});

t.test('an exhausted share is reported to its own subject alone', async (t) => {
  const scene = new Scene();
  const used = upstreamFault('connections-share-used', true);
  const mallory = scene.token.read('mallory');
  const others = [scene.token.read('bob'), scene.token.read('carol')];
  await scene.settle(used);
  t.same(await mallory, used);
  t.same(scene.subjects, ['mallory', 'bob'], 'who waited with it asks in its own name');
  await scene.issue('one');
  for (const read of others) t.same(await read, issued('one').headers);
  t.equal(scene.fetches.length, 2);

  const fresh = new Scene();
  void fresh.token.read('mallory');
  await fresh.settle(used);
  void fresh.token.read('bob');
  t.same(fresh.subjects, ['mallory', 'bob'], 'nobody is kept off afterwards');
  await fresh.issue('one');
  fresh.nowMs += 0.75 * LIFE_MS;
  t.same(fresh.token.read('mallory'), issued('one').headers);
  await fresh.settle(used);
  t.same(fresh.token.read('bob'), issued('one').headers, 'a renewal that fails so takes nothing away');
  t.equal(fresh.fetches.length, 3);
  fresh.nowMs += limits.retryDelayMsMin;
  void fresh.token.read('bob');
  t.same(fresh.subjects, ['mallory', 'bob', 'mallory', 'bob']);
});

t.test('tokens are shared by those who may share them, and by nobody else', async (t) => {
  const tokens = new Tokens({ http: new ScriptedUpstream() }, { nowMs: () => 1, random: () => 0 });
  const auth: OAuthAuth = {
    ...{ type: 'oauth2-client-credentials', token_endpoint: 'https://as.example/token' },
    ...{ client_id: 'c', client_secret: { secret: 's' } },
  };
  const exchange: OAuthAuth = { ...auth, type: 'token-exchange' };
  const origin = 'https://b.example';
  const find = (who: string, what: OAuthAuth, clientSecret = 'x', callerToken = '', where = origin) =>
    tokens.find(who, where, { auth: what, clientSecret, callerToken });
  const one = find('alice', auth);
  t.equal(find('bob', { ...auth }), one, 'a client’s own token is nobody’s in particular');
  t.not(find('alice', auth, 'y'), one, 'another secret');
  t.not(find('alice', { ...auth, scope: 'more' }), one);
  t.not(find('alice', auth, 'x', '', 'https://other.example'), one, 'what is meant for one backend goes to no other');
  const exchanged = find('alice', exchange, 'x', 'token-a');
  t.equal(find('alice', exchange, 'x', 'token-a'), exchanged);
  t.not(find('alice', exchange, 'x', 'token-b'), exchanged);
  t.not(find('bob', exchange, 'x', 'token-a'), exchanged, 'never another subject’s');

  const before = tokens.count;
  for (let i = 0; i < 3 * TOKENS_PER_SUBJECT_MAX; i++) find('mallory', exchange, 'x', `t${i}`);
  t.ok(tokens.count <= before + TOKENS_PER_SUBJECT_MAX, 'one subject has so many at most');
  t.equal(find('alice', exchange, 'x', 'token-a'), exchanged, 'and pushes nobody else’s out');
  for (let i = 0; tokens.count < TOKENS_CACHED_MAX; i++) find(`s${i % 200}`, exchange, 'x', `u${i}`);
  for (let i = 0; i < 100; i++) find('late', exchange, 'x', `v${i}`);
  t.equal(tokens.count, TOKENS_CACHED_MAX);
  t.equal(find('alice', exchange, 'x', 'token-a'), exchanged, 'who has the most loses the oldest');
});

t.test(
  'a backend gets the token of its client, or of the caller’s token, by plain HTTP where that is allowed',
  async (t) => {
    const deadlines = new DeadlineWheel();
    t.teardown(() => deadlines.stop());
    const secret = { kind: 'found', secret: { value: 'hunter2', origins: 'any' } } as const;
    const credentialsIn = (mode: 'plain-text-or-tls' | 'tls-only', type: OAuthAuth['type']) => {
      const http = new ScriptedUpstream();
      const options = { mode, secretsDirectory: undefined, connectUrl: undefined, secretKeys: [] };
      const means = createCredentials(options, { http, deadlines, storedSecrets: { read: () => secret } });
      const endpoint = { token_endpoint: 'http://as.example/token', client_id: 'c', client_secret: { secret: 's' } };
      const backend = { name: 'b', target: { origin: 'https://b.example', path: '/mcp' } };
      const credentials = Credentials.of({ type, ...endpoint }, backend, 'alice', means);
      if (credentials === undefined) throw new Error('it has auth');
      return { http, credentials };
    };
    const callerWith = (callerToken: string) => ({ headers: ['x-own', '1'], requestId: '', callerToken });
    const issue = async (http: ScriptedUpstream, count: number, token: string): Promise<void> => {
      await until(() => http.calls.length === count, 'the request for a token');
      http.last.json(JSON.stringify({ access_token: token, token_type: 'Bearer', expires_in: 60 }));
    };
    const refused = credentialsIn('tls-only', 'oauth2-client-credentials');
    t.match(refused.credentials.refresh(callerWith('')), { kind: 'plain-text-refused' });
    t.same(refused.http.calls, [], 'nothing is sent');

    const own = credentialsIn('plain-text-or-tls', 'oauth2-client-credentials');
    t.same(own.credentials.addTo(['a', 'b'], callerWith('')), ['a', 'b', 'x-own', '1'], 'none is known yet');
    const fault = own.credentials.refresh(callerWith(''));
    await issue(own.http, 1, 'one');
    t.equal(await fault, undefined);
    const shown = ['a', 'b', 'authorization', 'Bearer one', 'x-own', '1'];
    t.same(own.credentials.addTo(['a', 'b'], callerWith('')), shown);
    t.equal(own.credentials.refresh(callerWith('')), undefined, 'known from then on, without a promise');

    const exchanged = credentialsIn('plain-text-or-tls', 'token-exchange');
    t.match(exchanged.credentials.refresh(callerWith('')), { kind: 'caller-token-missing' });
    for (const [index, caller] of ['theirs', 'newer'].entries()) {
      const refreshing = exchanged.credentials.refresh(callerWith(caller));
      await issue(exchanged.http, index + 1, `for-${caller}`);
      t.equal(await refreshing, undefined);
      t.match(exchanged.http.last.text, `subject_token=${caller}&`);
    }
    const shownTo = (caller: string): string | undefined => exchanged.credentials.addTo([], callerWith(caller))[1];
    t.same(['theirs', 'newer', ''].map(shownTo), ['Bearer for-theirs', 'Bearer for-newer', 'Bearer for-newer']);
  },
);

t.test('the bytes of tokens are bounded per process and per subject, with callers’ tokens included', async (t) => {
  const deadlines = new DeadlineWheel();
  t.teardown(() => deadlines.stop());
  const http = new ScriptedUpstream();
  const tokens = new Tokens({ http }, { nowMs: () => 1, random: () => 0 });
  const auth: OAuthAuth = {
    ...{ type: 'token-exchange', token_endpoint: 'https://as.example/token' },
    ...{ client_id: 'c', client_secret: { secret: 's' } },
  };
  const find = (who: string, callerToken: string): Token =>
    tokens.find(who, 'https://b.example', { auth, clientSecret: 'x', callerToken });
  const large = 'x'.repeat(64 * 1_024);

  const alices = find('alice', 'token-a');
  const before = tokens.bytes;
  const read = alices.read('alice');
  await until(() => http.calls.length === 1, 'the request');
  const issuedText = 'y'.repeat(limits.tokenBytesMax);
  const issuedType = 'urn:ietf:params:oauth:token-type:access_token';
  http.last.json(JSON.stringify({ access_token: issuedText, token_type: 'Bearer', issued_token_type: issuedType }));
  t.match(await read, ['authorization', /^Bearer y+$/]);
  t.ok(tokens.bytes - before >= issuedText.length, 'what was issued counts');

  for (let i = 0; i < 200; i++) find('mallory', `${large}${i}`);
  t.ok(tokens.bytes <= TOKENS_BYTES_PER_SUBJECT_MAX + before + 2 * issuedText.length, 'one subject has a share');
  t.ok(tokens.bytes > TOKENS_BYTES_PER_SUBJECT_MAX / 2, 'and has it');
  t.equal(find('alice', 'token-a'), alices, 'and pushes nobody else’s out');
  for (let who = 0; who < 10; who++) for (let i = 0; i < 120; i++) find(`s${who}`, `${large}${i}`);
  t.ok(tokens.bytes <= TOKENS_BYTES_MAX);
  t.ok(tokens.bytes > TOKENS_BYTES_MAX / 2);
  t.equal(find('alice', 'token-a'), alices, 'who has the most loses the oldest');
});
