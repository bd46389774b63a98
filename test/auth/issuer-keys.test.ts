import type { IncomingMessage, ServerResponse } from 'node:http';
import t, { type Test } from 'tap';
import { IssuerKeys } from '../../src/auth/issuer-keys.js';
import { fetchKeys, TokenKeys } from '../../src/auth/token-keys.js';
import type { KeySet } from '../../src/auth/key-set.js';
import { tokenBounds, TokenVerifier } from '../../src/auth/token-verifier.js';
import type { IssuerKeySource } from '../../src/config/table/token-options.js';
import { keysOfJwks, type VerificationKey } from '../../src/config/verification-keys.js';
import { limits } from '../../src/shared/limits.js';
import { createIssuerKey, Issuer } from '../support/issuer.js';
import { logInto } from '../support/log-lines.js';
import { until } from '../support/until.js';
import { tokenOptions } from './token-options.js';

const SUBJECT = { kind: 'subject', subject: 'alice' };
/** With these limits nothing is fetched again unless a test causes it. */
const NEVER = { keyRefreshMs: 1e9, keyFetchCooldownMs: 1e9, retryDelayMsMin: 1e9, waitingMax: 10 };

interface Stage {
  readonly verifier: TokenVerifier;
  readonly obstacles: readonly string[];
  /** Whether there was no key of any issuer, with each obstacle. */
  readonly areInTheWay: readonly boolean[];
  readonly lines: readonly string[];
  readonly reasonOf: (token: string) => Promise<string>;
}

async function stage(
  t: Test,
  issuerKeys: readonly IssuerKeySource[],
  bounds: Partial<typeof NEVER> = {},
): Promise<Stage> {
  const options = tokenOptions({ issuerKeys });
  const verifier = new TokenVerifier(options, Date.now, tokenBounds, new TokenKeys(options, { ...NEVER, ...bounds }));
  t.teardown(() => verifier.close());
  const obstacles: string[] = [];
  const areInTheWay: boolean[] = [];
  const lines: string[] = [];
  await verifier.watchKeys(logInto(lines), (obstacle, isInTheWay) => {
    obstacles.push(obstacle);
    areInTheWay.push(isInTheWay);
  });
  const reasonOf = async (token: string): Promise<string> => {
    const verified = await verifier.verify(`Bearer ${token}`);
    return verified.kind === 'refused' ? (verified.cause ?? verified.reason) : verified.subject;
  };
  return { verifier, obstacles, areInTheWay, lines, reasonOf };
}

const sourceOf = (issuer: Issuer): IssuerKeySource => ({ issuer: issuer.origin, url: issuer.jwksUrl });

t.test('a token is verified with the keys of its own issuer, which are fetched once', async (t) => {
  const [one, two] = [await Issuer.start(t), await Issuer.start(t)];
  const { verifier, reasonOf, obstacles } = await stage(t, [sourceOf(one), sourceOf(two)]);
  const tokens = await Promise.all(['a', 'b', 'c'].map((sub) => one.token(sub)));
  t.strictSame(await Promise.all(tokens.map(reasonOf)), ['a', 'b', 'c'], 'those that come meanwhile wait');
  t.equal(await reasonOf(await two.token('alice')), 'alice');
  t.equal(one.fetchCount, 1);
  t.equal(two.fetchCount, 1);
  t.equal(
    await reasonOf(await two.token('mallory', { iss: one.origin })),
    'signature',
    'of the other, by the same kid',
  );
  t.equal(await reasonOf(await one.token('mallory', { iss: 'mcpgateway' })), 'algorithm', 'as one of the files');
  t.equal(await reasonOf(await one.token('mallory', { iss: `${one.origin}/` })), 'issuer');
  t.equal(await reasonOf(await one.token('alice', { aud: 'else' })), 'audience');
  const remembered = `Bearer ${await one.token('alice')}`;
  t.strictSame(await verifier.verify(remembered), SUBJECT);
  t.notOk(verifier.verify(remembered) instanceof Promise, 'the way of a token that is known has no promise');
  t.strictSame(obstacles, ['', ''], 'both came');
});

