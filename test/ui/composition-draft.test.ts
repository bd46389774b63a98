// A composition while it is edited: items picked, previewed as clients see them, and compared with what is published.
import t from 'tap';
import type { ComposedServer, Server } from '../../ui/api/types.js';
import { nameFaults } from '../../ui/model/client-rules.js';
import { clientSettings, endpointOf, settingsName } from '../../ui/model/client-settings.js';
import {
  BLANK_COMPOSITION,
  compositionDraftOf,
  compositionRequest,
  contentWords,
  curationOf,
  differencesOf,
  isPicked,
  mergedDraft,
  pickedOf,
  withCuration,
  withItem,
  withPicked,
  withUser,
} from '../../ui/model/composition-draft.js';
import { ruleOf, withCurated, withPrefix, withRule } from '../../ui/model/curation.js';
import { seenOf, tokensOf } from '../../ui/model/seen-items.js';
import { argumentsOf, isItemFound, itemsOf, listPaths, type ServerItems } from '../../ui/model/server-items.js';

const published = {
  ...{ id: '0b', name: 'desk', description: 'old', createdAt: '', updatedAt: '', missingTools: [] },
  servers: [{ name: 'files', tools: ['read'], prompts: ['p'], curation: { tools: { read: { name: 'get' } } } }],
  subjects: ['alice'],
};
const item = (key: string, alias = '') => ({ key, alias });

function serverOf(name: string, curation?: Server['curation']): Server {
  return { name, ...(curation !== undefined && { curation }) } as unknown as Server;
}

function listsOf(tools: readonly object[], prompts: readonly object[] = [], resources: readonly object[] = []) {
  const lists: ServerItems = {
    tools: itemsOf('tools', tools),
    prompts: itemsOf('prompts', prompts),
    resources: itemsOf('resources', resources),
  };
  return lists;
}

t.test('picking keeps a server’s other settings, and drops servers of which nothing is picked', async (t) => {
  const draft = compositionDraftOf(published);
  const more = withItem(draft, 'files', 'tools', item('list'), true);
  t.ok(isPicked(more, 'files', 'tools', item('list')));
  t.notOk(isPicked(draft, 'files', 'tools', item('list')), 'the draft before is as it was');
  t.same(more.servers, [{ ...published.servers[0], tools: ['read', 'list'] }]);
  const less = withItem(draft, 'files', 'tools', item('read'), false);
  t.same(less.servers, [{ name: 'files', tools: [], prompts: ['p'] }], 'what was said of it goes with it');
  const matched = withItem(withPicked(draft, 'files', 'tools', ['read', 'r*']), 'files', 'tools', item('read'), false);
  t.ok(curationOf(matched, 'files'), 'unless a pattern has it');
  const blank = withPicked(BLANK_COMPOSITION, 'files', 'resources', ['x:y']);
  t.same(blank.servers, [{ name: 'files', tools: [], resources: ['x:y'] }]);
  t.same(withPicked(blank, 'files', 'resources', []).servers, []);
  t.same(withPicked(blank, 'sums', 'tools', []), blank);
});

t.test('a resource picked by its name counts as picked, and can be removed', async (t) => {
  const draft = withPicked(BLANK_COMPOSITION, 'files', 'resources', ['readme']);
  const readme = item('file:///readme', 'readme');
  t.ok(isPicked(draft, 'files', 'resources', readme));
  t.notOk(isPicked(draft, 'files', 'resources', item('file:///x')));
  t.same(pickedOf(withItem(draft, 'files', 'resources', readme, false), 'files', 'resources'), []);
});

t.test('what is sent', async (t) => {
  const draft = { ...BLANK_COMPOSITION, name: ' desk ', subjects: ' alice \n\nbob\nalice' };
  t.same(compositionRequest(draft), {
    ...{ name: 'desk', description: '', servers: [], exposure: 'all', subjects: ['alice', 'bob'] },
  });
  t.notOk('subjects' in compositionRequest({ ...draft, subjects: '\n' }), 'the caller alone');
  t.equal(compositionRequest({ ...draft, team: ' ops ' }).team, 'ops');
  t.equal(compositionRequest({ ...draft, team: '' }).team, null, 'none');
});

t.test('the curation of one tool is edited', async (t) => {
  const fixed = withRule({ name: 'get' }, 'root', 'fixed', '/');
  t.same(fixed, { name: 'get', fixed_arguments: { root: '/' } });
  t.equal(ruleOf(fixed, 'root'), 'fixed');
  t.same(withRule(fixed, 'root', 'hidden', undefined), { name: 'get', hidden_arguments: ['root'] });
  t.same(withRule(fixed, 'root', 'open', undefined), { name: 'get' });
  t.equal(ruleOf({ fixed_arguments: {} }, 'toString'), 'open');
  const curation = withCurated(undefined, 'tools', 'read', fixed);
  t.same(curation, { tools: { read: fixed } });
  t.equal(withCurated(curation, 'tools', 'read', { name: undefined }), undefined, 'nothing is left of it');
  t.same(withPrefix(curation, ''), { tools: { read: fixed }, prefix: '' });
});

