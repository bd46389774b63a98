import t from 'tap';
import { serverSettings, replaceTools } from '../../src/cli/compositions.js';

const servers = [
  { id: '1', name: 'Files', tools: ['read'], prompts: ['p'], curation: null, missing: [] },
  { id: '2', name: 'git', tools: ['log'] },
];

t.test('only the members that may be sent back are taken from an answer', async (t) => {
  t.strictSame(serverSettings(servers), [
    { name: 'Files', tools: ['read'], prompts: ['p'] },
    { name: 'git', tools: ['log'] },
  ]);
  t.strictSame(serverSettings('x'), []);
});

t.test('new tools leave the rest of a server as it is', async (t) => {
  t.strictSame(replaceTools(servers, [{ name: 'files', tools: ['write'] }]), [
    { name: 'Files', tools: ['write'], prompts: ['p'] },
  ]);
  t.strictSame(replaceTools(servers, [{ name: 'new', tools: ['a'] }]), [
    { name: 'Files', tools: [], prompts: ['p'] },
    { name: 'new', tools: ['a'] },
  ]);
});
