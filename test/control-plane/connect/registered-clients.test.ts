// The gateway's own clients at authorization servers: when one is registered, with what, and which answers are none.
import { randomBytes } from 'node:crypto';
import { pino } from 'pino';
import t from 'tap';
import { ControlPlaneFault } from '../../../src/control-plane/common/control-plane-fault.js';
import type { AuthorizationServer } from '../../../src/control-plane/connect/discovery.js';
import { RegisteredClients } from '../../../src/control-plane/connect/registered-clients.js';
import { SealedRecords } from '../../../src/control-plane/connect/consent-records.js';
import { CLIENT_PREFIX, keyHashOf, type GrantClient } from '../../../src/credentials/secrets/user-grants.js';
import { SecretKeys } from '../../../src/credentials/secrets/secret-keys.js';
import { limits } from '../../../src/shared/limits.js';
import { openRecordStore } from '../../../src/store/open-store.js';
import { createScratchDirectory } from '../../support/scratch-directory.js';
import { fetchVia, scriptedHttp, type ScriptedAnswer } from './scripted-http.js';

const IDP = 'https://idp.example';
const CALLBACK = 'https://gateway.example/connect/callback';
const keys = new SecretKeys([randomBytes(32).toString('base64')]);
const records = await openRecordStore({ kind: 'embedded', path: createScratchDirectory(t) }, pino({ level: 'silent' }));
t.teardown(() => records.close());

interface Wish {
  readonly scope?: string;
  readonly issuer?: string;
  readonly redirectUri?: string;
  readonly methods?: readonly string[] | undefined;
  readonly endpoint?: string | undefined;
}

interface Scene {
  readonly clients: RegisteredClients;
  /** What registrations said. */
  readonly wishes: Readonly<Record<string, unknown>>[];
  answer: ScriptedAnswer;
  readonly find: (wish?: Wish) => Promise<GrantClient>;
  readonly faultOf: (wish?: Wish) => Promise<string>;
  readonly target: { readonly origin: string; readonly path: string };
}

let scenes = 0;
function scene(): Scene {
  const wishes: Readonly<Record<string, unknown>>[] = [];
  const http = scriptedHttp(({ url, method, text }) => {
    if (url !== `${IDP}/register` || method !== 'POST') throw new Error(url);
    wishes.push(JSON.parse(text) as Readonly<Record<string, unknown>>);
    return self.answer;
  });
  const target = { origin: 'https://b.example', path: `/${(scenes += 1)}` };
  const clients = new RegisteredClients(records, keys);
  const find = async ({
    scope = '',
    issuer = IDP,
    redirectUri = CALLBACK,
    ...wish
  }: Wish = {}): Promise<GrantClient> => {
    const { methods, endpoint } = { methods: ['none'], endpoint: `${IDP}/register`, ...wish };
    const server = {
      ...{ issuer, authorization_endpoint: `${IDP}/authorize`, token_endpoint: `${IDP}/token` },
      ...{ registration_endpoint: endpoint, token_endpoint_auth_methods_supported: methods },
    } as unknown as AuthorizationServer;
    return clients.findOrRegister(fetchVia(http), target, { server, scope, resource: '' }, redirectUri);
  };
  const faultOf = async (wish?: Wish): Promise<string> => {
    try {
      return JSON.stringify(await find(wish));
    } catch (error) {
      if (error instanceof ControlPlaneFault) return error.message;
      throw error;
    }
  };
  const self: Scene = { clients, wishes, target, find, faultOf, answer: { status: 201, body: { client_id: 'c' } } };
  return self;
}

t.test('a client is registered once for a backend, its issuer, its scopes and the gateway’s address', async (t) => {
  const { find, wishes } = scene();
  t.same(await find({ scope: 'a b' }), { id: 'c', authentication: 'none' });
  t.same(wishes, [
    {
      ...{ client_name: 'Switchyard', redirect_uris: [CALLBACK], grant_types: ['authorization_code', 'refresh_token'] },
      ...{ response_types: ['code'], token_endpoint_auth_method: 'none', scope: 'a b' },
    },
  ]);
  await find({ scope: 'b' });
  await find();
  t.equal(wishes.length, 1, 'also for fewer scopes');
  await find({ scope: 'a c' });
  t.equal(wishes.length, 2);
  await find({ scope: 'a c', issuer: `${IDP}/other` });
  t.equal(wishes.length, 3);
  await find({ scope: 'a c', issuer: `${IDP}/other`, redirectUri: 'https://new.example/connect/callback' });
  t.equal(wishes.length, 4);
  t.equal((await scene().find()).id, 'c', 'other backends have their own');
});

t.test('one that an earlier version registered, without telling scopes, is good for all but renewal', async (t) => {
  const { find, wishes, target } = scene();
  await find();
  const sealed = new SealedRecords<object>(records, keys);
  const key = CLIENT_PREFIX + keyHashOf([target.origin, target.path]);
  const { bytes, value } = await sealed.read(key);
  await sealed.replace(key, bytes, { ...value, scope: undefined });
  await find({ scope: 'a b' });
  t.equal(wishes.length, 1);
  await find({ scope: 'a offline_access' });
  t.equal(wishes.length, 2);
});

