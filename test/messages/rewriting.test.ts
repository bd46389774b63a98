// URIs of resources in answers: rewritten to the caller's form at the places that MCP names, with every other byte as it came.
// Random messages are in `rewriting-fuzz.test.ts`.
import t from 'tap';
import { readBackendAnswer, readBackendMessage, type BackendMessage } from '../../src/mcp/json-rpc.js';
import { readLargeBackendMessage } from '../../src/mcp/large-messages.js';
import { uriLocation, URI_NODES_MAX } from '../../src/mcp/value-finder.js';
import { callersParts } from '../../src/messages/rewriting.js';
import { taggedNotification, untaggedNotification } from '../../src/messages/listening.js';
import { limits } from '../../src/shared/limits.js';
import { printable } from '../support/printable.js';

const TOOL = uriLocation.content;
const PROMPT = uriLocation.messages;
const READ = uriLocation.contents | uriLocation.error;
const ID = { bytes: Buffer.from('7'), start: 0, end: 1 };

function written(bytes: Buffer, message: BackendMessage | undefined, locations: number, uriName: string): string {
  if (message === undefined) throw new Error('not a message');
  const parts = callersParts(bytes, message, ID, uriName, locations) ?? [bytes];
  if (typeof parts === 'string') throw new Error(parts);
  return Buffer.concat(parts).toString();
}

/** What the caller gets for an answer with this body, which must be the same in all three ways of reading. */
async function rewrite(body: string, locations: number, uriName = 'b'): Promise<string> {
  const bytes = Buffer.from(`{"jsonrpc":"2.0","id":7,${body}}`);
  const atOnce = written(bytes, readBackendAnswer(bytes), locations, uriName);
  // As for a message on a stream.
  const asEvent = written(bytes, readBackendMessage(bytes), locations, uriName);
  const inSlices = await new Promise<string>((resolve) => {
    readLargeBackendMessage('alice', bytes, (message) => resolve(written(bytes, message, locations, uriName)));
  });
  if (atOnce !== inSlices || atOnce !== asEvent) throw new Error(`the ways differ: ${printable(body)}`);
  return atOnce.slice('{"jsonrpc":"2.0","id":7,'.length, -1);
}

