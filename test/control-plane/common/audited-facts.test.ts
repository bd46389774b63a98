// What a line of the audit says of a change, member by member.
import t from 'tap';
import { AuditTrail } from '../../../src/control-plane/common/audit.js';
import { ChangeOutcome } from '../../../src/control-plane/common/change.js';
import { limits } from '../../../src/shared/limits.js';
import { subjectHash } from '../../../src/shared/logger.js';
import { logInto } from '../../support/log-lines.js';

type Told = Readonly<Record<string, unknown>>;

interface Settings {
  readonly isCertain?: boolean;
  readonly form?: 'hash' | 'plain';
  readonly fault?: string;
  readonly unpublished?: number;
  readonly requestId?: string;
}

/** @returns the line of the log, and what the audit list gets. */
function told(
  before: object | undefined,
  after: object | undefined,
  { isCertain = true, form = 'hash', fault = '', unpublished = 0, requestId = 'r' }: Settings = {},
): { readonly line: Told; readonly kept: Told } {
  const lines: string[] = [];
  const kept: Told[] = [];
  const outcome = new ChangeOutcome();
  outcome.change = { before, after, isCertain };
  const trail = new AuditTrail(logInto(lines), form, { append: (entry) => void kept.push(entry as unknown as Told) });
  trail.write({ operation: 'op', kind: 'servers', requestId, subject: 'ann', fault, unpublished }, outcome);
  return { line: JSON.parse(lines[0] ?? '{}') as Told, kept: kept[0] ?? {} };
}

t.test('a new entity is told as it is, a removed one as it was, a changed one by what differs', async (t) => {
  const server = { id: 'i', name: 'files', description: 'd', enabled: true, updatedAt: 'now' };
  const made = told(undefined, server).line;
  t.match(made, { audit: 'op', requestId: 'r', subject: subjectHash('ann'), id: 'i', name: 'files', msg: 'changed' });
  t.strictSame(made['after'], { name: 'files', description: 'd', enabled: true });
  t.notOk('before' in made || 'outcome' in made || 'unpublished' in made || 'fault' in made);
  t.strictSame(told(server, undefined).line['before'], { name: 'files', description: 'd', enabled: true });
  const changed = told(server, { ...server, description: 'e', tags: ['x'], updatedAt: 'later', team: undefined }).line;
  t.strictSame([changed['before'], changed['after']], [{ description: 'd' }, { description: 'e', tags: ['x'] }]);
});

t.test('addresses, credentials and people are told as far as they are no secrets', async (t) => {
  const HASH = /^[0-9a-f]{12}$/;
  const auth = { type: 'headers', headers: { 'x-key': { secret: 's' } } };
  const entity = { url: 'https://b.example/secret?key=1', auth, owner: 'bob', maker: 'carol', subjects: ['dan'] };
  const { line, kept } = told(undefined, entity);
  t.match(line['after'], {
    ...{ url: { origin: 'https://b.example', hash: HASH }, auth: { hash: HASH } },
    ...{ owner: subjectHash('bob'), maker: subjectHash('carol'), subjects: [subjectHash('dan')] },
  });
  t.notMatch(JSON.stringify(line), /secret|key=1|bob|carol|dan/);
  t.match(kept, {
    operation: 'op',
    kind: 'servers',
    at: /^\d{4}-/,
    subject: 'ann',
    owner: 'bob',
    after: { owner: 'bob', subjects: ['dan'] },
  });
  t.match(told(undefined, { url: 'no URL' }).line['after'], { url: { origin: '', hash: HASH } });
  t.match(told(undefined, entity, { form: 'plain' }).line, { subject: 'ann', after: { owner: 'bob' } });
  const [one, other] = [
    told(undefined, { auth }).line['after'],
    told(undefined, { auth: { type: 'x' } }).line['after'],
  ];
  t.notSame(one, other, 'a change of credentials shows');
});

t.test('what is long is cut, and told by its length and hash', async (t) => {
  const long = 'x'.repeat(limits.auditValueCharsMax);
  const { description } = told(undefined, { description: long }).line['after'] as Told & { description: Told };
  t.match(description, { chars: long.length + 2, hash: /^[0-9a-f]{12}$/, beginning: `"${long.slice(1)}` });
  const fitting = long.slice(2);
  t.equal((told(undefined, { description: fitting }).line['after'] as Told)['description'], fitting);
  t.equal(told(undefined, { name: `${long}x` }).line['name'], long);
  const subjects = Array.from({ length: 1_000 }, (_, n) => `s${n}`);
  const shown = (told(undefined, { subjects }, { form: 'plain' }).line['after'] as Told)['subjects'] as Told;
  t.match(shown, { count: 1_000, hash: /^[0-9a-f]{12}$/, first: ['s0', 's1'] });
});

t.test('fixed arguments are told by name and hash, at any depth', async (t) => {
  const curation = { tools: { a: { fixed_arguments: { key: 'sesame' } } }, fixed_arguments: 7 };
  const { line } = told(undefined, { curation });
  t.match(line['after'], {
    curation: { tools: { a: { fixed_arguments: { key: { hash: /^[0-9a-f]{12}$/ } } } }, fixed_arguments: 7 },
  });
  t.notMatch(JSON.stringify(line), 'sesame');
});

t.test('what is not certain, failed, or not everywhere yet is said', async (t) => {
  const { line } = told(
    { name: 'a' },
    { name: 'b' },
    { isCertain: false, fault: 'store-failed', unpublished: 3, requestId: '' },
  );
  t.match(line, { outcome: 'unknown', fault: 'store-failed', unpublished: 3, msg: 'perhaps changed' });
  t.notOk('requestId' in line);
  const lines: string[] = [];
  new AuditTrail(logInto(lines), 'hash').write(
    { operation: 'op', kind: 'servers', requestId: '', subject: '', fault: '', unpublished: 0 },
    new ChangeOutcome(),
  );
  t.same(lines, [], 'no change has no line');
});
