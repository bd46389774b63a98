import t from 'tap';
import {
  isAdmin,
  mayChange,
  ownershipAfter,
  ownershipOfNew,
  refuseForeignTeam,
  refuseUnowned,
  teamFault,
  type Principal,
} from '../../../src/control-plane/common/principal.js';
import { limits } from '../../../src/shared/limits.js';

const editor = (...teams: string[]): Principal => ({ subject: 'ann', role: 'editor', teams });
const admin: Principal = { subject: 'root', role: 'admin', teams: [] };
const reader: Principal = { subject: 'ann', role: 'reader', teams: ['ops'] };
const nobody: Principal = { subject: 'ann', role: undefined, teams: ['ops'] };

t.test('an entity is changed by its maker, its team and admins; without owners by every editor', async (t) => {
  const rows: readonly (readonly [Principal | undefined, object, boolean])[] = [
    [undefined, { owner: 'bob' }, true],
    [admin, { owner: 'bob', team: 'ops' }, true],
    [reader, { owner: 'ann', team: 'ops' }, false],
    [nobody, {}, false],
    [editor(), {}, true],
    [editor(), { owner: 'ann' }, true],
    [editor(), { owner: 'bob' }, false],
    [editor('ops'), { owner: 'bob', team: 'ops' }, true],
    [editor('dev'), { owner: 'bob', team: 'ops' }, false],
    [editor('dev'), { team: 'ops' }, false],
    [editor('ops'), { owner: 'bob' }, false],
  ];
  for (const [caller, entity, may] of rows) t.equal(mayChange(caller, entity), may, JSON.stringify([caller, entity]));
  t.same([isAdmin(undefined), isAdmin(admin), isAdmin(editor())], [true, true, false]);
});

t.test('who may not change an entity is told whose it is', async (t) => {
  const wordsFor = (entity: object): unknown => {
    try {
      return refuseUnowned('server', { name: 'files', ...entity }, editor());
    } catch (error) {
      return error;
    }
  };
  const advice = 'changing it requires the role admin';
  const whose = (words: string): object => ({
    code: 'not-owned',
    message: `The server files belongs to ${words}: ${advice}`,
  });
  t.match(wordsFor({ owner: 'bob' }), whose('its maker, bob'));
  t.match(wordsFor({ owner: 'bob', team: 'ops' }), whose('the team ops'));
  t.equal(wordsFor({ owner: 'ann' }), undefined);
});

t.test('what is made belongs to its maker, and to the team that is named or the only one', async (t) => {
  t.same(ownershipOfNew(undefined, undefined), {});
  t.same(ownershipOfNew(undefined, 'ops'), { team: 'ops' });
  t.same(ownershipOfNew(editor(), undefined), { owner: 'ann' });
  t.same(ownershipOfNew(editor('ops'), undefined), { owner: 'ann', team: 'ops' });
  t.same(ownershipOfNew(editor('ops'), null), { owner: 'ann' });
  t.same(ownershipOfNew(editor('ops', 'dev'), undefined), { owner: 'ann' });
  t.same(ownershipOfNew(editor('ops', 'dev'), 'dev'), { owner: 'ann', team: 'dev' });
});

t.test('a change keeps the owner, and the team unless another or none is named', async (t) => {
  t.same(ownershipAfter({}, undefined), {});
  t.same(ownershipAfter({ owner: 'bob', team: 'ops' }, undefined), { owner: 'bob', team: 'ops' });
  t.same(ownershipAfter({ owner: 'bob', team: 'ops' }, null), { owner: 'bob' });
  t.same(ownershipAfter({ owner: 'bob' }, 'dev'), { owner: 'bob', team: 'dev' });
});

t.test('an entity is given to a team of the caller’s, or stays with the team that it has', async (t) => {
  const message = /^team must be one of yours: .*requires the role admin/;
  for (const [caller, named, before, isFine] of [
    [editor('ops'), 'ops', undefined, true],
    [editor('ops'), 'dev', undefined, false],
    [editor('ops'), 'dev', 'dev', true],
    [editor('ops'), 'dev', 'ops', false],
    [editor(), null, 'dev', true],
    [editor(), undefined, 'dev', true],
    [admin, 'dev', undefined, true],
    [undefined, 'dev', undefined, true],
  ] as const) {
    const give = (): void => refuseForeignTeam(caller, named, before);
    if (isFine) t.doesNotThrow(give);
    else t.throws(give, { code: 'not-owned', message });
  }
});

t.test('a team’s name can be read, and has a bounded length', async (t) => {
  const long = 'x'.repeat(limits.claimValueCharsMax);
  for (const good of [undefined, null, 'a', 'é 🥊', long]) t.equal(teamFault(good), undefined);
  for (const bad of ['', `${long}x`, 'a\n', '\ud800'])
    t.equal(teamFault(bad), `must be 1 to ${limits.claimValueCharsMax} characters of Unicode text, or null`);
});
