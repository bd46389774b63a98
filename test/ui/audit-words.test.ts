// Changes in words, and the reports of the dataplane's workers.
import t from 'tap';
import type { AuditEntry, Explanation } from '../../ui/api/view-types.js';
import { doneWords, memberChanges, outcomeWords, pageOfChanged } from '../../ui/model/audit-words.js';
import { backendRowsOf, keptOf, lacksUser, odditiesOf, silenceWords, verdictsOf } from '../../ui/model/explanation.js';
import { splitWords } from '../../ui/model/time-split.js';

const entry: AuditEntry = {
  at: '',
  operation: 'replaceServer',
  kind: 'servers',
  subject: 's',
  id: '0a',
  name: 'files',
};

t.test('each member is shown before and after the change', async (t) => {
  const before = { description: '', tags: [], enabled: true, url: { origin: 'http://a', hash: 'h1' }, name: 'old' };
  const after = { description: 'new', tags: ['x', 'y'], url: { origin: 'http://b', hash: 'h2' }, subjects: ['bob'] };
  t.strictSame(memberChanges({ ...entry, before, after }), [
    { member: 'description', before: 'nothing', after: 'new' },
    { member: 'tags', before: undefined, after: 'x, y' },
    { member: 'enabled', before: 'yes', after: undefined },
    { member: 'url', before: 'http://a (h1)', after: 'http://b (h2)' },
    { member: 'subjects', before: undefined, after: 'bob' },
  ]);
  t.strictSame(
    memberChanges({ ...entry, before: { tags: ['a', 'b', 'c'] }, after: { tags: ['a', 'c', 'd'] } }),
    [{ member: 'tags', before: 'b', after: 'd' }],
    'what two lists have in common is no change',
  );
  const servers = [
    { id: '1', name: 'a', tools: ['x', 'y'] },
    { id: '2', name: 'b', tools: [], prompts: ['p'], curation: { prefix: '' } },
  ];
  t.strictSame(
    memberChanges({ ...entry, after: { servers } }).map(({ after }) => after),
    ['a: x, y; b: no tools, prompts p, curation {"prefix":""}'],
    'what a composition takes from each server is said in words',
  );
  t.strictSame(memberChanges(entry), []);
});

t.test('an entry says what was done, where to see it, and its outcome', async (t) => {
  t.equal(doneWords(entry), 'changed the server');
  t.equal(doneWords({ ...entry, operation: 'unheardOf' }), 'unheardOf');
  t.equal(pageOfChanged(entry), '/servers/0a');
  t.equal(pageOfChanged({ ...entry, kind: 'compositions' }), '/compose/0a');
  t.equal(pageOfChanged({ ...entry, operation: 'removeServer' }), '');
  t.equal(pageOfChanged({ ...entry, kind: 'connections' }), '');
  t.equal(outcomeWords(entry), '');
  t.match(
    outcomeWords({ ...entry, outcome: 'unknown', fault: 'store-failed', unpublished: 3 }),
    /unknown whether.*store-failed.*3/,
  );
});

t.test('workers that report the same appear once', async (t) => {
  const backend = {
    ...{ name: 'b', origin: 'http://b', allowedTools: 'all' as const, circuit: 'open', sessions: [] },
    lastFault: { reason: 'refused', at: 'then' },
  };
  const explanation: Explanation = {
    ...{ subject: 's', virtualHost: 'v', tool: 't', silent: [3] },
    workers: [
      { slot: 0, verdict: 'allowed', oddities: 'odd', backends: [backend] },
      { slot: 1, verdict: 'allowed', backends: [{ ...backend, reason: 'timed out' }] },
    ],
  };
  t.strictSame(verdictsOf(explanation), [{ words: 'allowed', slots: [] }]);
  t.strictSame(odditiesOf(explanation), [{ words: 'odd', slots: [0] }]);
  t.strictSame(keptOf(explanation), []);
  t.notOk(lacksUser(explanation));
  const verdict = 'the user config has no such virtual host: every request gets 404';
  t.ok(lacksUser({ ...explanation, workers: [{ slot: 0, verdict, backends: [] }] }));
  const differing = { ...explanation, workers: [...explanation.workers, { slot: 2, error: 'too long', backends: [] }] };
  t.strictSame(verdictsOf(differing), [
    { words: 'allowed', slots: [0, 1] },
    { words: 'too long', slots: [2] },
  ]);
  t.strictSame(
    backendRowsOf(explanation).map(({ slot, why }) => [slot, why]),
    [
      [0, 'refused (then)'],
      [1, 'timed out'],
    ],
  );
  const odd = explanation.workers.map((worker) => ({
    ...worker,
    backends: worker.backends.map((backend) => ({ ...backend, forgiven: { 'id-as-text': 12 } })),
  }));
  t.equal(
    backendRowsOf({ ...explanation, workers: odd })[0]?.why,
    'refused (then); forgiven: id as text (12 times)',
    'what was overlooked',
  );
  t.match(silenceWords([3]), /^Process 3 did not respond/);
  t.match(silenceWords(['2', '1/0']), /^Dataplane 2, process 1\/0 did not respond/, 'of several dataplanes');
  t.equal(silenceWords([]), '');
});

t.test('a request’s time is split between gateway and backend', async (t) => {
  t.equal(
    splitWords({ durationMs: 105.4, backendMs: 98 }),
    '105 ms in all: 98 ms waiting for the server, 7.4 ms in the gateway',
  );
  t.equal(
    splitWords({ durationMs: 3, backendMs: 3.1 }),
    '3 ms in all: 3.1 ms waiting for the server, 0 ms in the gateway',
  );
  t.equal(splitWords({ durationMs: 0.42 }), '0.4 ms in all; the server’s part was not timed');
});
