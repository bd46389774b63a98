// What a token's claims say about its bearer: rows of claims, with values of every JSON type.
import t from 'tap';
import { roleAndTeamsOf, CLAIM_VALUES_MAX, TokenVerifier } from '../../src/auth/token-verifier.js';
import { DEFAULT_ROLE_NAMES, parseClaimPath, parseRoleNames } from '../../src/config/table/token-options.js';
import { limits } from '../../src/shared/limits.js';
import type { Role } from '../../src/config/table/token-options.js';
import { mint } from '../support/tokens.js';
import { tokenOptions } from './token-options.js';

function roleOf(claim: string, payload: object, names = ''): Role | undefined {
  const roleNames = names === '' ? DEFAULT_ROLE_NAMES : parseRoleNames(names);
  return roleAndTeamsOf(payload, { role: parseClaimPath(claim), teams: undefined, roleNames }).role;
}

const many = (count: number): string[] => Array.from({ length: count }, (_, index) => `t${index}`);

t.test('a role is a string or one of a list, wherever the claim is', async (t) => {
  const rows: [string, object, Role | undefined][] = [
    ['roles', { roles: 'editor' }, 'editor'],
    ['roles', { roles: ['offline_access', 'reader'] }, 'reader'],
    ['roles', { roles: ['reader', 'admin', 'editor'] }, 'admin'],
    ['roles', { roles: [] }, undefined],
    ['roles', {}, undefined],
    ['realm_access.roles', { realm_access: { roles: ['editor'] } }, 'editor'],
    ['realm_access.roles', { 'realm_access.roles': ['editor'] }, undefined],
    ['realm_access.roles', { realm_access: null }, undefined],
    ['realm_access.roles', { realm_access: 7 }, undefined],
    ['realm_access.roles', { realm_access: [{ roles: ['editor'] }] }, undefined],
    ['roles.0', { roles: ['editor'] }, undefined],
    ['realm_access.constructor.name', { realm_access: {} }, undefined],
    ['resource_access.my\\.client.roles', { resource_access: { 'my.client': { roles: ['admin'] } } }, 'admin'],
    ['https://example.com/roles', { 'https://example.com/roles': ['admin'] }, 'admin'],
    ['cognito:groups', { 'cognito:groups': ['reader'] }, 'reader'],
    ['scope', { scope: 'openid editor' }, 'editor'],
    ['scope', { scope: ' openid  editor ' }, 'editor'],
    ['roles', { roles: 'openid editor' }, undefined],
  ];
  for (const [claim, payload, role] of rows) t.equal(roleOf(claim, payload), role, JSON.stringify([claim, payload]));
});

t.test('a value that is no string gives no role', async (t) => {
  const forged: unknown[] = [
    ...[1, 2, 0, true, null, {}, { admin: true }, { 0: 'admin', length: 1 }, [['admin']], [{ name: 'admin' }]],
    ...[['admin', 1], ['admin', null], ['admin', ['reader']], ['admin', ''], '', ' admin', 'Admin', 'admin,reader'],
    ...[
      ['admin', ...many(CLAIM_VALUES_MAX)],
      ['admin', 'x'.repeat(limits.claimValueCharsMax + 1)],
    ],
  ];
  for (const roles of forged) t.equal(roleOf('roles', { roles }), undefined, JSON.stringify(roles)?.slice(0, 80));
  t.equal(roleOf('roles', { roles: ['admin', ...many(CLAIM_VALUES_MAX - 1)] }), 'admin', 'as many as there may be');
  // Inherited members and array elements are no claims.
  for (const claim of ['constructor.name', '__proto__', 'toString', 'roles.0', 'roles.length', 'a.length']) {
    t.equal(
      roleOf(claim, { roles: ['admin'], a: 'admin' }, 'admin=Object,admin=admin,admin=1,admin=5'),
      undefined,
      claim,
    );
  }
});

t.test('configured values stand for roles in place of their names', async (t) => {
  const names = 'admin=platform, editor = mcp editors,editor=b=c';
  t.equal(roleOf('groups', { groups: ['platform'] }, names), 'admin');
  t.equal(roleOf('groups', { groups: ['mcp editors'] }, names), 'editor');
  t.equal(roleOf('groups', { groups: 'b=c' }, names), 'editor');
  t.equal(roleOf('groups', { groups: ['admin', 'editor'] }, names), undefined, 'their names are nobody’s any more');
  t.equal(roleOf('groups', { groups: ['reader'] }, names), 'reader', 'of a role that has no other value, its name is');
  for (const text of ['', 'admin', 'owner=x', 'admin=', '=x', 'admin=x,', 'admin=x,editor=x']) {
    t.throws(() => parseRoleNames(text), { name: 'InvalidValue' }, text);
  }
  for (const text of ['', '.', 'a..b', '.a', 'x'.repeat(257)]) t.throws(() => parseClaimPath(text), text);
});

t.test('a user’s teams come from a verified token, all of them or none', async (t) => {
  const secret = Buffer.alloc(32, 7);
  const roleClaims = { role: ['roles'], teams: ['org', 'teams'], roleNames: DEFAULT_ROLE_NAMES };
  const verifier = new TokenVerifier({ ...tokenOptions({ secret }), roleClaims });
  const said = async (claims: Readonly<Record<string, unknown>>): Promise<unknown> =>
    verifier.verify(`Bearer ${await mint({ sub: 'alice', algorithm: 'HS256', key: secret, claims })}`);
  t.strictSame(await said({ roles: 'editor', org: { teams: ['pay', 'pay', 'ops'] } }), {
    ...{ kind: 'subject', subject: 'alice' },
    roleAndTeams: { role: 'editor', teams: ['pay', 'ops'] },
  });
  t.match(await said({ org: { teams: 'pay' } }), { roleAndTeams: { role: undefined, teams: ['pay'] } });
  for (const teams of [7, [['pay']], ['pay', 7], many(CLAIM_VALUES_MAX + 1), { pay: true }]) {
    t.match(await said({ org: { teams } }), { roleAndTeams: { teams: { length: 0 } } });
  }
  const other = mint({ sub: 'alice', algorithm: 'HS256', key: Buffer.alloc(32, 8), claims: { roles: 'admin' } });
  t.match(await verifier.verify(`Bearer ${await other}`), { kind: 'refused', reason: 'invalid' });
});
