import t from 'tap';
import {
  beginsWithResult,
  METHOD_NAME_BYTES_MAX,
  readBackendAnswer,
  readBackendMessage,
  readClientMessage,
  type BackendMessage,
  type ParsedClientMessage,
} from '../../src/mcp/json-rpc.js';
import { idKey, isSameId } from '../../src/bytes/json-member.js';
import { limits } from '../../src/shared/limits.js';
import { printable } from '../support/printable.js';
import { Random } from '../support/random.js';
import { escapedToken, randomJson } from '../support/random-json.js';

/** Flags, which `texts` shows only when they are true. */
const FLAGS: ReadonlySet<string> = new Set(['isUri', 'asksForTask']);

/** Every span of a message as its text; absent spans are left out. */
function texts(text: string, message: ParsedClientMessage | BackendMessage | undefined): unknown {
  if (typeof message !== 'object') return message;
  if (message.kind === 'batch') return message.members.map(({ start, end }) => text.slice(start, end));
  const bytes = Buffer.from(text);
  const shown: Record<string, unknown> = {};
  const offsets = message as unknown as Record<string, number>;
  for (const [name, value] of Object.entries(message)) {
    if (name.endsWith('End') || (FLAGS.has(name) && value === false)) continue;
    // Part of the params, which are shown.
    if (name === 'metaStart') continue;
    if (!name.endsWith('Start')) {
      shown[name] = value;
      continue;
    }
    const span = name.slice(0, -'Start'.length);
    const end = offsets[`${span}End`] ?? NaN;
    if ((value === -1) !== (end === -1)) throw new Error(`half a span: ${span}`);
    if (value !== -1) shown[span] = bytes.toString('utf8', Number(value), end);
  }
  return shown;
}

const client = (text: string): unknown => texts(text, readClientMessage(Buffer.from(text)));
/** Reads the message with both readers, which must agree on everything but `uris`. */
function backend(text: string): unknown {
  const bytes = Buffer.from(text);
  const message = texts(text, readBackendMessage(bytes));
  for (const whole of [text, withUri(text)]) {
    const answer = readBackendAnswer(Buffer.from(whole));
    const plain = readBackendMessage(Buffer.from(whole));
    if (JSON.stringify({ ...answer, uris: 0 }) !== JSON.stringify({ ...plain, uris: 0 }))
      throw new Error(`the ways differ: ${whole}`);
  }
  return message;
}

/** Adds to an object a member that looks like a URI, in a place where MCP has none. */
function withUri(text: string): string {
  return text.startsWith('{"') ? `{"other":{"uri":"a:b"},${text.slice(1)}` : text;
}

void t.test('client: a call with everything', async (t) => {
  const params =
    '{ "name":"b-t\\u00e9", "arguments":{"name":1},"_meta":{"progressToken":7},"cursor":"c", "requestId":"r" }';
  t.same(client(`{"jsonrpc":"2.0","id":"1","method":"tools/call","params":${params}}`), {
    kind: 'request',
    method: 'tools/call',
    id: '"1"',
    params,
    name: '"b-t\\u00e9"',
    progressToken: '7',
    requestId: '"r"',
    cursor: '"c"',
  });
});

void t.test('client: the members that concern tasks', async (t) => {
  const related = '{"taskId":"a-t"}';
  const meta = `"_meta":{"io.modelcontextprotocol\\/related-task":${related}}`;
  t.same(client(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","task":{"ttl":1},${meta}}}`), {
    kind: 'request',
    method: 'tools/call',
    id: '1',
    params: `{"name":"x","task":{"ttl":1},${meta}}`,
    name: '"x"',
    asksForTask: true,
    relatedTask: related,
  });
  for (const method of ['tasks/get', 'tasks/result', 'tasks/cancel', 'tasks/update']) {
    const params = '{"name":"x","taskId":"a-t"}';
    const read = client(`{"jsonrpc":"2.0","id":1,"method":"${method}","params":${params}}`);
    t.same(read, { kind: 'request', method, id: '1', params, name: '"a-t"' });
    const twice = '{"taskId":"a","TaskId":"b"}';
    t.equal(client(`{"jsonrpc":"2.0","id":1,"method":"${method}","params":${twice}}`), 'not-json-rpc');
  }
  t.same(client(`{"jsonrpc":"2.0","id":1,"result":{${meta}}}`), {
    kind: 'response',
    method: '',
    id: '1',
    relatedTask: related,
  });
  t.same(client(`{"jsonrpc":"2.0","id":1,"result":{${meta},${meta}}}`), { kind: 'response', method: '', id: '1' });
});