t.test('the preview shows what clients will see, and what is wrong with it', async (t) => {
  const long = 'x'.repeat(70);
  const servers: ComposedServer[] = [
    { name: 'files', tools: ['read', 'gone', long, 'a b', 'li*', 'zz*'], resources: ['readme'] },
    { name: 'My sums', tools: ['add'], prompts: ['sum'], curation: { prompts: { sum: { name: 'total' } } } },
    { name: 'bare', tools: ['sums-add'] },
    { name: 'files2', tools: ['x'], curation: { prefix: 'files' } },
  ];
  const files = listsOf(
    [
      { name: 'read', description: 'd'.repeat(400) },
      { name: long },
      { name: 'a b' },
      { name: 'list' },
      { name: 'lift' },
    ],
    [],
    [{ uri: 'file:///readme', name: 'readme' }],
  );
  const known = [
    serverOf('files', { tools: { lift: { hidden: true } } }),
    serverOf('My sums', { prefix: 'sums' }),
    serverOf('bare', { prefix: '' }),
  ];
  const { items, idle } = seenOf(servers, known, new Map([['files', files]]), 'desk');
  t.match(
    items.map(({ name, faults }) => [name, ...faults]),
    [
      ['files-read'],
      ['files-gone', 'does not exist at present'],
      [`files-${long}`, /^has 76 characters: Claude Desktop.* take 64$/],
      ['files-a b', /^has a space: Claude Desktop/],
      ['files-list'],
      ['readme'],
      ['sums-add'],
      ['sums-total'],
      ['sums-add', 'is there twice'],
      ['files-x', /^has the same prefix as the names of another/],
    ],
    'a pattern is what it matches, what is hidden is not there, and the rule that is broken is named',
  );
  t.equal(items.length, 10);
  t.same(idle, [{ server: 'files', pattern: 'zz*' }]);
  const tools = items.filter(({ kind }) => kind === 'tools');
  t.ok(tokensOf(tools) > 100 && tokensOf(tools) < 400, String(tokensOf(tools)));
});

t.test('hidden and fixed arguments take no tokens', async (t) => {
  const properties = { path: { type: 'string' }, root: { type: 'string', description: 'r'.repeat(400) } };
  const lists = new Map([['files', listsOf([{ name: 'read', inputSchema: { type: 'object', properties } }])]]);
  const open = { name: 'files', tools: ['read'] };
  const shut = { ...open, curation: { tools: { read: { fixed_arguments: { root: '/' } } } } };
  const [before, after] = [open, shut].map((server) => tokensOf(seenOf([server], [], lists, 'desk').items));
  t.ok(before! - after! >= 100, `${before} and ${after}`);
});

t.test('the naming rules of clients are checked', async (t) => {
  t.same(nameFaults('files-read_2', 'desk'), []);
  t.match(nameFaults('files-a.b', 'desk'), [/^has \.: Claude Desktop/]);
  t.match(nameFaults('x'.repeat(64), 'desk'), [
    /^has 69 characters together with the server’s name: Cursor leaves out/,
  ]);
  t.same(nameFaults('x'.repeat(55), 'desk'), []);
  t.match(nameFaults('x'.repeat(65), 'desk'), [/take 64$/]);
});

t.test('items are picked by their key and found by their text', async (t) => {
  const [readme, any] = itemsOf('resources', [
    { uri: 'file:///readme', name: 'Read Me' },
    { uriTemplate: 'file:///{name}' },
    { name: 'no key' },
    null,
  ]);
  t.match([readme, any], [{ key: 'file:///readme', alias: 'Read Me' }, { key: 'file:///{name}' }]);
  t.ok(isItemFound(readme!, ['read', 'me']));
  t.notOk(isItemFound(readme!, ['read', 'other']));
  const schema = { properties: { a: { type: 'string' }, b: { type: 'integer' } }, required: ['b'] };
  t.same(argumentsOf('tools', { inputSchema: schema }), [
    { name: 'a', isRequired: false, isText: true },
    { name: 'b', isRequired: true, isText: false },
  ]);
  t.same(argumentsOf('prompts', { arguments: [{ name: 'x', required: true }, null, 7] }), [
    { name: 'x', isRequired: true, isText: true },
  ]);
  t.same(argumentsOf('tools', { inputSchema: 7 }), []);
  t.same(
    listPaths({ id: '1', promptCount: 0, resourceCount: 2, templateCount: 0 }).map(([, path]) => path),
    ['/servers/1/tools', '/servers/1/resources'],
  );
});