t.test('URIs are rewritten at the places that MCP names, and nowhere else', async (t) => {
  const rows: [locations: number, body: string, expected?: string][] = [
    [
      TOOL,
      '"result":{ "content" : [ {"type":"resource_link","uri" : "a:\\u002f\\/x","name":"a:x","n":1.0} ]}',
      '"result":{ "content" : [ {"type":"resource_link","uri" : "b+a:\\u002f\\/x","name":"a:x","n":1.0} ]}',
    ],
    [
      TOOL,
      '"result":{"content":[{"uri":"u:1","type":"text"},{"resource":{"text":"","uri":"u:2","_meta":{"uri":"u:3"}},"type":"resource"}],"isError":true}',
      '"result":{"content":[{"uri":"u:1","type":"text"},{"resource":{"text":"","uri":"b+u:2","_meta":{"uri":"u:3"}},"type":"resource"}],"isError":true}',
    ],
    [
      TOOL,
      '"result":{"content":[{"type":"resource_link","uri":"https://x/y"},{"type":"resource_link","uri":"HTTP:x"}]}',
    ],
    [
      TOOL,
      '"result":{"content":[{"type":"resource","resource":{"uri":"https://x/y"}}]}',
      '"result":{"content":[{"type":"resource","resource":{"uri":"b+https://x/y"}}]}',
    ],
    [
      TOOL,
      '"result":{"content":[{"type":"resource","resource":{"uri":"ui://x/y"}},{"type":"resource_link","uri":"u\\u0069:\\/\\/x"}]}',
      '"result":{"content":[{"type":"resource","resource":{"uri":"ui://b/x/y"}},{"type":"resource_link","uri":"u\\u0069:\\/\\/b/x"}]}',
    ],
    [
      TOOL,
      '"result":{"c\\u006fntent":[{"t\\u0079pe":"r\\u0065source_link","\\u0075r\\u0069":"x:y"}]}',
      '"result":{"c\\u006fntent":[{"t\\u0079pe":"r\\u0065source_link","\\u0075r\\u0069":"b+x:y"}]}',
    ],
    [
      TOOL,
      '"result":{"content":[{"type":"resource_link","uri":"a:1","uri":"a:2","URI":"a:3"}]}',
      '"result":{"content":[{"type":"resource_link","uri":"b+a:1","uri":"b+a:2","URI":"a:3"}]}',
    ],
    [
      TOOL,
      '"result":{"contents":[{"uri":"a:1"}],"messages":[{"content":{"type":"resource_link","uri":"a:1"}}],"uri":"a:b"}',
    ],
    [TOOL, '"result":{"structuredContent":{"content":[{"type":"resource_link","uri":"a:1"}]},"content":[]}'],
    [TOOL, '"result":{"content":{"type":"resource_link","uri":"a:1"}}'],
    [TOOL, '"result":{"content":[[{"type":"resource_link","uri":"a:1"}],{"type":"resource_link","uri":1}]}'],
    [
      PROMPT,
      '"result":{"messages":[{"role":"user","content":{"type":"resource","resource":{"uri":"a:1"}}},{"content":[{"type":"resource_link","uri":"a:2"},{"type":"resource","resource":{"uri":"a:3"}}]}]}',
      '"result":{"messages":[{"role":"user","content":{"type":"resource","resource":{"uri":"b+a:1"}}},{"content":[{"type":"resource_link","uri":"b+a:2"},{"type":"resource","resource":{"uri":"b+a:3"}}]}]}',
    ],
    [
      READ,
      '"result":{"contents":[{"uri":"a:1","text":"{\\"uri\\":\\"a:1\\"}"},{"blob":"","uri":""}],"content":[{"type":"resource_link","uri":"a:1"}]}',
      '"result":{"contents":[{"uri":"b+a:1","text":"{\\"uri\\":\\"a:1\\"}"},{"blob":"","uri":"b+"}],"content":[{"type":"resource_link","uri":"a:1"}]}',
    ],
    ...[READ, uriLocation.error].map((locations): [number, string, string] => [
      locations,
      '"error":{"code":-32002,"message":"no","uri":"a:0","data":{"uri":"a:1","more":{"uri":"a:2"}}}',
      '"error":{"code":-32002,"message":"no","uri":"a:0","data":{"uri":"b+a:1","more":{"uri":"a:2"}}}',
    ]),
    // Only errors about resources have a URI; and what is not one is said in words.
    ...[TOOL, PROMPT, 0].map((locations): [number, string] => [
      locations,
      '"error":{"code":-32002,"data":{"uri":"a:1"}}',
    ]),
    ...['a', '', 'no: such file', '/a:1', '1:a', 'a:'].map((uri): [number, string] => [
      READ,
      `"error":{"code":-32002,"message":"no","data":{"uri":"${uri}"}}`,
    ]),
    [
      READ,
      '"error":{"code":-32002,"message":"","data":{"uri":"\\u0061:1"}}',
      '"error":{"code":-32002,"message":"","data":{"uri":"b+\\u0061:1"}}',
    ],
    [uriLocation.error, '"result":{"contents":[{"uri":"a:1"}]}'],
  ];
  for (const [locations, body, expected = body] of rows) t.equal(await rewrite(body, locations), expected, body);
});

t.test("together with the caller's id", async (t) => {
  for (const text of ['{"id":7.0,"jsonrpc":"2.0","result":R}', '{"jsonrpc":"2.0","result":R,"id":7.0}']) {
    const bytes = Buffer.from(text.replace('R', '{"contents":[{"uri":"a:1"}]}'));
    const expected = bytes.toString().replace('7.0', '7').replace('a:1', 'b+a:1');
    t.equal(written(bytes, readBackendMessage(bytes), READ, 'b'), expected);
  }
});

t.test("an answer without URIs gets the caller's id", async (t) => {
  const bytes = Buffer.from('{"jsonrpc":"2.0","id":7.0,"result":{"content":[]}}');
  t.equal(written(bytes, readBackendMessage(bytes), TOOL, 'b'), bytes.toString().replace('7.0', '7'));
});

t.test('an answer without URIs is passed on as it came', async (t) => {
  const bytes = Buffer.from('{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"uri"}]}}');
  t.equal(callersParts(bytes, readBackendMessage(bytes)!, ID, 'b', TOOL), undefined);
});

