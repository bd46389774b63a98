// Where the members of a batch are in its bytes: up to the maximum, and one more, which shows that the batch is too long.
import t from 'tap';
import { clientBatchIn } from '../../src/mcp/json-rpc.js';
import { JsonScanner } from '../../src/bytes/json-scanner.js';
import { limits } from '../../src/shared/limits.js';

function membersOf(text: string): string[] {
  const bytes = Buffer.from(text);
  const tape = new JsonScanner();
  if (!tape.scan(bytes, 8)) throw new Error(`not JSON: ${text}`);
  const { kind, members } = clientBatchIn(tape);
  if (kind !== 'batch') throw new Error(kind);
  return members.map(({ start, end }) => bytes.toString('utf8', start, end));
}

t.test('members of every kind are found, in order, without the bytes between them', (t) => {
  t.same(membersOf('[]'), []);
  t.same(membersOf(' [ {"a":[1,{}]} ,7,"é" ,[ ],null\n]'), ['{"a":[1,{}]}', '7', '"é"', '[ ]', 'null']);
  t.end();
});

t.test('at most one member more than the limit of a batch is returned', (t) => {
  const many = (count: number): number => membersOf(`[${Array.from({ length: count }, () => '{}').join()}]`).length;
  const { batchMembersMax } = limits;
  t.equal(many(batchMembersMax), batchMembersMax);
  t.equal(many(batchMembersMax + 1), batchMembersMax + 1);
  t.equal(many(batchMembersMax + 100), batchMembersMax + 1);
  t.end();
});
