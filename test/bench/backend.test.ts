// The backends' process over a real socket: how it responds, however its requests are split.
import { fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { resourceAnswer, resourceUri } from '../../bench/resource.js';
import { modernBody } from '../../bench/modern-message.js';
import {
  addTool,
  asEventStream,
  confirmTool,
  fetchTool,
  modernAnswerTail,
  storeTool,
  toolAnswer,
} from '../../bench/tool.js';
import { listAnswer, toolTexts } from '../../bench/tool-list.js';
import { freePort, waitUntilAnswering } from '../../bench/loopback.js';
import { killWithProcess } from '../support/leftovers.js';
import { until } from '../support/until.js';

const program = fileURLToPath(new URL('../../bench/backend.js', import.meta.url));
const child = fork(program, ['0']);
killWithProcess(child);
t.teardown(() => child.kill('SIGKILL'));
const [ports] = (await once(child, 'message')) as [number[]];

function request(path: string, body: string, headers = 'mcp-session-id: s\r\n', method = 'POST'): string {
  return `${method} ${path} HTTP/1.1\r\nHost: a\r\n${headers}Content-Length: ${body.length}\r\n\r\n${body}`;
}

function call(id: string, params = '{"name":"add","arguments":{"a":3,"b":4}}'): string {
  return `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":${params}}`;
}

/** Writes the pieces one after another; returns the response once it has `bytesExpected` bytes or the connection ends. */
async function exchange(pieces: readonly string[], bytesExpected: number): Promise<string> {
  const socket = connect({ port: ports[0] ?? 0, host: '127.0.0.1', noDelay: true });
  socket.setEncoding('latin1');
  let received = '';
  for (const piece of pieces) await new Promise<void>((resolve) => void socket.write(piece, () => resolve()));
  for await (const chunk of socket) {
    received += chunk as string;
    if (received.length >= bytesExpected) break;
  }
  socket.destroy();
  return received;
}

function jsonAnswer(message: string): string {
  return `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${message.length}\r\n\r\n${message}`;
}

t.test('a call is answered by the backend of the path, with its own id', async (t) => {
  for (const [backend, id] of [
    ['alpha', '0'],
    ['beta', '17'],
    ['beta', '"x"'],
  ] as const) {
    const expected = jsonAnswer(toolAnswer(backend, id));
    t.equal(await exchange([request(`/${backend}/json`, call(id))], expected.length), expected);
  }
});

t.test('requests cut into single bytes, and two in one piece, are answered all the same', async (t) => {
  const one = request('/alpha/json', call('1'));
  const expected = jsonAnswer(toolAnswer('alpha', '1'));
  t.equal(await exchange([...one], expected.length), expected);
  t.equal(await exchange([one + one], expected.length * 2), expected + expected);
});

t.test('an event stream carries the answer as its one event, chunked', async (t) => {
  const events = asEventStream(toolAnswer('beta', '5'));
  const end = `\r\n\r\n${events.length.toString(16)}\r\n${events}\r\n0\r\n\r\n`;
  const received = await exchange([request('/beta/event-stream', call('5'))], 1);
  t.ok(received.startsWith('HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n'));
  t.ok(received.endsWith(end), received);
});

t.test('initialize opens a session, notifications are accepted, DELETE ends', async (t) => {
  const opened = await exchange([request('/alpha/json', '{"jsonrpc":"2.0","id":1,"method":"initialize"}', '')], 1);
  t.match(opened, /^HTTP\/1.1 200 OK\r\nmcp-session-id: [0-9a-f-]{36}\r\n/);
  const notification = '{"jsonrpc":"2.0","method":"notifications/initialized"}';
  t.match(await exchange([request('/alpha/json', notification)], 1), /^HTTP\/1.1 202 /);
  t.match(await exchange([request('/alpha/json', '', '', 'DELETE')], 1), /^HTTP\/1.1 200 /);
});

t.test('damaged calls are refused', async (t) => {
  const damaged = [
    request('/alpha/json', call('1'), ''),
    request('/alpha/json', call('1', '{"name":"alpha-add","arguments":{"a":3,"b":4}}')),
    request('/alpha/json', call('1', '{"name":"add","arguments":{"a":3, "b":4}}')),
    request('/alpha/xml', call('1')),
  ];
  for (const each of damaged) t.match(await exchange([each], 1), /^HTTP\/1.1 4\d\d /);
});

t.test('a mebibyte is received in pieces and returned whole', async (t) => {
  const stored = jsonAnswer(toolAnswer('alpha', '6', storeTool));
  const body = call('6', `{"name":"store","arguments":${storeTool.arguments}}`);
  t.ok(body.length > 1024 * 1024);
  const whole = request('/alpha/json', body);
  t.equal(
    await exchange([whole.slice(0, 100), whole.slice(100, 700_000), whole.slice(700_000)], stored.length),
    stored,
  );
  const fetched = jsonAnswer(toolAnswer('alpha', '7', fetchTool));
  t.equal(
    await exchange([request('/alpha/json', call('7', '{"name":"fetch","arguments":{}}'))], fetched.length),
    fetched,
  );
});

t.test('a list has as many tools as its path says, about a kilobyte each', async (t) => {
  const body = '{"jsonrpc":"2.0","id":8,"method":"tools/list"}';
  const expected = jsonAnswer(listAnswer('8', toolTexts(250)));
  t.equal(await exchange([request('/beta/json/250', body)], expected.length), expected);
  t.ok(expected.length > 250 * 900 && expected.length < 250 * 2_000, `${expected.length} bytes`);
});

t.test('a resource is returned for its URI', async (t) => {
  const body = (uri: string): string => `{"jsonrpc":"2.0","id":9,"method":"resources/read","params":{"uri":"${uri}"}}`;
  const expected = jsonAnswer(resourceAnswer('beta', '9', resourceUri));
  t.equal(await exchange([request('/beta/json/1/resources', body(resourceUri))], expected.length), expected);
  const other = request('/beta/json/1/resources', body(`beta+${resourceUri}`));
  t.match(await exchange([other], 1), /^HTTP\/1.1 422 /);
});

t.test('a call that asks first ends once it was answered, on whatever connection', async (t) => {
  const asking = connect({ port: ports[0] ?? 0, host: '127.0.0.1', noDelay: true });
  asking.setEncoding('latin1');
  t.teardown(() => asking.destroy());
  let received = '';
  asking.on('data', (chunk: string) => (received += chunk));
  asking.write(request('/alpha/json/1/none', call('3', `{"name":"confirm","arguments":${confirmTool.arguments}}`)));
  await until(() => received.includes('\n\n'), 'the question');
  const id = /"id":("confirm-\d+"),"method":"elicitation\/create"/.exec(received)?.[1] ?? '';
  const reply = (result: string): string => `{"jsonrpc":"2.0","id":${id},"result":${result}}`;
  const declined = request('/alpha/json/1/none', reply('{"action":"decline"}'));
  t.match(await exchange([declined], 1), /^HTTP\/1.1 202 /, 'nobody waits for this');
  t.notOk(received.includes('"result"'));
  t.match(await exchange([request('/alpha/json/1/none', reply('{"action":"accept"}'))], 1), /^HTTP\/1.1 202 /);
  await until(() => received.endsWith('0\r\n\r\n'), 'the end of the call');
  t.ok(received.includes(asEventStream(toolAnswer('alpha', '3', confirmTool))));
});

t.test('a GET stream is available where the path says so, and declared', async (t) => {
  t.match(await exchange([request('/alpha/json/1/changes', '', '', 'GET')], 1), /^HTTP\/1.1 200 .*text\/event-stream/s);
  t.match(await exchange([request('/alpha/json/1/none', '', '', 'GET')], 1), /^HTTP\/1.1 405 /);
  const initialize = '{"jsonrpc":"2.0","id":1,"method":"initialize"}';
  t.match(await exchange([request('/alpha/json/1/changes', initialize, '')], 1), /"tools":{"listChanged":true}/);
});

t.test('started by hand, as for another gateway, the backends listen and answer', async (t) => {
  const port = await freePort();
  const backend = spawn(process.execPath, [program, String(port)], { stdio: 'inherit' });
  killWithProcess(backend);
  t.teardown(() => backend.kill());
  const url = `http://127.0.0.1:${port}/alpha/json/1`;
  await waitUntilAnswering('the backend', url);
  const body = JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'ping' });
  const answer = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
  t.equal(answer.status, 200);
  t.same(await answer.json(), { jsonrpc: '2.0', id: 7, result: {} });
});

t.test('a backend of 2026-07-28 speaks nothing else', async (t) => {
  const path = '/alpha/json/1/modern';
  const head = { 'mcp-protocol-version': '2026-07-28' };
  const words = Object.entries(head)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('');
  const expected = jsonAnswer(`{"jsonrpc":"2.0","id":4${modernAnswerTail('alpha', addTool)}`);
  const body = modernBody(4, 'tools/call', '"name":"add","arguments":{"a":3,"b":4}');
  t.equal(await exchange([request(path, body, words)], expected.length), expected);
  const damaged = modernBody(4, 'tools/call', '"name":"add","arguments":{"a":4,"b":4}');
  t.match(await exchange([request(path, damaged, words)], 1), /^HTTP\/1.1 422 /);
  const found = await exchange([request(path, modernBody(1, 'server/discover', ''), words)], 1);
  t.match(found, /^HTTP\/1.1 200 OK.*"supportedVersions":\["2026-07-28"\]/s);
  const initialize = '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}';
  t.match(await exchange([request(path, initialize, '')], 1), /^HTTP\/1.1 400 .*-32022/s);
});
