import { generateKeyPairSync } from 'node:crypto';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { TokenVerifier } from '../../src/auth/token-verifier.js';
import { type BootstrapDependencies, createEndpoints } from '../../src/bootstrap/bootstrap.js';
import type { Endpoint, EndpointAnswer, EndpointRequest } from '../../src/shared/endpoint.js';
import { createLogger } from '../../src/shared/logger.js';
import { EmbeddedStore } from '../../src/store/embedded-store.js';
import { tokenOptions } from '../auth/token-options.js';
import { createScratchDirectory } from '../support/scratch-directory.js';

const config = { virtual_hosts: { v: { backends: { b: { url: 'http://127.0.0.1:1/mcp' } } } } };
const ed25519 = generateKeyPairSync('ed25519');
const token = tokenOptions({
  publicKey: ed25519.publicKey.export({ type: 'spki', format: 'pem' }).toString(),
  privateKey: ed25519.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
});

interface Bench {
  readonly store: EmbeddedStore;
  /** Subjects in the order in which they were announced. */
  readonly announced: string[];
  readonly mint: (request: Partial<EndpointRequest>) => Promise<EndpointAnswer>;
  readonly write: (request: Partial<EndpointRequest>) => Promise<EndpointAnswer>;
}

function createBench(t: Test, given: Partial<BootstrapDependencies> = {}): Bench {
  const store = new EmbeddedStore(join(createScratchDirectory(t), 'store'));
  t.teardown(() => store.close());
  const announced: string[] = [];
  const endpoints = createEndpoints({
    token,
    store,
    announceWritten: async (subject) => void announced.push(subject),
    logger: createLogger('silent', {}),
    ...given,
  });
  const find = (method: Endpoint['method'], path: string): Endpoint => {
    const endpoint = endpoints.find((candidate) => candidate.method === method && candidate.path === path);
    if (endpoint === undefined) throw new Error(`no endpoint ${method} ${path}`);
    return endpoint;
  };
  const absent = { parameter: '', contentType: '', body: Buffer.alloc(0) };
  const toWrite = { parameter: 'alice', contentType: 'application/json', body: Buffer.from(JSON.stringify(config)) };
  return {
    store,
    announced,
    mint: (request) => find('GET', '/admin/tokens').handle({ ...absent, ...request }),
    write: (request) => find('POST', '/admin/userconfigs').handle({ ...toWrite, ...request }),
  };
}

t.test('the endpoint mints a token that verifies, for the decoded subject, for an hour', async (t) => {
  const { mint } = createBench(t);
  for (const subject of ['alice@example.com', 'a/b c%', 'Ünï']) {
    const answer = await mint({ parameter: encodeURIComponent(subject) });
    t.match(answer, { status: 200, contentType: 'text/plain' });
    const header = `Bearer ${answer.body}`;
    t.strictSame(await new TokenVerifier(token).verify(header), { kind: 'subject', subject });
    const at = (offsetMs: number): TokenVerifier => new TokenVerifier(token, () => Date.now() + offsetMs);
    t.equal((await at(3_590_000).verify(header)).kind, 'subject');
    t.match(await at(3_600_000).verify(header), { reason: 'expired' });
  }
});

t.test('without a private key the endpoint says that there is none', async (t) => {
  const { mint } = createBench(t, { token: tokenOptions() });
  t.match(await mint({ parameter: 'alice' }), { status: 500, body: /--token-verification-private-key/ });
});

t.test('the endpoint writes the bytes unchanged, announces them, and answers Added', async (t) => {
  const { write, store, announced } = createBench(t);
  const body = Buffer.from(` ${JSON.stringify(config, undefined, 2)}\n`);
  t.strictSame(await write({ parameter: 'a%2Fb', body }), { status: 202, contentType: 'text/plain', body: 'Added' });
  t.strictSame(announced, ['a/b']);
  t.strictSame(store.read('a/b'), { kind: 'found', value: body });
  for (const contentType of ['application/json; charset=utf-8', 'Application/JSON', 'application/json;']) {
    t.equal((await write({ contentType })).status, 202, contentType);
  }
});

t.test('the endpoint answers only once every worker has heard of the write', async (t) => {
  let release = (): void => undefined;
  let onAnnounced = (): void => undefined;
  const heard = new Promise<void>((resolve) => (release = resolve));
  const announced = new Promise<void>((resolve) => (onAnnounced = resolve));
  const { write, store } = createBench(t, {
    announceWritten: () => {
      onAnnounced();
      return heard;
    },
  });
  let isAnswered = false;
  const answer = write({}).then((answered) => {
    isAnswered = true;
    return answered;
  });
  await announced;
  await new Promise(setImmediate);
  t.equal(store.read('alice').kind, 'found', 'written before it is announced');
  t.notOk(isAnswered);
  release();
  t.equal((await answer).status, 202);
});

t.test('a subject that is empty or wrongly encoded is refused by both endpoints', async (t) => {
  const { mint, write, announced } = createBench(t);
  for (const parameter of ['', '%', '%2', '%zz', 'a%ff', '%ED%A0%80']) {
    t.match(await mint({ parameter }), { status: 400, contentType: 'text/plain', body: /subject/ }, parameter);
    t.match(await write({ parameter }), { status: 400, contentType: 'text/plain', body: /subject/ }, parameter);
  }
  t.strictSame(announced, []);
});

t.test('a body that is no user config is refused, and the fault is named', async (t) => {
  const { write, store, announced } = createBench(t);
  const cases: readonly (readonly [Partial<EndpointRequest>, number, RegExp])[] = [
    [{ contentType: '' }, 415, /application\/json/],
    [{ contentType: 'text/plain' }, 415, /application\/json/],
    [{ contentType: 'application/jsonx' }, 415, /application\/json/],
    [{ contentType: 'text/plain', parameter: '' }, 415, /application\/json/],
    [{ body: Buffer.alloc(0) }, 400, /not JSON/],
    [{ body: Buffer.from('{') }, 400, /not JSON/],
    [{ body: Buffer.from([0x22, 0xff, 0x22]) }, 400, /not JSON/],
    [{ body: Buffer.from(`\ufeff${JSON.stringify(config)}`) }, 400, /not JSON/],
    [{ body: Buffer.from('null') }, 422, /not a user config/],
    [{ body: Buffer.from('[]') }, 422, /not a user config/],
    [{ body: Buffer.from('{}') }, 422, /virtual_hosts/],
    [{ body: Buffer.from('{"virtual_hosts":{"v":{"backends":{"b":{"url":7}}}}}') }, 422, /virtual_hosts.*b.*url/],
  ];
  for (const [request, status, body] of cases) {
    const answer = await write(request);
    t.match(answer, { status, contentType: 'text/plain', body }, JSON.stringify(request));
  }
  t.equal(store.read('alice').kind, 'missing', 'nothing was written');
  t.strictSame(announced, []);
});

t.test('a failure of the store is answered with 500', async (t) => {
  const { write, announced } = createBench(t);
  const answer = await write({ parameter: 'x'.repeat(5_000) });
  t.match(answer, { status: 500, body: /could not be stored/ }, 'a subject that the store cannot encode');
  t.strictSame(announced, []);
});

t.test('a config that could not be announced is answered with 500', async (t) => {
  const { write, store } = createBench(t, { announceWritten: () => Promise.reject(new Error('the primary is gone')) });
  t.match(await write({}), { status: 500, body: /stored, but .*the primary is gone/ });
  t.equal(store.read('alice').kind, 'found');
});
