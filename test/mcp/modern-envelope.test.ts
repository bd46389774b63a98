import t from 'tap';
import { readClientMessage, type ParsedClientMessage } from '../../src/mcp/json-rpc.js';
import { readLargeClientMessage } from '../../src/mcp/large-messages.js';
import { readBackendError, type ModernEnvelope } from '../../src/mcp/modern-envelope.js';
import { limits } from '../../src/shared/limits.js';

const VERSION = '"io.modelcontextprotocol/protocolVersion":"2026-07-28"';
const CAPABILITIES = '"io.modelcontextprotocol/clientCapabilities":{"roots":{}}';
const INFO = '"io.modelcontextprotocol/clientInfo":{"name":"a","version":"1"}';
const LEVEL = '"io.modelcontextprotocol/logLevel":"debug"';

const call = (params: string, id = '"id":1,'): string =>
  `{"jsonrpc":"2.0",${id}"method":"tools/call","params":{"name":"b-t",${params}}}`;

/** Each span of the envelope as its text. */
function texts(body: string, message: ParsedClientMessage): unknown {
  if (typeof message === 'string' || message.kind === 'batch') return message;
  const { envelope } = message;
  if (envelope === undefined) return 'none';
  const textOf = (start: number, end: number): string => (start === -1 ? '' : body.slice(start, end));
  const names = [
    'protocolVersion',
    'capabilities',
    'clientInfo',
    'logLevel',
    'requestState',
    'inputResponses',
  ] as const;
  const spans = names.map((name): [string, string] => {
    const [start, end] = [`${name}Start`, `${name}End`] as [keyof ModernEnvelope, keyof ModernEnvelope];
    return [name, textOf(envelope[start], envelope[end])];
  });
  return Object.fromEntries(spans.filter(([, text]) => text !== ''));
}

const read = (body: string): unknown => texts(body, readClientMessage(Buffer.from(body)));

void t.test('a message that names its version has an envelope of the members that are there', async (t) => {
  t.same(read(call(`"_meta":{${VERSION}}`)), { protocolVersion: '"2026-07-28"' });
  const meta = `"_meta":{"progressToken":7, ${INFO},${LEVEL} , ${CAPABILITIES},${VERSION}}`;
  t.same(read(call(`"requestState":"s\\u0041", ${meta}, "inputResponses" : {"a":{}}`)), {
    protocolVersion: '"2026-07-28"',
    capabilities: '{"roots":{}}',
    clientInfo: '{"name":"a","version":"1"}',
    logLevel: '"debug"',
    requestState: '"s\\u0041"',
    inputResponses: '{"a":{}}',
  });
  t.same(read(call(`"_meta":{${VERSION}}`, '')), { protocolVersion: '"2026-07-28"' }, 'a notification');
  t.same(
    read(call('"_meta":{"io.modelcontextprotocol\\/protocolVersion":1}')),
    { protocolVersion: '1' },
    'escaped, and no text',
  );
});

void t.test('other messages have no envelope', async (t) => {
  for (const params of ['"arguments":{}', '"_meta":{}', '"_meta":[1]', `"_meta":{${CAPABILITIES},${INFO}}`])
    t.equal(read(call(params)), 'none', params);
  t.equal(read(call(`"arguments":{"_meta":{${VERSION}}}`)), 'none', 'in arguments it says nothing');
  t.equal(read(`{"jsonrpc":"2.0","id":1,"result":{"_meta":{${VERSION}}}}`), 'none', 'an answer');
  t.equal(read('{"jsonrpc":"2.0","id":1,"method":"ping"}'), 'none');
});

void t.test('a message that two parsers could read differently is refused', async (t) => {
  for (const twice of [VERSION, CAPABILITIES, INFO, LEVEL])
    t.equal(read(call(`"_meta":{${VERSION},${twice},${twice}}`)), 'not-json-rpc', twice);
  t.equal(read(call(`"_meta":{${VERSION},${LEVEL.replace('logLevel', 'loglevel')}}`)), 'not-json-rpc', 'by case alone');
  for (const twice of ['"requestState":"a"', '"inputResponses":{}']) {
    t.equal(read(call(`"_meta":{${VERSION}},${twice},${twice}`)), 'not-json-rpc', twice);
    t.equal(read(call(`"_meta":{},${twice},${twice}`)), 'none', 'of a caller of before nobody reads it');
  }
});

void t.test('the envelope of a large message is read too', async (t) => {
  const padding = `"arguments":{"text":"${'x'.repeat(limits.readAtOnceBytesMax)}"}`;
  const body = call(`"_meta":{${CAPABILITIES},${VERSION}},${padding},"requestState":"s"`);
  const message = await new Promise<ParsedClientMessage>((resolve) => {
    readLargeClientMessage('alice', Buffer.from(body), resolve);
  });
  t.same(texts(body, message), { protocolVersion: '"2026-07-28"', capabilities: '{"roots":{}}', requestState: '"s"' });
});

t.test('of an error its code, its words and the versions that it names are read', async (t) => {
  const said = (error: string): unknown => readBackendError(Buffer.from(error));
  const data = '{"supported":["2026-07-28","x2025-11-25","2025-06-18x",7,"2025-11-25"]}';
  t.same(said(`{"code":-32022,"message":"m","data":${data}}`), {
    ...{ code: -32022, message: 'm', versions: ['2026-07-28', '2025-11-25'] },
  });
  t.same(said('{"code":"x","message":7,"data":[]}'), { code: 'x', message: '', versions: [] });
  t.same(said('{"data":{"supported":"2026-07-28"}}'), { code: undefined, message: '', versions: [] });
  const large = `{"code":1,"message":"${'x'.repeat(limits.upstreamRefusalBytesMax)}"}`;
  for (const error of ['', '{', 'null', '"no"', large])
    t.same(said(error), { code: undefined, message: '', versions: [] }, error.slice(0, 20));
});
