// Who may do what: every operation with every role, and every change of records that belong to somebody else, on both stores.
import t, { type Test } from 'tap';
import { TokenVerifier } from '../../../src/auth/token-verifier.js';
import { parseClaimPath, parseRoleNames } from '../../../src/config/table/token-options.js';
import { type HttpApp } from '../../../src/control-plane/http/http-app.js';
import { createOpenApiDocument } from '../../../src/control-plane/http/open-api.js';
import type { Operation } from '../../../src/control-plane/http/operation.js';
import { operations } from '../../../src/control-plane/http/operations.js';
import { ControlPlaneFault } from '../../../src/control-plane/common/control-plane-fault.js';
import { ProtectedResource } from '../../../src/edge/edge.js';
import { tokenOptions } from '../../auth/token-options.js';
import { mint } from '../../support/tokens.js';
import { setStage, stores } from '../stage.js';
import { openApp, SECRET, type Kept } from './app.js';

const ROLE_CLAIMS = {
  role: parseClaimPath('realm_access.roles'),
  teams: parseClaimPath('https://example.com/teams'),
  roleNames: parseRoleNames('admin=platform'),
};

async function createApp(t: Test, kept: Kept, roleClaims: typeof ROLE_CLAIMS | undefined): Promise<HttpApp> {
  return openApp(t, {
    ...kept,
    mcp: { handle: (_asked, _request, response) => void response.writeHead(299).end() },
    protectedResource: new ProtectedResource({
      publicUrl: 'https://cp.example',
      authorizationServers: ['https://idp.example'],
    }),
    tokenVerifier: new TokenVerifier({ ...tokenOptions({ secret: SECRET }), roleClaims }),
  });
}

/** An app in which every admitted request ends in the same fault. */
function createGate(t: Test, roleClaims: typeof ROLE_CLAIMS | undefined): Promise<HttpApp> {
  const fail = async (): Promise<never> => {
    throw new ControlPlaneFault('refresh-running', 'let in');
  };
  const registry = { list: fail, find: fail, preview: fail, register: fail, replace: fail, remove: fail };
  const compositions = { list: fail, find: fail, create: fail, replace: fail, remove: fail };
  return createApp(
    t,
    {
      records: { kind: 'embedded', ping: async () => true },
      registry: {
        ...registry,
        refresh: fail,
        ...{ listJson: fail, health: fail },
        count: async () => ({ total: 0, active: 0, inactive: 0 }),
      },
      compositions: { ...compositions, countUnpublished: async () => 0 },
    },
    roleClaims,
  );
}

type Claims = Readonly<Record<string, unknown>>;

const ROLES = ['none', 'reader', 'editor', 'admin'] as const;
const VALUES = { none: 'offline_access', reader: 'reader', editor: 'editor', admin: 'platform' };

function claimsOf(role: (typeof ROLES)[number], ...teams: string[]): Claims {
  return { realm_access: { roles: ['uma_authorization', VALUES[role]] }, 'https://example.com/teams': teams };
}

async function bearer(sub: string, claims: Claims): Promise<string> {
  return `Bearer ${await mint({ sub, algorithm: 'HS256', key: SECRET, claims })}`;
}

/** The lowest role that suffices; `open`: no token is needed, `none`: any token will do. */
const NEEDED: Readonly<Record<string, 'open' | (typeof ROLES)[number]>> = {
  ...{
    getHealth: 'open',
    getLiveness: 'open',
    getVersion: 'open',
    getOpenApi: 'open',
    getDocs: 'open',
    getConsole: 'open',
  },
  ...{ getSignIn: 'open', beginSignIn: 'open', endSignIn: 'open' },
  ...{ getResourceMetadata: 'open', getAggregateMetadata: 'open', getCompositionMetadata: 'open', getCaller: 'none' },
  ...{ listServers: 'reader', readServer: 'reader', listTools: 'reader', previewServer: 'editor' },
  ...{ listPrompts: 'reader', listResources: 'reader', listTemplates: 'reader', listHealth: 'reader' },
  ...{ registerServer: 'editor', replaceServer: 'editor', removeServer: 'editor', refreshServer: 'editor' },
  ...{ patchServer: 'editor', patchComposition: 'editor' },
  ...{ listCompositions: 'reader', readComposition: 'reader', createComposition: 'editor' },
  ...{ replaceComposition: 'editor', removeComposition: 'editor' },
  ...{ explain: 'reader', listSessions: 'reader', readRequest: 'none', listChanges: 'editor', watchLoad: 'reader' },
  // Consents belong to each user; their pages are opened without a token.
  ...{ linkConnection: 'none', listConnections: 'none', disconnect: 'none' },
  ...{ showConsent: 'open', beginConsent: 'open', endConsent: 'open' },
  // Whoever may see the servers may use them; a composition itself determines who may use it.
  ...{ getAggregate: 'reader', postAggregate: 'reader', deleteAggregate: 'reader' },
  ...{ getCompositionStream: 'none', postComposition: 'none', deleteComposition: 'none' },
};

