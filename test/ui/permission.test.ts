// What the console offers to a user, row by row; the control plane itself is tested in test/control-plane/http/roles.test.ts.
import t from 'tap';
import type { Caller } from '../../ui/api/types.js';
import { mayChange, mayMake, ownerWords, type Owned } from '../../ui/model/permission.js';

const alice = (role: Caller['role'], ...teams: string[]): Caller => ({ subject: 'alice', role, teams });

t.test('editors and admins may create records', async (t) => {
  const told = [undefined, alice(null), alice('reader'), alice('editor'), alice('admin')].map(mayMake);
  t.strictSame(told, [false, false, false, true, true]);
});

t.test('owners, their team and admins may change a record', async (t) => {
  const rows: [Caller | undefined, Owned, boolean][] = [
    [undefined, {}, false],
    [alice(null, 'pay'), { owner: 'alice', team: 'pay' }, false],
    [alice('reader', 'pay'), { owner: 'alice', team: 'pay' }, false],
    [alice('editor'), {}, true],
    [alice('editor'), { owner: 'alice' }, true],
    [alice('editor'), { owner: 'bob' }, false],
    [alice('editor', 'ops', 'pay'), { owner: 'bob', team: 'pay' }, true],
    [alice('editor', 'ops'), { owner: 'bob', team: 'pay' }, false],
    [alice('editor'), { team: 'pay' }, false],
    [alice('admin'), { owner: 'bob', team: 'pay' }, true],
  ];
  for (const [caller, owned, may] of rows) t.equal(mayChange(caller, owned), may, JSON.stringify([caller, owned]));
});

t.test('the owner of a record is shown in words', async (t) => {
  t.equal(ownerWords({}), '');
  t.equal(ownerWords({ owner: 'bob' }), 'bob, who made it');
  t.equal(ownerWords({ owner: 'bob', team: 'pay' }), 'the team pay, and bob, who made it');
});
