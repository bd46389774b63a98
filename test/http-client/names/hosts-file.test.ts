import t from 'tap';
import { parseHostsFile } from '../../../src/http-client/names/names.js';
import { ADDRESSES_PER_NAME_MAX } from '../../../src/http-client/names/name-query.js';

t.test('names are found in any case, and each address of a name once', async (t) => {
  const table = parseHostsFile('127.0.0.1 A.test b.test\n::1 a.TEST\n127.0.0.1 a.test\n');
  t.same(table.get('a.test'), ['::1', '127.0.0.1']);
  t.same(table.get('b.test'), ['127.0.0.1']);
});

t.test('comments, nonsense and addresses with a zone are ignored', async (t) => {
  const table = parseHostsFile(
    '# 127.0.0.1 a.test\n127.0.0.2 b.test # c.test\nnonsense d.test\nfe80::1%eth0 e.test\n\n',
  );
  t.same([...table], [['b.test', ['127.0.0.2']]]);
});

t.test('the number of addresses per name is bounded', async (t) => {
  const lines = Array.from({ length: ADDRESSES_PER_NAME_MAX + 1 }, (_, index) => `127.0.1.${index} a.test`);
  t.equal(parseHostsFile(lines.join('\n')).get('a.test')?.length, ADDRESSES_PER_NAME_MAX);
});