const BODIES: Readonly<Record<string, object>> = {
  ServerInput: { name: 'x', url: 'http://127.0.0.1:1/mcp' },
  ConnectionLinkInput: {},
  SignInCallback: { query: '' },
  CompositionInput: { name: 'x', servers: [{ name: 'x', tools: ['y'] }] },
  ServerPatch: {},
  CompositionPatch: {},
};

const gate = await createGate(t, ROLE_CLAIMS);
const { paths } = createOpenApiDocument();

for (const [id, needed] of Object.entries(NEEDED)) {
  t.test(`${id} is for ${needed === 'none' ? 'any token' : needed}`, async (t) => {
    const operation = Object.values<Operation>(operations).find((each) => each.id === id)!;
    const { method, path, body, bodyType } = operation;
    const payload = BODIES[body ?? ''];
    for (const role of ROLES) {
      const typed = payload === undefined ? {} : { 'content-type': bodyType ?? 'application/json' };
      const headers = { host: 'localhost', authorization: await bearer('alice', claimsOf(role)), ...typed };
      const required = (operation.requiredQuery ?? []).map((name) => `${name}=x`).join('&');
      const url = `${path.replaceAll(/\{\w+\}/g, 'x')}?${required}`;
      const answer = await gate.inject({ method, url, headers, ...(payload !== undefined && { payload }) });
      const isEnough = needed === 'open' || ROLES.indexOf(role) >= ROLES.indexOf(needed);
      t.equal(answer.statusCode === 403, !isEnough, `${role}: ${answer.statusCode}`);
      if (isEnough) continue;
      const has = role === 'none' ? 'none' : `the role ${role}`;
      t.strictSame(answer.json(), { detail: `This requires the role ${needed}, but the token has ${has}` });
      const challenge = String(answer.headers['www-authenticate']);
      t.match(
        challenge,
        `error="insufficient_scope", error_description="This requires the role ${needed}", resource_metadata="`,
      );
    }
    const { security } = paths[path]![method.toLowerCase()] as { security: unknown };
    t.strictSame(security, needed === 'open' ? [] : [{ token: needed === 'none' ? [] : [needed] }], 'and is told so');
  });
}

t.test('every operation is in the table above, and declares what it requires', async (t) => {
  const all = Object.values<Operation>(operations);
  t.strictSame(all.map(({ id }) => id).sort(), Object.keys(NEEDED).sort());
  for (const { id, isOpen, role } of all) t.equal(isOpen === true, role === undefined, id);
});

t.test('without a claim for roles every token is an admin’s', async (t) => {
  const app = await createGate(t, undefined);
  const authorization = await bearer('alice', {});
  const answer = await app.inject({ method: 'GET', url: '/whoami', headers: { host: 'localhost', authorization } });
  t.strictSame(answer.json(), { subject: 'alice', role: 'admin', teams: [] });
});

interface Sent {
  readonly body?: object;
  readonly ifMatch?: string;
}