void t.test('client: a method with a name longer than any real one is cut off, as it was written', async (t) => {
  const name = 'm\\u00e9'.repeat(METHOD_NAME_BYTES_MAX);
  for (const [method, told] of [
    ['m'.repeat(METHOD_NAME_BYTES_MAX), 'm'.repeat(METHOD_NAME_BYTES_MAX)],
    [name, `${name.slice(0, METHOD_NAME_BYTES_MAX)}…`],
  ])
    t.match(client(`{"jsonrpc":"2.0","id":1,"method":"${method}"}`), { method: told });
});

void t.test('client: the kinds of messages', async (t) => {
  t.same(client('{"jsonrpc":"2.0","id":0,"method":"ping"}'), { kind: 'request', method: 'ping', id: '0' });
  t.same(client('{"jsonrpc":"2.0","id":"","method":"x\\u0079"}'), { kind: 'request', method: 'xy', id: '""' });
  t.same(client('{"jsonrpc":"2.0","method":"notifications/initialized"}'), {
    kind: 'notification',
    method: 'notifications/initialized',
  });
  t.same(client('{"jsonrpc":"2.0","id":1,"result":null}'), { kind: 'response', method: '', id: '1' });
  t.same(client('{"jsonrpc":"2.0","id":1,"error":{}}'), { kind: 'response', method: '', id: '1' });
  t.same(client(' {"\\u006asonrpc":"\\u0032.0","\\u0069d":1.5e3,"metho\\u0064":"ping","extra":[]} '), {
    kind: 'request',
    method: 'ping',
    id: '1.5e3',
  });
});

void t.test('client: a param of the wrong type is left for its method to judge', async (t) => {
  const request = (params: string): unknown => client(`{"jsonrpc":"2.0","id":1,"method":"m","params":${params}}`);
  const base = { kind: 'request', method: 'm', id: '1' };
  t.same(request('{}'), { ...base, params: '{}' });
  for (const params of [
    '{"name":5}',
    '{"name":null}',
    '{"_meta":{"progressToken":null}}',
    '{"_meta":[]}',
    '{"requestId":{}}',
  ]) {
    t.same(request(params), { ...base, params }, params);
  }
  for (const params of ['{"cursor":null}', '{"cursor":""}']) t.same(request(params), { ...base, params }, params);
  t.same(request('{"cursor":12}'), { ...base, params: '{"cursor":12}', cursor: '12' });
  t.same(request('null'), base, 'absent, as clients mean it');
  t.same(request('{"_meta":{"progressToken":""}}'), {
    ...base,
    params: '{"_meta":{"progressToken":""}}',
    progressToken: '""',
  });
});

void t.test('client: not JSON', async (t) => {
  for (const text of ['', '{', '{"jsonrpc":"2.0","id":1,"method":"ping"}}', '\ufeff{}', 'x']) {
    t.equal(client(text), 'not-json', text);
  }
  t.equal(readClientMessage(Buffer.from('{"jsonrpc":"2.0","id":1,"method":"\xff"}', 'latin1')), 'not-json');
});