t.test('an unknown key is asked for only once in a while', async (t) => {
  const issuer = await Issuer.start(t);
  const { reasonOf } = await stage(t, [sourceOf(issuer)], { keyFetchCooldownMs: 0 });
  t.equal(await reasonOf(await issuer.token('alice')), 'alice');
  issuer.keys = [createIssuerKey('two'), ...issuer.keys];
  t.equal(await reasonOf(await issuer.token('bob')), 'bob', 'a renewed key');
  t.equal(issuer.fetchCount, 2);
  const unknown = await issuer.token('carol', {}, createIssuerKey('three'));
  t.equal(await reasonOf(unknown), 'key');
  t.equal(issuer.fetchCount, 3);

  const slow = await stage(t, [sourceOf(issuer)]);
  t.equal(await slow.reasonOf(await issuer.token('alice')), 'alice');
  const before = issuer.fetchCount;
  const strangers = await Promise.all(['x', 'y', 'z'].map((kid) => issuer.token('m', {}, createIssuerKey(kid))));
  for (const token of strangers) t.equal(await slow.reasonOf(token), 'key');
  t.equal(issuer.fetchCount, before, 'not within the cooldown');
});

t.test('a token without a key id is reason to fetch the keys of its issuer, too', async (t) => {
  const issuer = await Issuer.start(t);
  issuer.keys = [createIssuerKey(undefined)];
  const { reasonOf } = await stage(t, [sourceOf(issuer)], { keyFetchCooldownMs: 0 });
  t.equal(await reasonOf(await issuer.token('alice')), 'alice');
  t.equal(issuer.fetchCount, 1);
  issuer.keys = [createIssuerKey(undefined)];
  t.equal(await reasonOf(await issuer.token('bob')), 'bob', 'signed with a newer key');
  t.equal(issuer.fetchCount, 2);
});

t.test('a key that the issuer withdraws verifies no more, nor do remembered tokens of it', async (t) => {
  const issuer = await Issuer.start(t);
  const { verifier, reasonOf, lines } = await stage(t, [sourceOf(issuer)], { keyRefreshMs: 20 });
  const token = await issuer.token('alice');
  t.equal(await reasonOf(token), 'alice');
  issuer.keys = [createIssuerKey('two')];
  await until(() => verifier.verify(`Bearer ${token}`) instanceof Promise, 'that it is forgotten');
  t.equal(await reasonOf(token), 'key');
  t.equal(await reasonOf(await issuer.token('bob')), 'bob');
  const { fetchCount } = issuer;
  await until(() => issuer.fetchCount > fetchCount + 3, 'that they are fetched again and again');
  t.equal(lines.filter((line) => line.includes('keys of an issuer have changed')).length, 2, 'only changes are told');
});

t.test('an issuer that withdraws its last key has none from then on, without a grace', async (t) => {
  const issuer = await Issuer.start(t);
  const { verifier, reasonOf, obstacles, lines } = await stage(t, [sourceOf(issuer)], { keyRefreshMs: 20 });
  const token = await issuer.token('alice');
  t.equal(await reasonOf(token), 'alice');
  const { keys } = issuer;
  issuer.keys = [];
  await until(() => verifier.verify(`Bearer ${token}`) instanceof Promise, 'that it is forgotten');
  t.equal(await reasonOf(token), 'algorithm', 'bad, and not unavailable');
  t.strictSame(obstacles, [''], 'nothing is in the way of tokens');
  const warnings = lines.filter((line) => line.includes('"level":40'));
  t.match(
    warnings.map((line) => JSON.parse(line) as unknown),
    [{ issuer: issuer.origin, keys: 0, before: 1, msg: /publishes no key/ }],
  );
  t.equal(warnings.length, 1, 'which is said once');
  issuer.keys = keys;
  await until(async () => (await reasonOf(token)) === 'alice', 'the key again');
});

t.test('an issuer that never had a key is known to have none', async (t) => {
  const issuer = await Issuer.start(t);
  const token = await issuer.token('alice');
  issuer.keys = [];
  const { reasonOf, obstacles, lines } = await stage(t, [sourceOf(issuer)]);
  t.equal(await reasonOf(token), 'algorithm');
  t.strictSame(obstacles, ['']);
  t.equal(lines.filter((line) => line.includes('publishes no key')).length, 1);
});

