// A composition while it is put together: picked, looked at as clients see it, and compared with what is published.
import t from 'tap';
import type { Server, Tool } from '../../ui/api/types.js';
import {
  BLANK_COMPOSITION,
  compositionDraftOf,
  compositionRequest,
  differencesOf,
  isPicked,
  seenTools,
  tokensOf,
  withTools,
} from '../../ui/model/composition-draft.js';

const published = {
  ...{ id: '0b', name: 'desk', description: 'old', createdAt: '', updatedAt: '', missingTools: [] },
  servers: [{ name: 'files', tools: ['read'], prompts: ['p'], curation: { tools: {} } }],
  subjects: ['alice'],
};

function serverOf(name: string, prefix?: string): Server {
  return { name, ...(prefix !== undefined && { curation: { prefix } }) } as unknown as Server;
}

t.test('picking keeps what else is said of a server, and leaves out those of which nothing is left', async (t) => {
  const draft = compositionDraftOf(published);
  const more = withTools(draft, 'files', ['read', 'list']);
  t.ok(isPicked(more, 'files', 'list'));
  t.notOk(isPicked(draft, 'files', 'list'), 'the draft before is as it was');
  t.same(more.servers, [{ name: 'files', tools: ['read', 'list'], prompts: ['p'], curation: { tools: {} } }]);
  t.equal(withTools(draft, 'files', []).servers.length, 1, 'its prompt is left');
  const blank = withTools(BLANK_COMPOSITION, 'files', ['read']);
  t.same(withTools(blank, 'files', []).servers, []);
  t.same(withTools(blank, 'sums', []), blank);
});

t.test('what is sent', async (t) => {
  const draft = { ...BLANK_COMPOSITION, name: ' desk ', subjects: ' alice \n\nbob\nalice' };
  t.same(compositionRequest(draft), { name: 'desk', description: '', servers: [], subjects: ['alice', 'bob'] });
  t.notOk('subjects' in compositionRequest({ ...draft, subjects: '\n' }), 'the caller alone');
});

t.test('what clients will see, and what is wrong with it', async (t) => {
  const long = 'x'.repeat(70);
  const servers = [
    { name: 'files', tools: ['read', 'gone', long, 'a b'] },
    { name: 'My sums', tools: ['add'] },
    { name: 'bare', tools: ['sums-add'] },
  ];
  const tools = [{ name: 'read', description: 'd'.repeat(400) }, { name: long }, { name: 'a b' }] satisfies Tool[];
  const known = [serverOf('files'), serverOf('My sums', 'sums'), serverOf('bare', '')];
  const seen = seenTools({ ...BLANK_COMPOSITION, servers }, known, new Map([['files', tools]]));
  t.same(
    seen.map(({ name }) => name),
    ['files-read', 'files-gone', `files-${long}`, 'files-a b', 'sums-add', 'sums-add'],
  );
  t.match(
    seen.map(({ fault }) => fault),
    ['', 'is not there now', /76 characters/, /refuse/, '', 'is there twice'],
  );
  t.ok(tokensOf(seen) > 100 && tokensOf(seen) < 400, String(tokensOf(seen)));
});

t.test('the difference to what is published', async (t) => {
  const before = compositionDraftOf(published);
  t.same(differencesOf(before, before), []);
  const after = { ...withTools(before, 'files', ['list']), description: 'new', subjects: 'bob' };
  t.same(differencesOf(before, after), [
    { sign: '~', words: 'the description' },
    { sign: '+', words: 'tool files: list' },
    { sign: '-', words: 'tool files: read' },
    { sign: '+', words: 'subject bob' },
    { sign: '-', words: 'subject alice' },
  ]);
});