t.test('the difference to what is published', async (t) => {
  const before = compositionDraftOf(published);
  t.same(differencesOf(before, before), []);
  const renamed = withCuration(before, 'files', {
    tools: { read: { name: 'look', fixed_arguments: { root: '/' } } },
    prefix: '',
  });
  const after = {
    ...withPicked(withItem(renamed, 'files', 'tools', item('list'), true), 'files', 'resources', ['x:y']),
    ...{ description: 'new', exposure: 'search' as const, subjects: 'bob', team: 'ops' },
  };
  t.same(differencesOf(before, after), [
    { sign: '~', words: 'the description' },
    { sign: '~', words: 'its tools are searched' },
    { sign: '~', words: 'team: none → ops' },
    { sign: '+', words: 'tool files: list' },
    { sign: '+', words: 'resource files: x:y' },
    { sign: '+', words: 'user bob' },
    { sign: '-', words: 'user alice' },
    { sign: '~', words: 'files: its names begin with nothing' },
    { sign: '~', words: 'files: tool read is called look, fixes root = "/"' },
  ]);
  const searched = compositionDraftOf({ ...published, exposure: 'search' });
  t.same(differencesOf(searched, before), [{ sign: '~', words: 'all of its tools are listed' }]);
  t.equal(compositionRequest(searched).exposure, 'search', 'and what was published stays');
});

t.test('settings to copy have the address, and a place for a token instead of one', async (t) => {
  const url = endpointOf('https://gateway.example/gw-rs/', '0b')!;
  t.equal(url, 'https://gateway.example/gw-rs/servers/0b/mcp');
  t.equal(endpointOf('javascript:alert(1)', '0b'), undefined);
  t.equal(endpointOf('gateway', '0b'), undefined);
  t.notMatch(endpointOf(`http://x/a'b`, '0b'), /'/, 'nothing ends a shell’s quotes');
  t.equal(settingsName('My desk & co'), 'My-desk-co');
  const settings = clientSettings('My desk', url);
  const textOf = (name: string): string => settings.find(({ client }) => client === name)?.text ?? '';
  for (const { client, text } of settings) t.match(text, url, client);
  t.match(JSON.parse(textOf('Claude Desktop')), {
    mcpServers: {
      'My-desk': {
        args: ['-y', 'mcp-remote', url, '--header', 'Authorization:${AUTHORIZATION}'],
        env: { AUTHORIZATION: 'Bearer <your token>' },
      },
    },
  });
  t.match(JSON.parse(textOf('VS Code')), {
    inputs: [{ id: 'My-desk-token', password: true }],
    servers: { 'My-desk': { type: 'http', headers: { Authorization: 'Bearer ${input:My-desk-token}' } } },
  });
  t.match(JSON.parse(textOf('Cursor')), {
    mcpServers: { 'My-desk': { headers: { Authorization: 'Bearer ${env:SWITCHYARD_TOKEN}' } } },
  });
});

t.test('what somebody else has changed in the meantime stays; of what both have changed, mine does', async (t) => {
  const before = compositionDraftOf(published);
  const theirs = {
    ...before,
    ...{ description: 'theirs', name: 'theirs', subjects: 'bob\ncarol' },
    servers: [
      { name: 'files', tools: ['read', 'write'], prompts: ['p'], curation: { tools: { read: { name: 'fetch' } } } },
      { name: 'mail', tools: ['send'] },
    ],
  };
  const mine = {
    ...before,
    ...{ name: 'mine', subjects: 'alice\ndora' },
    servers: [{ name: 'files', tools: ['read', 'list'], curation: { tools: { read: { name: 'get' } } } }],
  };
  const merged = mergedDraft(before, mine, theirs);
  t.match(merged, { name: 'mine', description: 'theirs', exposure: 'all' });
  t.same(merged.subjects.split('\n'), ['bob', 'carol', 'dora'], 'alice was taken away by them, dora added by me');
  t.same(merged.servers, [
    { name: 'files', tools: ['read', 'write', 'list'], prompts: [], curation: { tools: { read: { name: 'fetch' } } } },
    { name: 'mail', tools: ['send'] },
  ]);
  t.same(mergedDraft(before, before, theirs), theirs, 'nothing of mine');
  t.same(mergedDraft(before, mine, before).subjects, mine.subjects, 'nothing of theirs');
});

t.test('what a composition has, in words', async (t) => {
  const one = { name: 'files', tools: ['read', 'list_*', 'get_*'], prompts: ['p'] };
  const whole = { name: 'mail', tools: ['*'], resources: ['a', 'b'] };
  t.equal(contentWords([one]), '1 tool, 2 patterns of tools, 1 prompt');
  t.equal(contentWords([whole]), 'all of mail, 2 resources');
  t.equal(contentWords([one, whole, { ...whole, name: 'web' }]).split(',')[0], 'all of 2 servers');
  t.equal(contentWords([]), 'nothing yet');
});

t.test('a user is added once', async (t) => {
  const draft = compositionDraftOf(published);
  t.equal(withUser(draft, 'bob').subjects, 'alice\nbob');
  t.equal(withUser(draft, 'alice'), draft);
});