t.test('keys of an issuer that is down are unavailable if never fetched, and arrive when it is back', async (t) => {
  const issuer = await Issuer.start(t);
  const token = await issuer.token('alice');
  await issuer.stop();
  const { reasonOf, obstacles, areInTheWay, lines } = await stage(t, [sourceOf(issuer)], {
    retryDelayMsMin: 10,
    keyFetchCooldownMs: 20,
  });
  t.equal(await reasonOf(token), 'unavailable');
  await until(() => obstacles.length === 1, 'word of it');
  t.match(obstacles[0], /^the keys of the issuer in --token-jwks-url cannot be fetched/);
  t.match(lines.join(), /"ECONNREFUSED"/, 'and no address');
  t.notMatch(lines.join(), /\/jwks/, 'no URL');
  await issuer.comeBack();
  await until(() => obstacles.length === 2, 'word that it is back');
  t.equal(obstacles[1], '');
  t.strictSame(areInTheWay, [true, false], 'no token could be verified meanwhile');
  t.equal(await reasonOf(token), 'alice');
});

const oddities: Readonly<Record<string, readonly [reason: RegExp, answer: (response: ServerResponse) => void]>> = {
  'an error': [/it answered 500/, (response) => response.writeHead(500).end()],
  nothing: [/it answered 204/, (response) => response.writeHead(204).end()],
  garbage: [/its answer is not a JWK set/, (response) => response.end('<html>')],
  'too much': [
    /its response has more than 262144 bytes/,
    (response) => response.end(' '.repeat(limits.keySetBytesMax + 1)),
  ],
  'a redirect': [/redirect/, (response) => response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end()],
  silence: [/it took too long/, () => {}],
  'half an answer': [/it took too long/, (response) => void response.writeHead(200).write('{"keys":')],
};

t.test('each invalid answer of an issuer is refused with its reason', async (t) => {
  const issuer = await Issuer.start(t);
  for (const [what, [reason, answer]] of Object.entries(oddities)) {
    issuer.answer = (_request, response) => answer(response);
    await t.rejects(fetchKeys(sourceOf(issuer), true, 300), { message: reason }, what);
  }
});

t.test('an issuer is asked for JSON, and for nothing else', async (t) => {
  const issuer = await Issuer.start(t);
  const accepted: unknown[] = [];
  issuer.answer = ({ headers }, response) => {
    accepted.push(headers.accept);
    response.end('{"keys":[]}');
  };
  await fetchKeys(sourceOf(issuer), true);
  t.strictSame(accepted, ['application/jwk-set+json, application/json']);
});

t.test('an issuer’s metadata says where its keys are', async (t) => {
  const issuer = await Issuer.start(t);
  const jwks = JSON.stringify({ keys: [{ ...createIssuerKey('x').publicKey.export({ format: 'jwk' }), kid: 'x' }] });
  const publish = (path: string, document: object): void => {
    issuer.answer = ({ url }: IncomingMessage, response) => {
      if (url === '/jwks') response.end(jwks);
      else if (url === path) response.end(JSON.stringify(document));
      else response.writeHead(404).end();
    };
  };
  const realm = `${issuer.origin}/realms/a`;
  const document = { issuer: realm, jwks_uri: issuer.jwksUrl };
  const idsOf = async (isPlainTextAllowed = true): Promise<unknown> =>
    (await fetchKeys({ issuer: realm, url: undefined }, isPlainTextAllowed)).map(({ id }) => id);
  publish('/realms/a/.well-known/openid-configuration', document);
  t.strictSame(await idsOf(), ['x'], 'OpenID Connect');
  publish('/.well-known/oauth-authorization-server/realms/a', document);
  t.strictSame(await idsOf(), ['x'], 'RFC 8414');
  publish('/realms/a/.well-known/openid-configuration', { ...document, issuer: issuer.origin });
  await t.rejects(idsOf(), { message: /names another issuer/ });
  publish('/realms/a/.well-known/openid-configuration', { ...document, jwks_uri: 'http://192.0.2.1/jwks' });
  await t.rejects(idsOf(), { message: /has no https address/ });
  publish('/realms/a/.well-known/openid-configuration', { ...document, jwks_uri: [issuer.jwksUrl] });
  await t.rejects(idsOf(), { message: /has no https address/ }, 'a list of addresses is none');
  publish('/realms/a/.well-known/openid-configuration', document);
  await t.rejects(idsOf(false), { message: /has no https address/ });
  publish('/elsewhere', document);
  await t.rejects(idsOf(), { message: /it answered 404/ });
});