for (const [kind, optionsOf] of Object.entries(stores)) {
  t.test(`${kind}: what is somebody's is changed by him, his team and admins`, async (t) => {
    const { registry, compositions, records } = await setStage(t, await optionsOf(t));
    const app = await createApp(t, { registry, compositions, records }, ROLE_CLAIMS);
    const who = (sub: string, claims: Claims) => {
      return async (method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE', url: string, { body, ifMatch }: Sent = {}) => {
        const contentType = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
        const typed = body === undefined ? {} : { 'content-type': contentType };
        const condition = ifMatch === undefined ? {} : { 'if-match': ifMatch };
        const headers = { host: 'localhost', authorization: await bearer(sub, claims), ...typed, ...condition };
        const answer = await app.inject({ method, url, headers, ...(body !== undefined && { payload: body }) });
        const json = answer.payload === '' ? {} : answer.json<Record<string, unknown>>();
        return { status: answer.statusCode, json };
      };
    };
    const alice = who('alice', claimsOf('editor', 'pay'));
    const mate = who('mate', claimsOf('editor', 'ops', 'pay'));
    const reader = who('viewer', claimsOf('reader', 'pay'));
    const stranger = who('stranger', claimsOf('editor', 'ops'));
    const admin = who('root', claimsOf('admin'));
    t.strictSame((await mate('GET', '/whoami')).json, { subject: 'mate', role: 'editor', teams: ['ops', 'pay'] });

    // A record from before there were roles: every editor may change it.
    await registry.register({ name: 'old', url: 'http://127.0.0.1:1/mcp' });
    const old = { name: 'old', url: 'http://127.0.0.1:1/mcp', description: 'new' };
    t.equal((await reader('PUT', '/servers/old', { body: old })).status, 403);
    const changed = await stranger('PUT', '/servers/old', { body: old });
    t.equal(changed.status, 200);
    t.notOk('owner' in changed.json, 'and it does not become his');

    for (const [noun, place, body] of [
      ['server', '/servers', { name: 'mine', url: 'http://127.0.0.1:1/mcp' }],
      ['composition', '/compositions', { name: 'mine', servers: [{ name: 'old', tools: ['x'] }], subjects: ['u'] }],
    ] as const) {
      const path = `${place}/mine`;
      const made = await alice('POST', place, { body });
      t.match(
        [made.status, made.json],
        [201, { owner: 'alice', team: 'pay' }],
        `${noun}: of the only team of its maker`,
      );
      t.match(await reader('GET', path), { status: 200, json: { owner: 'alice', team: 'pay' } });
      const detail = `The ${noun} mine belongs to the team pay: changing it requires the role admin`;
      const tries = [
        stranger('PUT', path, { body }),
        stranger('PATCH', path, { body: { description: 'x' } }),
        stranger('DELETE', path),
        ...(noun === 'server' ? [stranger('POST', `${path}/refresh`)] : []),
      ];
      for (const refused of await Promise.all(tries)) t.strictSame(refused, { status: 403, json: { detail } });
      if (noun === 'server') {
        const probes = (one: typeof alice): ReturnType<typeof alice> =>
          one('POST', `${path}/connect`, { body: { probes: true } });
        t.match(await probes(reader), { status: 403, json: { detail: /^This requires the role editor/ } });
        t.strictSame(await probes(stranger), { status: 403, json: { detail } });
        t.match(await probes(mate), { status: 422 }, 'it is let in, and has nothing to connect');
      }
      t.match(await mate('PUT', path, { body: { ...body, description: 'by a mate' } }), {
        status: 200,
        json: { owner: 'alice', team: 'pay', description: 'by a mate' },
      });
      for (const ifMatch of ['*', '"of an older state"']) {
        t.match(
          await mate('PUT', path, { body: { ...body, team: 'others' }, ifMatch }),
          { status: 403, json: { detail: /^team must be one of yours/ } },
          'whatever state it is meant for',
        );
      }
      t.match(await stranger('POST', place, { body: { ...body, name: 'theirs', team: 'pay' } }), { status: 403 });
      t.match(await mate('PUT', path, { body: { ...body, team: 7 } }), { status: 422 });
      t.match(await mate('PUT', path, { body: { ...body, team: 'x'.repeat(129) } }), { status: 422 });
      t.match(await mate('PUT', path, { body: { ...body, team: 'ops' } }), { status: 200, json: { team: 'ops' } });
      t.equal((await stranger('PUT', path, { body })).status, 200, 'a member of its new team');
      const alone = await alice('PUT', path, { body: { ...body, team: null } });
      t.match(alone, { status: 200, json: { owner: 'alice', team: undefined } }, 'its maker still, who takes it back');
      t.match(await mate('PUT', path, { body }), { status: 403, json: { detail: /belongs to its maker, alice/ } });
      t.match(await mate('PUT', path, { body: { ...body, owner: 'mate' } }), { status: 403 }, 'nobody names an owner');
      const given = await admin('PUT', path, { body: { ...body, owner: 'root', team: 'ops' } });
      t.match(given, { status: 200, json: { owner: 'alice', team: 'ops' } });
      t.equal((await stranger('DELETE', path)).status, 204);
      const two = await mate('POST', place, { body });
      t.match(two, { status: 201, json: { owner: 'mate', team: undefined } }, 'of two teams none is meant');
      t.equal((await admin('DELETE', path)).status, 204);
    }
  });
}
