import t from 'tap';
import { compositionTag, type StoredComposition } from '../../../src/control-plane/compositions/composition.js';

const SERVER = { id: 's', name: 'files', tools: ['read'] };
const COMPOSITION: StoredComposition = {
  ...{ id: 'c', name: 'desk', description: '', servers: [SERVER], subjects: ['alice'] },
  ...{ createdAt: 'created', updatedAt: 'updated' },
};
const tagWith = (changes: Partial<StoredComposition>): string => compositionTag({ ...COMPOSITION, ...changes });

t.test('the tag stays while people have set the same, whatever is written out of it', async (t) => {
  for (const same of [
    { exposure: 'all' },
    { servers: [{ ...SERVER, prompts: [], resources: [], curation: undefined }] },
    { servers: [{ ...SERVER, name: 'renamed' }] },
    { hostBytes: 1 },
    { maker: 'alice' },
  ] as const)
    t.equal(tagWith(same), tagWith({}), JSON.stringify(same));
});

t.test('the tag is another one when people have set something else', async (t) => {
  const tags = (
    [
      {},
      ...[{ id: 'd' }, { name: 'other' }, { description: 'words' }, { exposure: 'search' }, { subjects: [] }],
      ...[{ team: 'pay' }, { updatedAt: 'later' }, { servers: [] }],
      ...[{ tools: ['write'] }, { prompts: ['p'] }, { resources: ['file:///r'] }, { curation: { title: 'x' } }].map(
        (change) => ({
          servers: [{ ...SERVER, ...change }],
        }),
      ),
    ] as Partial<StoredComposition>[]
  ).map(tagWith);
  t.equal(new Set(tags).size, tags.length);
});
