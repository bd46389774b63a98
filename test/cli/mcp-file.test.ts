// Clients' configuration files, row by row: what is registered, what is bridged, what is refused, and that no secret is passed on.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import t from 'tap';
import { readMcpFile, type ImportOptions } from '../../src/cli/mcp-file.js';
import { ControlPlaneConnection } from '../../src/cli/control-plane-connection.js';
import { exportServers, importServers } from '../../src/cli/server-files.js';
import { createScratchDirectory } from '../support/scratch-directory.js';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

const WAY: ImportOptions = { secretsIn: 'store', bridge: 'supergateway', bridgePort: 8100 };
const SECRET = 'ghp_0123456789abcdefABCDEF0123456789abcd';
let printed = '';
const print = async (text: string): Promise<void> => void (printed += text);

const read = (servers: object, way = WAY) => readMcpFile(JSON.stringify({ mcpServers: servers }), way);

t.test('each format of file is read, with comments and trailing commas', async (t) => {
  const server = '{"a": {"type": "http", "url": "https://a.example/mcp"}}';
  for (const text of [
    `{"mcpServers": ${server}}`,
    `{"servers": ${server}, "inputs": []}`,
    `{"editor.fontSize": 12, "mcp": {"servers": ${server}}}`,
    `\uFEFF// mine\n{"servers": /* all */ {"a": {"type": "http", "url": "https://a.example/mcp",},},}`,
  ]) {
    t.match(
      await readMcpFile(text, WAY),
      [{ kind: 'remote', name: 'a', body: { url: 'https://a.example/mcp' } }],
      text,
    );
  }
  for (const text of ['', '[]', '7', '{}', '{"servers": []}', '{"servers": 7}', '{"mcpServers": {"a"}}']) {
    await t.rejects(readMcpFile(text, WAY), { name: 'CliFault', exitStatus: 65 }, text);
  }
});

t.test('a fault in JSON is reported by its position, without any of the text', async (t) => {
  const faults: Readonly<Record<string, string>> = {
    '{"servers": {"a": 1 "b": 2}}': 'line 1, column 21 a comma is missing',
    '{\r\n// mine\r\n"servers": {"a"}}': 'line 3, column 16 a colon is missing',
    '{"servers": {"a": {': 'line 1, column 20 a closing brace is missing',
    [`{"servers": ${SECRET}}`]: 'line 1, column 13 is not a value: names and strings must be in double quotes',
    '{"servers": {}} {}': 'line 1, column 17 there is text after the end',
    [`{"servers": ${'['.repeat(200_000)}`]: 'nested too deeply',
  };
  for (const [text, fault] of Object.entries(faults)) {
    const shown = text.slice(0, 80);
    try {
      await readMcpFile(text, WAY);
      t.fail(shown);
    } catch (error) {
      t.match(error, { name: 'CliFault', exitStatus: 65, message: /^the file is not JSON: / }, shown);
      t.ok(String(error).endsWith(fault), `${shown}: ${String(error)}`);
      t.notMatch(String(error), SECRET);
    }
  }
});

t.test('a URL that was pasted with spaces around it is the URL', async (t) => {
  const [server] = await read({ wiki: { url: ' https://wiki.example/mcp\n' } });
  t.equal(server?.kind === 'remote' && (server.body as { readonly url: string }).url, 'https://wiki.example/mcp');
});

t.test('headers become names of secrets, and their values are not passed on', async (t) => {
  const headers = { Authorization: `Bearer ${SECRET}`, 'X-Api-Key': '${input:key}' };
  const [server] = await read({ 'My Git': { url: 'https://git.example/mcp', headers } });
  t.strictSame(server?.kind === 'remote' && server.body, {
    ...{ name: 'My Git', url: 'https://git.example/mcp', transport: 'STREAMABLEHTTP' },
    ...{ description: undefined, tags: undefined, curation: undefined, enabled: undefined },
    auth: {
      type: 'headers',
      headers: { Authorization: { secret: 'my-git-authorization' }, 'X-Api-Key': { secret: 'my-git-x-api-key' } },
    },
  });
  t.match(server, {
    secrets: [
      { secret: 'my-git-authorization', header: 'Authorization', origin: 'https://git.example' },
      { secret: 'my-git-x-api-key', header: 'X-Api-Key' },
    ],
  });
  t.notMatch(JSON.stringify(server), new RegExp(SECRET));
  const two = await read({
    'a b': { url: 'https://a.example', headers: { k: 'v' } },
    'a-b': { url: 'https://b.example', headers: { k: 'w' } },
  });
  t.match(two, [{ secrets: [{ secret: 'a-b-k' }] }, { secrets: [{ secret: 'a-b-k-2' }] }], 'each has its own');
  const filed = await read({ a: { url: 'https://a.example', headers: { k: 'v' } } }, { ...WAY, secretsIn: 'files' });
  t.match(filed, [{ body: { auth: { headers: { k: { file: 'a-k' } } } } }]);
});