t.test('an issuer whose name ends in a slash is asked where others are, and named with its slash', async (t) => {
  const issuer = await Issuer.start(t);
  const jwks = JSON.stringify({ keys: [{ ...createIssuerKey('x').publicKey.export({ format: 'jwk' }), kid: 'x' }] });
  for (const [path, place] of [
    ['/', '/.well-known/openid-configuration'],
    ['/', '/.well-known/oauth-authorization-server'],
    ['/realms/a/', '/realms/a/.well-known/openid-configuration'],
    ['/realms/a/', '/.well-known/oauth-authorization-server/realms/a'],
  ] as const) {
    const name = `${issuer.origin}${path}`;
    const publish = (named: string): void => {
      issuer.answer = ({ url }, response) => {
        if (url === '/jwks') response.end(jwks);
        else if (url === place) response.end(JSON.stringify({ issuer: named, jwks_uri: issuer.jwksUrl }));
        else response.writeHead(404).end();
      };
    };
    publish(name);
    t.match(await fetchKeys({ issuer: name, url: undefined }, true), [{ id: 'x' }], place);
    publish(name.slice(0, -1));
    // The first place decides what is said, as most issuers have no other.
    const message = place.endsWith('configuration') ? /names another issuer/ : /it answered 404/;
    await t.rejects(fetchKeys({ issuer: name, url: undefined }, true), { message });
  }
});

t.test('while an issuer is down its fetched keys are used for a limited time', async (t) => {
  let nowMs = 1_000;
  let answer: () => readonly VerificationKey[] = () => {
    throw new Error('down');
  };
  const [one, two] = ['one', 'two'].map((kid) => {
    const jwk = createIssuerKey(kid).publicKey.export({ format: 'jwk' });
    return keysOfJwks(JSON.stringify({ keys: [{ ...jwk, kid }] }), 'issuer');
  }) as [readonly VerificationKey[], readonly VerificationKey[]];
  const changes: KeySet[] = [];
  const lines: string[] = [];
  let standings = 0;
  const keys = new IssuerKeys(
    { issuer: 'us' },
    {
      fetchKeys: async () => answer(),
      graceMs: 1_000,
      onChange: (before) => void changes.push(before),
      onAvailabilityChange: () => (standings += 1),
      nowMs: () => nowMs,
      bounds: { ...NEVER, keyFetchCooldownMs: 10 },
    },
  );
  t.teardown(() => keys.close());
  await keys.watch(logInto(lines));
  t.ok(keys.keys.isEmpty);
  t.equal(standings, 1);
  const renew = async (afterMs: number, next = answer): Promise<void> => {
    answer = next;
    nowMs += afterMs;
    await keys.renew();
  };
  const down = answer;
  await renew(10, () => one);
  t.equal(keys.keys.size, 1);
  t.equal(standings, 2);
  await renew(9, () => two);
  t.equal(changes.length, 1, 'too soon');
  await renew(10);
  t.equal(changes.length, 2, 'another key');
  await renew(1_000, down);
  t.equal(keys.keys.size, 1, 'within the time');
  await renew(10);
  t.ok(keys.keys.isEmpty, 'after it');
  t.equal(standings, 3);
  await renew(10);
  t.equal(standings, 3, 'that is told once');
  await renew(10, () => two);
  t.equal(keys.keys.size, 1);
  t.equal(standings, 4);
  t.equal(lines.filter((line) => line.includes('cannot be fetched')).length, 2, 'one line for each outage');
  await renew(10, () => []);
  t.ok(keys.keys.isEmpty && !keys.areUnknown, 'taken back at once');
  await renew(1_000, down);
  t.notOk(keys.areMissing, 'which is known within the time');
  await renew(10);
  t.ok(keys.areMissing, 'and after it is not');
  t.equal(standings, 5);
  await renew(10, () => two);
  t.equal(standings, 6);
  keys.close();
  await renew(10, down);
  t.equal(keys.keys.size, 1, 'nothing is fetched any more');
});

t.test('the number of requests that wait for a fetch is bounded', async (t) => {
  let onFetched: (keys: readonly VerificationKey[]) => void = () => {};
  const parts = { graceMs: 0, onChange: () => {}, onAvailabilityChange: () => {}, bounds: { ...NEVER, waitingMax: 2 } };
  const keys = new IssuerKeys(
    { issuer: 'us' },
    { ...parts, fetchKeys: () => new Promise((resolve) => (onFetched = resolve)) },
  );
  const first = keys.watch(logInto([]));
  const answered: number[] = [];
  const waits = [1, 2, 3].map((n) => keys.renew().then(() => answered.push(n)));
  await waits[2];
  t.strictSame(answered, [3]);
  onFetched([]);
  await Promise.all([first, ...waits]);
  t.strictSame(answered.toSorted(), [1, 2, 3]);
  keys.close();
});
