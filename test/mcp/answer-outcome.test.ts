import t from 'tap';
import { errorCodeIn, isToolError, TOOL_ERROR_LOOKS_MAX } from '../../src/mcp/answer-outcome.js';
import { limits } from '../../src/shared/limits.js';

function isError(json: string): boolean {
  const bytes = Buffer.from(json);
  return isToolError(bytes, 0, bytes.length);
}

const large = `"${'x'.repeat(limits.readAtOnceBytesMax)}"`;

t.test('a failed tool is recognised by isError as a member of the result itself', async (t) => {
  t.ok(isError('{"content":[],"isError":true}'));
  t.ok(isError('{"isError" :\n\ttrue}'));
  t.notOk(isError('{"isError":false,"content":[]}'));
  t.notOk(isError('{"structuredContent":{"isError":true}}'), 'not in one of something else');
  t.notOk(isError('{"content":["isError","isError" ,true]}'), 'nor as a text');
});

t.test('of a large result only the beginning and the end are searched for isError', async (t) => {
  t.ok(isError(`{"isError":true,"content":[${large}]}`));
  t.ok(isError(`{"content":[${large}],"isError":true}`));
  t.notOk(isError(`{"content":[${large}],"isError":false}`));
  t.notOk(isError(`{"content":[${large},{"isError":true},${large}]}`), 'what is between them is content');
  const small = Buffer.from(`{"result":{"isError":true},"more":[${large}]}`);
  t.ok(isToolError(small, 10, 10 + '{"isError":true}'.length), 'a small result beside much else');
});

t.test('the search for isError ends after a bounded number of candidates', async (t) => {
  const words = (count: number): string => Array.from({ length: count }, () => '"isError"').join();
  t.ok(isError(`{"x":[${words(TOOL_ERROR_LOOKS_MAX - 1)}],"isError":true}`));
  t.notOk(isError(`{"x":[${words(TOOL_ERROR_LOOKS_MAX)}],"isError":true}`));
});

t.test('the search for isError visits a bounded number of candidates', async (t) => {
  const dense = Buffer.from(`{"x":["isError"${',"isError"'.repeat(10_000)}]}`);
  const bare = dense.subarray();
  t.ok(dense.length <= limits.readAtOnceBytesMax);
  const searches = t.capture(dense, 'indexOf', (word: Buffer, from: number) => bare.indexOf(word, from));
  t.notOk(isToolError(dense, 0, dense.length));
  const { length } = searches();
  t.ok(length > 0 && length <= TOOL_ERROR_LOOKS_MAX + 1, `${length} searches`);
});

t.test('white space around the colon counts as such, and anything else does not', async (t) => {
  t.ok(isError('{"isError"\r\n :\t true}'));
  const spaces = ' '.repeat(1_000);
  t.notOk(isError(`{"isError":${spaces}true}`), 'within a bound');
  t.notOk(isError('{"isError":"true"}'));
  t.notOk(isError('{"isError":[true]}'));
  t.notOk(isError('{"x":["isError"true'), 'what is no JSON says nothing');
});

t.test('the code of an error is a whole number, and 0 stands for any other', async (t) => {
  const codeOf = (json: string): number => errorCodeIn(Buffer.from(`,${json},`), 1, 1 + Buffer.byteLength(json));
  t.equal(codeOf('{"code":-32602,"message":"x"}'), -32602);
  t.equal(codeOf('{"message":"x","data":{"code":2},"code":7}'), 7);
  for (const error of ['{}', '{"code":"7"}', '{"code":1.5}', '{"code":1e300}', '{"code":null}', '7', 'null', '[7]'])
    t.equal(codeOf(error), 0, error);
  t.equal(codeOf(`{"code":7,"data":${large}}`), 0, 'nor is a large one read');
});