t.test('a large answer may have more values beside its URIs than can be recorded', async (t) => {
  const rows = Array.from({ length: limits.jsonNodesMax }, () => '{"uri":1}').join();
  const links = '{"type":"resource_link","uri":"a:1"}';
  const body = `"result":{"structuredContent":{"content":[${rows}]},"content":[${links}],"_meta":{"x":[${rows}]}}`;
  t.equal(await rewrite(body, TOOL), body.replace(links, links.replace('a:1', 'b+a:1')));
});

t.test('a large answer without URIs and task ids says so, so that it is not searched again', async (t) => {
  const bytes = Buffer.from(`{"jsonrpc":"2.0","id":7,"result":{"content":[],"x":"${'y'.repeat(300_000)}"}}`);
  for (const hasTasks of [true, false]) {
    const message = await new Promise<BackendMessage | undefined>((resolve) => {
      readLargeBackendMessage('alice', bytes, resolve, hasTasks);
    });
    t.match(message, { kind: 'response', uris: { length: 0 }, taskIds: { length: 0 } });
  }
});

t.test('of a large answer with more nodes on the way to URIs than the limit, none are found', async (t) => {
  const read = (count: number): Promise<unknown> => {
    const links = Array.from({ length: count }, () => '{"type":"resource_link","uri":"a:1"}').join();
    const bytes = Buffer.from(`{"jsonrpc":"2.0","id":7,"result":{"content":[${links}]}}`);
    return new Promise((resolve) =>
      readLargeBackendMessage('alice', bytes, (message) => resolve(message?.uris?.length)),
    );
  };
  t.equal(await read(URI_NODES_MAX / 4), (URI_NODES_MAX / 4) * 3);
  t.equal(await read(URI_NODES_MAX / 2), undefined);
});

t.test('a notification carries the id of its listener, in place of any that it had', async (t) => {
  const key = '"io.modelcontextprotocol/subscriptionId"';
  const rows: readonly (readonly [params: string, tagged: string | undefined])[] = [
    ['', `,"params":{"_meta":{${key}:7}}`],
    [',"params":{}', `,"params":{"_meta":{${key}:7}}`],
    [',"params":{"a":1.0}', `,"params":{"_meta":{${key}:7},"a":1.0}`],
    [',"params":{"_meta":{}}', `,"params":{"_meta":{${key}:7}}`],
    [',"params":{"_meta":{"a":1.0}}', `,"params":{"_meta":{${key}:7,"a":1.0}}`],
    [`,"params":{"x":1,"_meta":{"a":1.0,${key} : "other" }}`, `,"params":{"x":1,"_meta":{"a":1.0,${key} : 7 }}`],
    [',"params":{"_meta":{},"_meta":{}}', undefined],
    [`,"params":{"_meta":{${key}:1,${key}:2}}`, undefined],
    [',"params":{"_meta":[]}', undefined],
    [',"params":[]', undefined],
  ];
  for (const [params, tagged] of rows) {
    const whole = (members: string): string => `{"jsonrpc":"2.0","method":"notifications/x"${members}}`;
    const bytes = Buffer.from(whole(params));
    const message = readBackendMessage(bytes);
    if (message === undefined) t.equal(tagged, undefined, params);
    else t.equal(taggedNotification(bytes, message, '7')?.toString(), tagged && whole(tagged), params);
  }
});

t.test('what a backend has put there for the gateway as its listener is taken out', async (t) => {
  const key = '"io.modelcontextprotocol/subscriptionId"';
  const rows: readonly (readonly [params: string, untagged: string | undefined])[] = [
    ['', ''],
    [',"params":{"a":1.0}', ',"params":{"a":1.0}'],
    [',"params":{"_meta":{"a":1.0}}', ',"params":{"_meta":{"a":1.0}}'],
    [`,"params":{"x":1.0,"_meta":{${key}:7}}`, ',"params":{"x":1.0,"_meta":{}}'],
    [`,"params":{"_meta":{"a":1.0,${key}:"s"},"x":2}`, ',"params":{"_meta":{"a":1.0},"x":2}'],
    [`,"params":{"_meta":{${key}:1,${key}:2}}`, undefined],
    [',"params":{"_meta":[]}', undefined],
  ];
  for (const [params, untagged] of rows) {
    const whole = (members: string): string => `{"jsonrpc":"2.0","method":"notifications/x"${members}}`;
    const bytes = Buffer.from(whole(params));
    const expected = untagged === undefined ? undefined : whole(untagged);
    t.equal(untaggedNotification(bytes, readBackendMessage(bytes)!)?.toString(), expected, params);
  }
});