t.test('an entry that cannot be registered is refused with the reason, without its secret', async (t) => {
  for (const [said, why] of [
    [{ url: `https://u:${SECRET}@a.example/mcp` }, /user or password/],
    [{ url: `https://a.example/mcp?api_key=${SECRET}` }, /looks like a secret/],
    [{ url: `https://a.example/mcp?x=${SECRET}` }, /looks like a secret/],
    [{ url: 'https://a.example/${env:PLACE}' }, /placeholder/],
    [{ url: 'a.example/mcp' }, /URL that is not absolute/],
    [{ url: 'ftp://a.example' }, /neither http nor https/],
    [{ url: 'wss://a.example', type: 'ws' }, /neither http nor https/],
    [{ url: 'https://a.example', type: 'ws' }, /neither http nor sse/],
    [{ url: 'https://a.example', type: 'constructor' }, /neither http nor sse/],
    [{ url: 'https://a.example', headers: { a: 7 } }, /a member of a wrong type: headers\.a/],
    [{ url: 'https://a.example', enabled: 'no' }, /a member of a wrong type: disabled/],
    [{ url: 'https://a.example/1', serverUrl: 'https://a.example/2' }, /two members for its url, which differ/],
    [{ url: 'https://a.example/$PLACE' }, /placeholder/],
    [{ url: 'https://a.example/{{PLACE}}' }, /placeholder/],
    [{ command: 'npx', args: ['mcp-remote', `https://u:${SECRET}@a.example/mcp`] }, /user or password/],
    [{}, /neither a url nor a command/],
    [{ source: 'extension', settings: { key: SECRET } }, /neither a url nor a command/],
    [7, /not an object/],
  ] as const) {
    const [server] = await read({ a: said });
    t.match(server, { kind: 'refused', notes: [why] }, JSON.stringify(said));
    t.notMatch(JSON.stringify(server), new RegExp(SECRET));
  }
  t.match(await read({ a: { url: 'https://a.example/sse', type: 'sse' } }), [{ body: { transport: 'SSE' } }]);
  t.match(await read({ a: { url: 'https://a.example/mcp?region=eu', disabled: true } }), [
    { body: { enabled: false } },
  ]);
});

t.test('a server on standard input and output is listed with the command that gives it a URL', async (t) => {
  const files = { command: 'npx', args: ['-y', '@scope/files', "/it's here"], env: { TOKEN: SECRET }, cwd: '/srv/a b' };
  const [one, two] = await read({ files, other: { command: 'uvx', args: ['x'] } });
  t.strictSame(one, {
    ...{ kind: 'stdio', name: 'files', notes: [], url: 'http://127.0.0.1:8100/mcp' },
    command: `cd '/srv/a b' && TOKEN="$TOKEN" npx -y supergateway --stdio 'npx -y @scope/files '\\''/it'\\''\\'\\'''\\''s here'\\''' --outputTransport streamableHttp --stateful --port 8100`,
  });
  t.match(two, { url: 'http://127.0.0.1:8101/mcp', command: /--stdio 'uvx x' .* --port 8101$/ });
  const [proxied] = await read({ other: { command: 'uvx', args: ['x y'] } }, { ...WAY, bridge: 'mcp-proxy' });
  t.match(proxied, { command: "npx -y mcp-proxy --host 127.0.0.1 --server stream --port 8100 -- uvx 'x y'" });
});

