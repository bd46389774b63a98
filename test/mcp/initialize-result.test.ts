// What is read from a backend's result of `initialize`: the members that matter, wherever they are and however they are written.
import t from 'tap';
import { capability } from '../../src/mcp/capabilities.js';
import {
  readInitializeResult,
  EXTRA_CAPABILITY_BYTES_MAX,
  INSTRUCTIONS_CHARS_MAX,
} from '../../src/mcp/initialize-result.js';
import { METHOD_NAME_BYTES_MAX } from '../../src/mcp/json-rpc.js';

function read(result: string): ReturnType<typeof readInitializeResult> {
  return readInitializeResult(Buffer.from(result));
}

const VERSION = '"protocolVersion":"2025-06-18"';

t.test('the members that matter are found among others', async (t) => {
  const result = `{"serverInfo":{"tools":{},"a":[1]},${VERSION},"capabilities":{"x":[],"t\\u006fols":{"y":1}},"instructions":"a\\nb"}`;
  t.same(read(result), {
    protocolVersion: '2025-06-18',
    capabilities: capability.tools,
    named: undefined,
    instructions: 'a\nb',
  });
});

t.test('tools are declared only by an object inside the capabilities object', async (t) => {
  for (const capabilities of ['{}', '{"tools":null}', '{"tools":true}', '{"x":{"tools":{}}}', '[{"tools":{}}]', 'null'])
    t.equal(read(`{${VERSION},"capabilities":${capabilities}}`)?.capabilities, 0, capabilities);
  t.equal(read(`{${VERSION}}`)?.capabilities, 0);
});

t.test('a result without exactly one version is refused', async (t) => {
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

t.test('instructions are bounded in characters; those that are too long or occur twice are left out', async (t) => {
  const longest = 'ä'.repeat(INSTRUCTIONS_CHARS_MAX);
  t.equal(read(`{${VERSION},"instructions":"${longest}"}`)?.instructions, longest);
  t.equal(read(`{${VERSION},"instructions":"${'\\u00e4'.repeat(INSTRUCTIONS_CHARS_MAX)}"}`)?.instructions, longest);
  t.equal(read(`{${VERSION},"instructions":"${longest}x"}`)?.instructions, undefined);
  t.equal(read(`{${VERSION},"instructions":"a","instructions":"b"}`)?.instructions, undefined);
  t.equal(read(`{${VERSION},"instructions":7}`)?.instructions, undefined);
});

t.test('experimental capabilities are kept as written, by name, as many as fit', async (t) => {
  const declared = (experimental: string): unknown =>
    read(`{${VERSION},"capabilities":{"experimental":${experimental}}}`)?.named;
  t.same(declared('{"a\\u002fb": { "c":[{"d":[1.0]}] } ,"__proto__":{},"e":{}}'), [
    { name: 'a/b', value: '{ "c":[{"d":[1.0]}] }' },
    { name: '__proto__', value: '{}' },
    { name: 'e', value: '{}' },
  ]);
  t.same(declared('{"a":{"b":1},"a":{"b":2},"c":true,"d":null,"e":[]}'), [{ name: 'a', value: '{"b":1}' }]);
  for (const none of ['{}', '[]', 'null', '7', '{"a":1}', '{"a":{}},"experimental":{"a":{}}'])
    t.equal(declared(none), undefined, none);
  const name = 'x'.repeat(METHOD_NAME_BYTES_MAX);
  t.same(declared(`{"${name}":{},"${name}x":{}}`), [{ name, value: '{}' }], 'as long as a method');
  const longest = `{"x":"${'x'.repeat(EXTRA_CAPABILITY_BYTES_MAX - '{"x":""}a'.length)}"}`;
  t.same(declared(`{"a":${longest},"b":{}}`), [{ name: 'a', value: longest }], 'as many bytes as may be');
  t.equal(declared(`{"ab":${longest},"b":{}}`), undefined);
  t.equal(read(`{${VERSION},"capabilities":{"experimental":{${'"a":{},'.repeat(100_000)}"b":{}}}}`)?.capabilities, 0);
});

t.test('a version that is too long to be a known one is read as empty', async (t) => {
  t.equal(read(`{"protocolVersion":"${'2'.repeat(900_000)}"}`)?.protocolVersion, '');
});