t.test('a client whose secret ends is registered anew after it, and one without an end never', async (t) => {
  let nowMs = 1_700_000_000_000;
  t.capture(Date, 'now', () => nowMs);
  const ending = (atS: number, secret?: string): ScriptedAnswer => ({
    status: 201,
    body: { client_id: 'c', client_secret: secret, client_secret_expires_at: atS },
  });
  const own = scene();
  own.answer = ending(nowMs / 1_000 + 10, 's');
  await own.find();
  nowMs += 9_999;
  await own.find();
  t.equal(own.wishes.length, 1);
  nowMs += 1;
  await own.find();
  t.equal(own.wishes.length, 2);
  for (const answer of [ending(0, 's'), ending(1)]) {
    const endless = scene();
    endless.answer = answer;
    await endless.find();
    await endless.find();
    t.equal(endless.wishes.length, 1, '0 is never, and without a secret nothing ends');
  }
});

t.test('a client that the server no longer knows is forgotten, and no other', async (t) => {
  const { find, wishes, clients, target } = scene();
  await clients.forget(target, { id: 'c', authentication: 'none' });
  const client = await find();
  await clients.forget(target, { ...client, id: 'another' });
  await find();
  t.equal(wishes.length, 1);
  await clients.forget(target, client);
  await find();
  t.equal(wishes.length, 2);
});

t.test('the least authentication that the server supports is asked for', async (t) => {
  const rows: readonly (readonly [methods: string[] | undefined, asked: string])[] = [
    [['client_secret_post', 'client_secret_basic', 'none'], 'none'],
    [['client_secret_post', 'client_secret_basic'], 'client_secret_basic'],
    [['private_key_jwt', 'client_secret_post'], 'client_secret_post'],
    [undefined, 'client_secret_basic'],
    [['private_key_jwt'], 'none'],
  ];
  for (const [methods, asked] of rows) {
    const { faultOf, wishes } = scene();
    await faultOf({ methods });
    t.equal(wishes[0]?.['token_endpoint_auth_method'], asked);
  }
  t.match(await scene().faultOf({ endpoint: undefined }), /does not allow the gateway to register itself/);
});

t.test('how a client shows its secret follows from what it was given', async (t) => {
  const rows: readonly (readonly [supported: string[] | undefined, body: object, client: object])[] = [
    [['none'], {}, { authentication: 'none' }],
    [['none'], { client_secret: 's' }, { authentication: 'basic', secret: 's' }],
    [['client_secret_post'], { client_secret: 's' }, { authentication: 'post', secret: 's' }],
    [
      ['none', 'client_secret_post', 'client_secret_basic'],
      { client_secret: 's' },
      { authentication: 'basic', secret: 's' },
    ],
    [
      ['client_secret_basic'],
      { client_secret: 's', token_endpoint_auth_method: 'client_secret_post' },
      { authentication: 'post', secret: 's' },
    ],
    [
      ['client_secret_post'],
      { client_secret: 's', token_endpoint_auth_method: 'private_key_jwt' },
      { authentication: 'basic', secret: 's' },
    ],
    [['client_secret_basic'], { token_endpoint_auth_method: 'client_secret_basic' }, { authentication: 'none' }],
    [['none'], { client_secret: 's', token_endpoint_auth_method: 'none' }, { authentication: 'none' }],
  ];
  for (const [methods, body, client] of rows) {
    const own = scene();
    own.answer = { status: 201, body: { client_id: 'c', client_secret_expires_at: 0, ...body } };
    t.same(await own.find({ methods }), { id: 'c', ...client }, JSON.stringify([methods, body]));
  }
});

t.test('what cannot be a client or its secret is refused with the reason', async (t) => {
  const wordsFor = async (answer: ScriptedAnswer, wish?: Wish): Promise<string> => {
    const own = scene();
    own.answer = answer;
    return own.faultOf(wish);
  };
  const long = 'x'.repeat(limits.oauthMemberCharsMax);
  const given = (body: object): ScriptedAnswer => ({
    status: 201,
    body: { client_id: 'c', client_secret_expires_at: 0, ...body },
  });
  t.match(await wordsFor(given({ client_id: long })), long);
  t.match(
    await wordsFor(given({ client_id: `${long}x` })),
    /answered with a client id that is too long: the operator can name/,
  );
  t.match(await wordsFor(given({ client_secret: long })), long);
  for (const secret of [`${long}x`, 'a\nb'])
    t.match(await wordsFor(given({ client_secret: secret })), /whose secret cannot be used/);
  t.match(
    await wordsFor({ status: 400, body: { error: 'invalid_redirect_uri' } }),
    /which refused \(invalid_redirect_uri\)/,
  );
  t.match(await wordsFor({ status: 503, body: {} }), /which answered with status 503, and without a client/);
});

t.test('a server that registers nobody for the scopes is asked once more without them', async (t) => {
  const own = scene();
  const refusal = { status: 400, body: { error: 'invalid_client_metadata' } };
  own.answer = refusal;
  t.match(await own.faultOf({ scope: 'a' }), /refused \(invalid_client_metadata\)/);
  t.same(
    own.wishes.map(({ scope }) => scope),
    ['a', undefined],
  );
  own.wishes.length = 0;
  t.match(await own.faultOf(), /refused/);
  t.equal(own.wishes.length, 1, 'who asked for none is refused at once');
});