t.test('an import waits as long as it is told to, and what is registered already is not sent again', async (t) => {
  const registered: Record<string, unknown>[] = [];
  let refusals = 0;
  const server = createServer((request, response) => {
    if (request.method === 'GET') return void response.end(JSON.stringify(registered));
    if (refusals < 3) {
      refusals += 1;
      return void response.writeHead(429, { 'retry-after': '0' }).end('{"detail":"Too many requests"}');
    }
    let text = '';
    request.setEncoding('utf8').on('data', (piece: string) => (text += piece));
    request.on('end', () => {
      registered.push(JSON.parse(text) as Record<string, unknown>);
      response.writeHead(201).end('{"status":"active"}');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => void server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const connection = new ControlPlaneConnection(url, 'token');
  const file = join(createScratchDirectory(t), 'mcp.json');
  const servers = { a: { url: 'https://a.example' }, b: { url: 'https://b.example', headers: { k: 'v' } } };
  writeFileSync(file, JSON.stringify({ mcpServers: servers }));
  const run = async (): Promise<unknown> =>
    (await importServers({ file, importOptions: WAY, isTrial: false }, { connection, columns: undefined, print }))
      .answer;
  t.match(await run(), [{ outcome: 'registered' }, { outcome: 'registered' }]);
  t.equal(refusals, 3);
  t.match(await run(), [{ outcome: 'registered already' }, { outcome: 'registered already' }]);
  t.equal(registered.length, 2);
});

t.test('an import of a disabled server says so, also from a file in UTF-16', async (t) => {
  const file = join(createScratchDirectory(t), 'mcp.json');
  const servers = { a: { url: 'https://a.example', disabled: true }, b: { command: 'b', enabled: false } };
  writeFileSync(file, `\uFEFF${JSON.stringify({ mcpServers: servers })}`, 'utf16le');
  const bodies: unknown[] = [];
  const connection = {
    request: async (_method: string, _path: string, body: unknown) => (bodies.push(body), { status: 'inactive' }),
    list: async () => [],
  };
  printed = '';
  const { answer } = await importServers(
    { file, importOptions: WAY, isTrial: false },
    { connection, columns: undefined, print },
  );
  t.match(bodies, [{ name: 'a', enabled: false }]);
  t.match(answer, [
    { name: 'a', outcome: 'registered', status: 'inactive', why: 'disabled in the file' },
    { name: 'b', outcome: 'to be bridged', why: 'disabled in the file' },
  ]);
  t.match(printed, /^a +registered +inactive, disabled in the file$/m);
});

t.test('an import that is interrupted has said what became of each server so far, in one table', async (t) => {
  const file = join(createScratchDirectory(t), 'mcp.json');
  const servers = {
    a: { url: 'https://a.example' },
    'a-long-name': { url: 'https://b.example' },
    c: { url: 'https://c.example' },
  };
  writeFileSync(file, JSON.stringify({ mcpServers: servers }));
  printed = '';
  const before: string[] = [];
  const connection = {
    request: async () => {
      before.push(printed);
      if (before.length === 3) throw new Error('interrupted');
      return { status: 'active' };
    },
    list: async () => [],
  };
  await t.rejects(
    importServers({ file, importOptions: WAY, isTrial: false }, { connection, columns: undefined, print }),
    /interrupted/,
  );
  const head = 'NAME         OUTCOME             DETAIL\n';
  const [first, second] = ['a            registered          active\n', 'a-long-name  registered          active\n'];
  t.same(before, ['', head + first, head + first + second]);
});

t.test('an import reports the outcome of each server, and can read what an export writes', async (t) => {
  const file = join(createScratchDirectory(t), 'mcp.json');
  const headers = { authorization: `Bearer ${SECRET}` };
  const text = { git: { url: 'https://git.example/mcp', headers }, sh: { command: 'sh' }, no: { url: 'x' } };
  writeFileSync(file, JSON.stringify({ mcpServers: text }));
  const asked: unknown[] = [];
  const connection = {
    request: async (...words: unknown[]) => (asked.push(words), { status: 'inactive', lastError: 'it is down' }),
    list: async () => [
      {
        name: 'a',
        url: 'https://a.example',
        transport: 'SSE',
        enabled: false,
        tags: ['t'],
        auth: { type: 'headers', headers: { k: { secret: 's' } } },
      },
      { name: 'b', url: 'https://b.example', auth: { type: 'oauth2-user', scope: 'x' }, curation: { prefix: 'p' } },
    ],
  };
  const trial = await importServers(
    { file, importOptions: WAY, isTrial: true },
    { connection, columns: undefined, print },
  );
  t.strictSame([asked, trial.exitStatus], [[], 65], 'a trial asks nothing');
  const outcome = await importServers(
    { file, importOptions: WAY, isTrial: false },
    { connection, columns: undefined, print },
  );
  t.match(asked, [['POST', '/servers', { name: 'git' }]]);
  t.match(outcome.answer, [
    { outcome: 'registered', status: 'inactive', lastError: 'it is down' },
    { outcome: 'to be bridged' },
    { outcome: 'refused' },
  ]);
  const words = String(outcome.text);
  t.match(words, 'switchyard secrets set git-authorization --origins https://git.example');
  t.match(words, 'switchyard servers add sh http://127.0.0.1:8100/mcp');
  t.match(words, 'for those of another file, begin with --bridge-port 8101', 'each file begins at the same port');
  t.notMatch(words + JSON.stringify([asked, outcome.answer]), new RegExp(SECRET));
  const exported = await exportServers({}, { connection });
  t.match(exported.answer, {
    mcpServers: { a: { type: 'sse', url: 'https://a.example', headers: { k: '${secret:s}' }, disabled: true } },
  });
  const [a, b] = await readMcpFile(String(exported.text), WAY);
  t.match(a, {
    body: { transport: 'SSE', enabled: false, tags: ['t'], auth: { headers: { k: { secret: 's' } } } },
    secrets: { length: 0 },
  });
  t.match(b, { body: { auth: { type: 'oauth2-user', scope: 'x' }, curation: { prefix: 'p' } } });
  await t.rejects(
    importServers(
      { file: join(file, 'none'), importOptions: WAY, isTrial: true },
      { connection, columns: undefined, print },
    ),
    { name: 'CliFault' },
  );
});