void t.test('client: JSON, but not a message', async (t) => {
  const refused = [
    ...['1', 'null', '"a"', '{}'],
    ...['"1.0"', '2.0', '"2.0 "', 'null', '["2.0"]'].map((version) => `{"jsonrpc":${version},"id":1,"method":"m"}`),
    '{"id":1,"method":"m"}',
    ...['null', 'true', '{}', '[1]'].map((id) => `{"jsonrpc":"2.0","id":${id},"method":"m"}`),
    ...['null', '1', '{}', '["m"]'].map((method) => `{"jsonrpc":"2.0","id":1,"method":${method}}`),
    ...['[]', '"a"', '1'].map((params) => `{"jsonrpc":"2.0","id":1,"method":"m","params":${params}}`),
    // Neither request nor response, or both.
    '{"jsonrpc":"2.0","id":1}',
    '{"jsonrpc":"2.0","result":{}}',
    '{"jsonrpc":"2.0","id":null,"error":{}}',
    '{"jsonrpc":"2.0","id":1,"result":{},"error":{}}',
    '{"jsonrpc":"2.0","id":1,"error":"x"}',
    '{"jsonrpc":"2.0","id":1,"method":"m","result":{}}',
    '{"jsonrpc":"2.0","id":1,"method":"m","error":{}}',
  ];
  for (const text of refused) t.equal(client(text), 'not-json-rpc', text);
});

void t.test('client: a batch is split into its members, whatever they are', async (t) => {
  const ping = '{"jsonrpc":"2.0","id":1,"method":"ping"}';
  t.same(client('[]'), []);
  t.same(client(` [ ${ping} ,7,"a",[${ping}],{"x":[{}]}, ${ping}] `), [
    ping,
    '7',
    '"a"',
    `[${ping}]`,
    '{"x":[{}]}',
    ping,
  ]);
  t.same(client(`[${ping}`), 'not-json');
  const many = client(`[${Array.from({ length: 5_000 }, () => '1').join()}]`) as unknown[];
  t.equal(many.length, limits.batchMembersMax + 1, 'one more than may be, and no more');
});

void t.test('client: a message that two parsers could read differently is refused', async (t) => {
  const members = { jsonrpc: '"2.0"', id: '1', method: '"m"', params: '{}' };
  const message = Object.entries(members).map(([name, value]) => `"${name}":${value}`);
  t.not(client(`{${message.join(',')}}`), 'not-json-rpc');
  for (const [name, value] of Object.entries({ ...members, result: '{}', error: '{}' })) {
    for (const key of [name, name.toUpperCase(), `\\u00${name.charCodeAt(0).toString(16)}${name.slice(1)}`]) {
      t.equal(client(`{${[...message, `"${key}":${value}`].join(',')}}`), 'not-json-rpc', key);
    }
  }
  const doubles = ['"name":"a","name":"b"', '"name":"a","Name":"b"', '"_meta":{},"_META":{}', '"_meta":{},"_meta":{}'];
  doubles.push(
    '"cursor":"","cursor":""',
    '"requestId":1,"requestid":2',
    '"_meta":{"progressToken":1,"progresstoken":1}',
  );
  for (const double of doubles) {
    t.equal(client(`{"jsonrpc":"2.0","id":1,"method":"m","params":{${double}}}`), 'not-json-rpc', double);
  }
  // A "response" that a backend whose parser ignores case would run as a call.
  const smuggled = '{"jsonrpc":"2.0","id":1,"result":{},"Method":"tools/call","Params":{"name":"forbidden"}}';
  t.equal(client(smuggled), 'not-json-rpc');
});

void t.test('backend: the kinds of messages', async (t) => {
  const base = { method: '', isError: false };
  t.same(backend('{"jsonrpc":"2.0","id":1,"result": {"a":[1]} ,"_x":0}'), {
    ...base,
    kind: 'response',
    id: '1',
    body: '{"a":[1]}',
  });
  const error = { ...base, kind: 'response', isError: true, body: '{"code":-1}' };
  t.same(backend('{"jsonrpc":"2.0","id":"a","error":{"code":-1}}'), { ...error, id: '"a"' });
  t.same(backend('{"jsonrpc":"2.0","id":null,"error":{"code":-1}}'), error);
  t.same(backend('{"jsonrpc":"2.0","error":{"code":-1}}'), error);
  t.same(backend('{"jsonrpc":"2.0","id":7,"method":"roots/list","params":{"progressToken":1}}'), {
    ...base,
    kind: 'request',
    method: 'roots/list',
    id: '7',
    params: '{"progressToken":1}',
  });
  t.same(backend('{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":1}}'), {
    ...base,
    kind: 'notification',
    method: 'notifications/progress',
    params: '{"progressToken":"t","progress":1}',
    progressToken: '"t"',
  });
  t.same(backend('{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":null}'), {
    ...base,
    kind: 'notification',
    method: 'notifications/tools/list_changed',
  });
});

