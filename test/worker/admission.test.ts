// Who is admitted, and the order in which the reasons for a refusal are checked (specification 2.1). Tokens are real and verified by the real
// verifier; the store is a script, so that it can be slow and can fail.
import t, { type Test } from 'tap';
import { TokenVerifier } from '../../src/auth/token-verifier.js';
import { subjectHash } from '../../src/shared/logger.js';
import { refusals, type Refusal } from '../../src/shared/refusals.js';
import type { Store, StoreRead } from '../../src/store/store.js';
import { UserConfigs } from '../../src/user-config/user-configs.js';
import { Admission, type AdmissionOutcome } from '../../src/worker/admission.js';
import { tokenOptions } from '../auth/token-options.js';
import { logInto } from '../support/log-lines.js';
import { mint, type TokenRequest } from '../support/tokens.js';

const SECRET = Buffer.alloc(32, 7);
const CONFIG: StoreRead = {
  kind: 'found',
  value: Buffer.from('{"virtual_hosts":{"vh":{"backends":{"b":{"url":"https://b.example/"}}}}}'),
};

async function bearer(request: Partial<TokenRequest> = {}): Promise<string> {
  return `Bearer ${await mint({ sub: 'alice', algorithm: 'HS256', key: SECRET, ...request })}`;
}

class ScriptedStore implements Omit<Store, 'readRecord' | 'swapRecord'> {
  readonly kind = 'embedded';
  readonly subjects: string[] = [];
  answer: StoreRead | Promise<StoreRead> = CONFIG;

  read(subject: string): StoreRead | Promise<StoreRead> {
    this.subjects.push(subject);
    return this.answer;
  }

  write(): Promise<void> {
    return Promise.reject(new Error('not written to'));
  }

  forget(): void {}

  async close(): Promise<void> {}
}

function start(): { admission: Admission; store: ScriptedStore; lines: string[] } {
  const store = new ScriptedStore();
  const lines: string[] = [];
  const tokens = new TokenVerifier(tokenOptions({ secret: SECRET }));
  return { admission: new Admission(tokens, new UserConfigs(store, 'tls-only'), logInto(lines)), store, lines };
}

function isRefused(t: Test, outcome: AdmissionOutcome, refusal: Refusal, what: string): void {
  t.match(outcome, { refusal }, what);
}

t.test('a request that is refused anyway is refused for its token first, and its config is not read', async (t) => {
  const { admission, store } = start();
  const authorization = await bearer();
  t.equal(await admission.refusalOfToken(authorization), undefined);
  t.equal(admission.refusalOfToken(authorization), undefined, 'at once when it is known');
  t.match(admission.refusalOfToken(''), { refusal: refusals.tokenMissing });
  const expired = await admission.refusalOfToken(await bearer({ expiresInSeconds: -10 }));
  t.match(expired, { refusal: refusals.tokenExpired });
  t.same(store.subjects, []);
});

t.test('a valid token, config and virtual host are admitted', async (t) => {
  const { admission, store, lines } = start();
  const outcome = await admission.admit(await bearer(), 'vh');
  t.match(outcome, { subject: 'alice', virtualHost: { id: 'vh' } });
  t.same(store.subjects, ['alice'], "the config of the token's subject");
  t.same(lines, []);
});

t.test('in steady state admission returns no promise, and the same virtual host', async (t) => {
  const { admission } = start();
  const header = await bearer();
  const first = await admission.admit(header, 'vh');
  const second = admission.admit(header, 'vh');
  t.notOk(second instanceof Promise);
  if ('refusal' in first || second instanceof Promise || 'refusal' in second) throw new Error('refused');
  t.equal(second.virtualHost, first.virtualHost);
});

