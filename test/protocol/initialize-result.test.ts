// What is read of a backend's result of `initialize`: the members that count, wherever they stand and however written.
import t from 'tap';
import { capability } from '../../src/protocol/capabilities.js';
import { readInitializeResult } from '../../src/protocol/initialize-result.js';
import { limits } from '../../src/shared/limits.js';

function read(result: string): ReturnType<typeof readInitializeResult> {
  return readInitializeResult(Buffer.from(result));
}

const VERSION = '"protocolVersion":"2025-06-18"';

t.test('the members that count, between others', async (t) => {
  const result = `{"serverInfo":{"tools":{},"a":[1]},${VERSION},"capabilities":{"x":[],"t\\u006fols":{"y":1}},"instructions":"a\\nb"}`;
  t.same(read(result), { protocolVersion: '2025-06-18', capabilities: capability.tools, instructions: 'a\nb' });
});

t.test('tools are declared by an object in an object', async (t) => {
  for (const capabilities of ['{}', '{"tools":null}', '{"tools":true}', '{"x":{"tools":{}}}', '[{"tools":{}}]', 'null'])
    t.equal(read(`{${VERSION},"capabilities":${capabilities}}`)?.capabilities, 0, capabilities);
  t.equal(read(`{${VERSION}}`)?.capabilities, 0);
});

t.test('without one version, or with two, it is no result', async (t) => {
  const wrong = [
    '[]',
    'null',
    '{}',
    '{"protocolVersion":7}',
    `{${VERSION},${VERSION}}`,
    `{${VERSION},"ProtocolVersion":1}`,
  ];
  for (const result of [...wrong, `{${VERSION},"capabilities":{},"capabilities":{"tools":{}}}`])
    t.equal(read(result), undefined, result);
});

t.test('instructions count as characters; longer ones are left out, and so are two', async (t) => {
  const longest = 'ä'.repeat(limits.instructionsCharsMax);
  t.equal(read(`{${VERSION},"instructions":"${longest}"}`)?.instructions, longest);
  t.equal(
    read(`{${VERSION},"instructions":"${'\\u00e4'.repeat(limits.instructionsCharsMax)}"}`)?.instructions,
    longest,
  );
  t.equal(read(`{${VERSION},"instructions":"${longest}x"}`)?.instructions, undefined);
  t.equal(read(`{${VERSION},"instructions":"a","instructions":"b"}`)?.instructions, undefined);
  t.equal(read(`{${VERSION},"instructions":7}`)?.instructions, undefined);
});

t.test('a version as long as an answer is none that is known', async (t) => {
  t.equal(read(`{"protocolVersion":"${'2'.repeat(900_000)}"}`)?.protocolVersion, '');
});