void t.test('backend: of result and error, one may be null', async (t) => {
  const result = backend('{"jsonrpc":"2.0","id":1,"result":{"a":1},"error":null}');
  t.match(result, { kind: 'response', isError: false, body: '{"a":1}' });
  const error = backend('{"jsonrpc":"2.0","id":1,"result":null,"error":{"code":-1}}');
  t.match(error, { kind: 'response', isError: true, body: '{"code":-1}' });
});

void t.test('backend: invalid messages are refused', async (t) => {
  const nonsense = [
    ...['', '{', '[]', 'null', '{}', '{"jsonrpc":"2.0"}', '{"jsonrpc":"2.0","id":1}', '{"id":1,"result":{}}'],
    '{"jsonrpc":"2.0","id":1,"result":{},"error":{}}',
    '{"jsonrpc":"2.0","id":1,"result":null,"error":null,"method":"m"}',
    '{"jsonrpc":"2.0","id":1,"error":null}',
    '{"jsonrpc":"2.0","id":1,"error":"x"}',
    '{"jsonrpc":"2.0","id":null,"result":{}}',
    '{"jsonrpc":"2.0","result":{}}',
    '{"jsonrpc":"2.0","id":{},"result":{}}',
    '{"jsonrpc":"2.0","id":{},"error":{}}',
    '{"jsonrpc":"2.0","id":1,"id":2,"result":{}}',
    '{"jsonrpc":"2.0","id":null,"method":"m"}',
    '{"jsonrpc":"2.0","method":"m","params":[]}',
    '{"jsonrpc":"2.0","method":1}',
    '{"jsonrpc":"2.0","method":"m","params":{"progressToken":1,"progressToken":2}}',
  ];
  for (const text of nonsense) t.equal(backend(text), undefined, text);
});

void t.test('one message does not leak into the next', async (t) => {
  client('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","_meta":{"progressToken":1}}}');
  t.same(client('{"jsonrpc":"2.0","method":"x"}'), { kind: 'notification', method: 'x' });
});

void t.test('known method names, unknown ones, and unknown ones of a known length are decoded', async (t) => {
  for (const method of [
    'initialize',
    'tools/list',
    'tools/call',
    'tools/cull',
    'prompts/get',
    'ping',
    'pong',
    'ring',
    '',
    'é',
  ]) {
    t.same(client(`{"jsonrpc":"2.0","method":${JSON.stringify(method)}}`), { kind: 'notification', method });
  }
});

void t.test('fuzz: agrees with the parsed message', async (t) => {
  const random = new Random(5);
  for (let round = 0; round < 500; round++) {
    const id = random.pick(['1', '"a"', '-0.5', '"\\u0031"']);
    const name = escapedToken(random, random.pick(['b-tool', 'x', '', 'b-é']));
    const params = [`${escapedToken(random, 'name')}:${name}`, `"arguments":${randomJson(random, 4)}`, '"z":0'];
    const members = [
      `${escapedToken(random, 'jsonrpc')}: "2.0"`,
      `${escapedToken(random, 'id')} :${id}`,
      `${escapedToken(random, 'method')}:${escapedToken(random, 'tools/call')}`,
      `${escapedToken(random, 'params')}:{${random.chance(0.5) ? params.join(', ') : params.toReversed().join()}}`,
    ];
    const text = `{${random.chance(0.5) ? members.join() : members.toReversed().join('\n,')}}`;
    const bytes = Buffer.from(text);
    const message = readClientMessage(bytes);
    if (typeof message === 'string' || message.kind === 'batch') throw new Error(printable(text));
    const parsed = JSON.parse(text) as { id: unknown; method: string; params: { name: string } };
    const at = (start: number, end: number): unknown => JSON.parse(bytes.toString('utf8', start, end));
    t.equal(message.method, parsed.method);
    t.equal(at(message.idStart, message.idEnd), parsed.id);
    t.equal(at(message.nameStart, message.nameEnd), parsed.params.name);
    t.same(at(message.paramsStart, message.paramsEnd), parsed.params);
    if (!t.passing()) throw new Error(printable(text));
  }
});