t.test('the token is checked first: the store is not even asked', async (t) => {
  const { admission, store } = start();
  store.answer = { kind: 'failed', reason: 'lost' };
  const tokens: Record<string, [header: string, refusal: Refusal]> = {
    missing: ['', refusals.tokenMissing],
    'of another scheme': ['Basic YTpi', refusals.tokenMissing],
    'no token': ['Bearer x', refusals.tokenInvalid],
    expired: [await bearer({ expiresInSeconds: -10 }), refusals.tokenExpired],
    'of another key': [await bearer({ key: Buffer.alloc(32, 8) }), refusals.tokenInvalid],
    'of another audience': [await bearer({ aud: 'elsewhere' }), refusals.tokenInvalid],
    'without a subject': [await bearer({ sub: null }), refusals.tokenInvalid],
  };
  for (const [what, [header, refusal]] of Object.entries(tokens)) {
    for (const virtualHostId of ['vh', 'unknown', undefined]) {
      isRefused(t, await admission.admit(header, virtualHostId), refusal, `${what}, ${virtualHostId}`);
    }
  }
  t.same(store.subjects, []);
});

t.test('the config is checked before the virtual host', async (t) => {
  const header = await bearer();
  const configs: Record<string, [read: StoreRead, refusal: Refusal]> = {
    missing: [{ kind: 'missing' }, refusals.configMissing],
    empty: [{ kind: 'found', value: Buffer.alloc(0) }, refusals.configMissing],
    'not JSON': [{ kind: 'found', value: Buffer.from('{') }, refusals.configFailed],
    'of another shape': [{ kind: 'found', value: Buffer.from('{}') }, refusals.configFailed],
    unreachable: [{ kind: 'failed', reason: 'the store is lost' }, refusals.configFailed],
  };
  for (const [what, [read, refusal]] of Object.entries(configs)) {
    for (const virtualHostId of ['vh', 'unknown', undefined]) {
      const { admission, store } = start();
      store.answer = read;
      isRefused(t, await admission.admit(header, virtualHostId), refusal, what);
      store.answer = Promise.resolve(read);
      isRefused(t, await admission.admit(header, virtualHostId), refusal, `${what}, later`);
    }
  }
});

t.test('why a config cannot be used is logged, without the identity or the config', async (t) => {
  const { admission, store, lines } = start();
  store.answer = { kind: 'found', value: Buffer.from('{"secret-value":') };
  const header = await bearer({ sub: 'alice@example.com' });
  await admission.admit(header, 'vh');
  t.equal(lines.length, 1);
  t.match(JSON.parse(lines[0] ?? '{}'), { subject: subjectHash('alice@example.com'), reason: /not JSON/ });
  for (const secret of ['alice', 'secret-value', header.slice('Bearer '.length)]) t.notOk(lines[0]?.includes(secret));
  for (let count = 0; count < 10; count++) await admission.admit(header, 'vh');
  t.equal(lines.length, 1, 'and not at each request');
});

t.test('a fault that concerns every subject is logged once, not for each', async (t) => {
  const { admission, store, lines } = start();
  store.answer = { kind: 'failed', reason: 'Redis is not reachable', isForAll: true };
  for (const sub of ['alice', 'bob', 'carol']) await admission.admit(await bearer({ sub }), 'vh');
  t.equal(lines.length, 1);
  t.match(JSON.parse(lines[0] ?? '{}'), { reason: 'Redis is not reachable', msg: 'user configs cannot be read' });
  store.answer = { kind: 'failed', reason: 'the key cannot be encoded' };
  for (const sub of ['alice', 'bob']) await admission.admit(await bearer({ sub }), 'vh');
  t.equal(lines.length, 3, 'a line for each whose own it is');
});

t.test('the virtual host is checked last', async (t) => {
  const { admission, store } = start();
  const header = await bearer();
  for (const id of ['unknown', '', 'VH', 'vh ', '__proto__', 'constructor', undefined]) {
    isRefused(t, await admission.admit(header, id), refusals.virtualHostUnknown, String(id));
  }
  store.answer = Promise.resolve(CONFIG);
  isRefused(t, await admission.admit(header, 'unknown'), refusals.virtualHostUnknown, 'later');
});

t.test("a request authenticated in another worker is admitted by this worker's own config", async (t) => {
  const { admission, store } = start();
  t.match(admission.admitSubject('bob', 'vh'), { subject: 'bob', virtualHost: { id: 'vh' } });
  t.same(store.subjects, ['bob']);
  store.answer = Promise.resolve(CONFIG);
  t.match(await admission.admitSubject('bob', 'vh'), { virtualHost: { id: 'vh' } });
  store.answer = { kind: 'missing' };
  isRefused(t, await admission.admitSubject('bob', 'vh'), refusals.configMissing, 'removed in between');
});
