// Secrets of a directory: what is read, when it is read again, and which hosts receive it. The test sets the clock.
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { limits } from '../../src/shared/limits.js';
import { Credentials } from '../../src/credentials/credentials.js';
import type { OAuthSourceDependencies } from '../../src/credentials/oauth-source.js';
import { Secrets, type StoredSecretRead } from '../../src/credentials/secrets.js';
import { FILE_CHECK_MS } from '../../src/http-client/names/watched-file.js';
import { loggedReason, faultReason, type UpstreamFault } from '../../src/http-client/upstream-fault.js';
import type { HeadersAuth, SecretReference } from '../../src/user-config/auth.js';
import { createScratchDirectory } from '../support/scratch-directory.js';

const ORIGIN = 'https://mcp.example:8443';
const AUTH: HeadersAuth = { type: 'headers', headers: { Authorization: { file: 'github' }, 'x-org': { file: 'org' } } };

class Scene {
  readonly directory: string;
  readonly secrets: Secrets;
  #nowMs = 1;

  constructor(t: Test) {
    this.directory = createScratchDirectory(t);
    this.secrets = new Secrets(this.directory, () => this.#nowMs);
  }

  write(name: string, text: string): void {
    writeFileSync(join(this.directory, name), text);
  }

  advance(): void {
    this.#nowMs += FILE_CHECK_MS;
  }

  headers(origin = ORIGIN, auth = AUTH): readonly string[] {
    const headers = this.secrets.headersOf(auth, origin);
    if (headers instanceof Promise || 'kind' in headers) throw new Error('no headers at once');
    return headers;
  }

  fault(origin = ORIGIN, auth = AUTH): UpstreamFault {
    const fault = this.secrets.headersOf(auth, origin);
    if (fault instanceof Promise || !('kind' in fault)) throw new Error('no fault');
    return fault;
  }
}

t.test('a file’s whole text without its last line break is the value', async (t) => {
  const scene = new Scene(t);
  for (const lineEnd of ['', '\n', '\r\n']) {
    scene.write('github', `Bearer a b${lineEnd}`);
    scene.write('org', 'o');
    scene.advance();
    t.same(scene.headers(), ['authorization', 'Bearer a b', 'x-org', 'o'], JSON.stringify(lineEnd));
  }
});

t.test('the same headers are the same array; a changed secret takes effect after a moment', async (t) => {
  const scene = new Scene(t);
  scene.write('github', 'Bearer 1');
  scene.write('org', 'o');
  const first = scene.headers();
  scene.advance();
  t.equal(scene.headers(), first);
  scene.write('github', 'Bearer 22');
  t.equal(scene.headers(), first, 'it was looked at just now');
  scene.advance();
  t.same(scene.headers(), ['authorization', 'Bearer 22', 'x-org', 'o']);
  rmSync(join(scene.directory, 'github'));
  scene.advance();
  t.equal(scene.fault().kind, 'secret-unreadable');
  scene.write('github', 'Bearer 22');
  scene.advance();
  t.same(scene.headers(), ['authorization', 'Bearer 22', 'x-org', 'o']);
});

t.test('a file that cannot be a header’s value is no secret; the log says why, but not what it contains', async (t) => {
  const scene = new Scene(t);
  scene.write('org', 'o');
  for (const text of ['', '\n', 'a\nb', ' a', 'a ', 'a\n\n', 'ä', 'a\0b']) {
    scene.write('github', text);
    scene.advance();
    t.match(loggedReason(scene.fault()), /\(github: is not a valid header value/, JSON.stringify(text));
    t.notMatch(faultReason(scene.fault()), /github/, 'callers do not hear its name');
  }
  scene.write('github', 'a'.repeat(limits.secretBytesMax + 1));
  scene.advance();
  t.match(loggedReason(scene.fault()), /github: is larger than/);
  rmSync(join(scene.directory, 'github'));
  mkdirSync(join(scene.directory, 'github'));
  scene.advance();
  t.match(loggedReason(scene.fault()), /github: is not a regular file/);
});

t.test('a secret that names its hosts is sent to these alone', async (t) => {
  const scene = new Scene(t);
  scene.write('github', 'Bearer 1');
  scene.write('org', 'o');
  scene.write('github.hosts', 'other.example\nmcp.example:8443\n');
  t.equal(scene.headers().length, 4);
  t.equal(scene.fault('https://mcp.example').kind, 'secret-withheld', 'on another port');
  t.equal(scene.fault('https://evil.example').kind, 'secret-withheld');
  t.equal(scene.fault('https://xmcp.example:8443').kind, 'secret-withheld');
  scene.write('github.hosts', 'x'.repeat(limits.secretBytesMax + 1));
  scene.advance();
  t.equal(scene.fault().kind, 'secret-withheld', 'a list that cannot be read names nobody');
});

t.test('a secret of the store is sent to the origins that it names alone, and to each of several', async (t) => {
  const read = { kind: 'found', secret: { value: 'kept', origins: [ORIGIN] } } as unknown as StoredSecretRead;
  const secrets = new Secrets(undefined, () => 1, { read: () => read });
  const reference = { secret: 'of-the-store' } as unknown as SecretReference;
  t.equal(secrets.secretOf(reference, ORIGIN), 'kept');
  t.match(secrets.secretOf(reference, 'https://elsewhere.example'), { kind: 'secret-withheld' });
  t.match(secrets.secretOf(reference, ORIGIN, 'https://elsewhere.example'), { kind: 'secret-withheld' });
  const failed = new Secrets(undefined, () => 1, { read: () => ({ kind: 'failed', reason: 'is not in the store' }) });
  const fault = failed.secretOf(reference, ORIGIN);
  t.match(fault, { kind: 'secret-unreadable', logDetail: '(of-the-store: is not in the store)' });
});

t.test('secrets that the store does not have at hand come later, all of them or none', async (t) => {
  const found = { kind: 'found', secret: { value: 'kept', origins: 'any' } } as unknown as StoredSecretRead;
  const failed: StoredSecretRead = { kind: 'failed', reason: 'is not in the store' };
  const secrets = new Secrets(undefined, () => 1, {
    read: (name: string) => (name === 'near' ? found : Promise.resolve(name === 'far' ? found : failed)),
  });
  const [near, far, none] = ['near', 'far', 'none'].map((secret) => ({ secret }));
  const authOf = (headers: object): HeadersAuth => ({ type: 'headers', headers }) as unknown as HeadersAuth;
  const both = authOf({ 'X-Near': near, 'X-Far': far });
  const first = await secrets.headersOf(both, ORIGIN);
  t.same(first, ['x-near', 'kept', 'x-far', 'kept']);
  t.equal(await secrets.headersOf(both, ORIGIN), first, 'the same array');
  t.match(await secrets.headersOf(authOf({ a: far, b: none }), ORIGIN), { kind: 'secret-unreadable' });
  const withoutKeys = new Secrets(undefined, () => 1);
  t.match(withoutKeys.headersOf(authOf({ a: near }), ORIGIN), { kind: 'secret-keys-missing' });
});

t.test('credentials that never change are shown as they are, and a rejection of them is final', (t) => {
  t.equal(Credentials.ofHeaders([]), undefined);
  const credentials = Credentials.ofHeaders(['authorization', 'Bearer 1']);
  const metadata = { headers: [], requestId: '', callerToken: '' };
  t.equal(credentials?.refresh(metadata), undefined);
  t.same(credentials?.addTo(['a', 'b'], metadata), ['a', 'b', 'authorization', 'Bearer 1']);
  t.equal(credentials?.onRejected(metadata), false);
  t.equal(credentials?.connect, undefined);
  t.end();
});

t.test('without its secret a backend is shown none, and only what the caller has for it', async (t) => {
  const scene = new Scene(t);
  scene.write('org', 'o');
  const [backend, metadata] = [
    { name: 'b', target: { origin: ORIGIN, path: '/mcp' } },
    { headers: ['x-own', '1'], requestId: '', callerToken: '' },
  ];
  const credentials = Credentials.of(AUTH, backend, 'alice', { secrets: scene.secrets } as OAuthSourceDependencies);
  t.match(credentials?.refresh(metadata), { kind: 'secret-unreadable' });
  t.same(credentials?.addTo(['a', 'b'], metadata), ['a', 'b', 'x-own', '1']);
  scene.write('github', 'Bearer 1');
  scene.advance();
  t.equal(credentials?.refresh(metadata), undefined);
  const secrets = ['authorization', 'Bearer 1', 'x-org', 'o'];
  t.same(credentials?.addTo(['a', 'b'], metadata), ['a', 'b', ...secrets, 'x-own', '1']);
  const [own, bare] = [['a', 'b'], { ...metadata, headers: [] }];
  const all = credentials?.addTo(own, bare);
  t.same(all, [...own, ...secrets]);
  t.equal(credentials?.addTo(own, bare), all, 'the same array while nothing changes');
  t.not(credentials?.addTo([...own], bare), all, 'but not with other headers');
  t.equal(credentials?.onRejected(metadata), false, 'there is no other to try');
});

t.test('without a directory there are no secrets', async (t) => {
  const fault = new Secrets(undefined, () => 0).headersOf(AUTH, ORIGIN);
  t.match(fault, { kind: 'secrets-off', isUnsent: true });
});