void t.test('two ids are the same when their values and types are', async (t) => {
  const tokens = [
    '1',
    '1.0',
    '10e-1',
    '"1"',
    '0',
    '-0',
    '""',
    '"a"',
    '"\\u0061"',
    '"A"',
    '"1.0"',
    '12',
    '"\\""',
    '9007199254740993',
  ];
  for (const a of tokens) {
    for (const b of tokens) {
      const expected = JSON.parse(a) === JSON.parse(b);
      // Offsets other than zero, so that a forgotten offset shows.
      const inA = Buffer.from(`[${a}]`);
      const inB = Buffer.from(`[ ${b}]`);
      t.equal(isSameId(inA, 1, inA.length - 1, inB, 2, inB.length - 1), expected, `${a} and ${b}`);
      t.equal(idKey(inA, 1, inA.length - 1) === idKey(inB, 2, inB.length - 1), expected, `keys of ${a} and ${b}`);
    }
  }
});

void t.test('client: which name or URI a request is about depends on its method', async (t) => {
  const about = (method: string, params: string): unknown => {
    const text = `{"jsonrpc":"2.0","id":1,"method":"${method}","params":${params}}`;
    const message = readClientMessage(Buffer.from(text));
    if (typeof message === 'string' || message.kind === 'batch') return message;
    if (message.nameStart === -1) return undefined;
    return [Buffer.from(text).toString('utf8', message.nameStart, message.nameEnd), message.isUri];
  };
  const params = '{"uri":"u:r","name":"n","ref":{"uri":"r:u","name":"m","type":"ref/prompt"}}';
  for (const method of ['resources/read', 'resources/subscribe', 'resources/unsubscribe'])
    t.same(about(method, params), ['"u:r"', true], method);
  for (const method of ['tools/call', 'prompts/get', 'other']) t.same(about(method, params), ['"n"', false], method);
  t.same(about('completion/complete', params), ['"m"', false]);
  t.same(about('completion/complete', params.replace('prompt', 'resource')), ['"r:u"', true]);
  t.same(about('completion/complete', params.replace('ref/', '\\u0072ef/')), ['"m"', false]);
  t.equal(about('completion/complete', params.replace('"type"', '"kind"')), undefined);
  t.equal(about('completion/complete', '{"ref":"x"}'), undefined);
  t.equal(about('resources/read', '{"uri":1}'), undefined);
  t.equal(about('resources/read', '{"uri":"a","Uri":"b"}'), 'not-json-rpc');
  t.equal(about('completion/complete', '{"ref":{},"ref":{}}'), 'not-json-rpc');
  t.equal(about('completion/complete', '{"ref":{"type":"ref/prompt","name":"a","name":"b"}}'), 'not-json-rpc');
  t.same(about('tools/call', '{"name":"n","uri":1,"uri":2}'), ['"n"', false], 'elsewhere it may be anything');
});

void t.test('backend: a message that begins with its result is known by that, before the rest has come', async (t) => {
  for (const beginning of [
    '{"result":{"con',
    '{"jsonrpc":"2.0","id":1,"result":{',
    '{"id":"a","x":{"y":[1]},"result":"',
    '{"jsonrpc":"2.0","id":1,"result":{}}',
  ])
    t.equal(beginsWithResult(Buffer.from(beginning)), true, beginning);
  for (const beginning of [
    '',
    '{',
    '{"jsonrpc":"2.0","id":1',
    '{"jsonrpc":"2.0","method":"result","params":{"result":1}}',
    '{"params":{"result":{}},"id":',
    '{"error":{"result":1}}',
    '["result"]',
    '{"x":"result"}',
    '{"resulting":1}',
  ])
    t.equal(beginsWithResult(Buffer.from(beginning)), false, beginning);
});
