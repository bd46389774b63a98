// The commands for users of a running control plane: what they print, and the exit statuses of docs/cli.md.
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { ApiCaller, newName, startControlPlane } from '../../support/control-plane.js';
import { backendFor } from '../../support/deployment.js';
import { findFreePort } from '../../support/free-port.js';
import { runProgram, type ProgramRun } from '../../support/gateway.js';
import { createKeyPair } from '../../support/keys.js';
import { createScratchDirectory } from '../../support/scratch-directory.js';

const exit = {
  done: 0,
  unread: 1,
  usage: 64,
  refused: 65,
  notFound: 66,
  unavailable: 69,
  tryAgain: 75,
  notAllowed: 77,
};

// No health check may run between a change of a server and the command that reads it.
const controlPlane = await startControlPlane(t, { options: ['--health-check-interval', '1h'] });
const token = await controlPlane.token('people@example.com');

async function run(...words: string[]): Promise<ProgramRun> {
  return runProgram(words, {
    environment: { SWITCHYARD_TOKEN: token, SWITCHYARD_CONTROL_PLANE_URL: controlPlane.origin },
  });
}

/** Runs a command that must succeed. Returns its output. */
async function done(...words: string[]): Promise<string> {
  const { code, output, errorOutput } = await run(...words);
  if (code !== exit.done || errorOutput !== '') throw new Error(`${words.join(' ')}: ${code} ${errorOutput}`);
  return output;
}

t.jobs = 2;

const PLAIN_HTTP = 'note +plain HTTP: .* --upstream-connection-mode plain-text-or-tls\n';

void t.test("servers import registers what a client's settings have, and again changes nothing", async (t) => {
  const backend = await backendFor(t, { tools: ['one'] });
  const [direct, behind, disabled] = [newName('direct'), newName('behind'), newName('disabled')];
  const file = join(createScratchDirectory(t), 'config.toml');
  writeFileSync(
    file,
    `model = "some-model"
[mcp_servers.${direct}]
url = "${backend.url}"
[mcp_servers.${behind}]
command = "npx"
args = ["-y", "mcp-remote@latest", "${backend.url}", "--allow-http"]
[mcp_servers.${disabled}]
url = "${backend.url}"
enabled = false
`,
  );
  const first = await done('servers', 'import', file);
  t.match(first, new RegExp(`^${direct} +registered +active\n${behind} +registered +active\n`, 'm'));
  t.match(first, new RegExp(`^${disabled} +registered +active, disabled in the file$`, 'm'));
  const caller = new ApiCaller(t, controlPlane, token, 'people@example.com');
  t.match((await caller.get(`/servers/${disabled}`)).json(), { url: backend.url, enabled: false });
  const second = JSON.parse(await done('servers', 'import', file, '--json')) as object;
  t.match(second, Array(3).fill({ outcome: 'registered already' }));
  for (const name of [direct, behind, disabled]) await caller.delete(`/servers/${name}`);
});

void t.test('servers add, list, show, refresh, remove', async (t) => {
  const tools = ['one', { name: 'two', description: 'Second.\u001b[31m', inputSchema: { type: 'object' } }];
  const backend = await backendFor(t, { tools });
  const [name, tag] = [newName('server'), newName('tag')];
  const added = await done(
    'servers',
    'add',
    name,
    backend.url,
    '--description',
    'Says it again.',
    '--tags',
    `${tag},b`,
  );
  t.match(
    added,
    new RegExp(`^name +${name}\nstatus +active\nurl +${backend.url}\n${PLAIN_HTTP}description +Says it again\\.\n`),
  );

  const encrypted = newName('server');
  t.notMatch(await done('servers', 'add', encrypted, 'https://127.0.0.1:1/mcp'), /^note/m);
  await done('servers', 'remove', encrypted);

  const listed = (await done('servers', 'list', '--tags', tag)).split('\n');
  t.match(listed[0], /^NAME +STATUS +TOOLS +TAGS +URL +LAST ERROR$/);
  t.match(listed[1], new RegExp(`^${name} +active +2 +${tag},b +${backend.url}$`));
  t.equal(listed.length, 3);
  t.equal(await done('servers', 'list', '--tags', tag, '--status', 'inactive'), 'No servers.\n');

  const shown = await done('servers', 'show', name.toUpperCase());
  t.match(shown, /\nTOOL +DESCRIPTION\none +Echoes .*\ntwo +Second\.\u{FFFD}\[31m\n/u, 'no command to the terminal');

  tools.push('three');
  t.equal(await done('servers', 'refresh', name), 'status  active\ntools   1 added, 0 updated, 0 removed\n');
  await backend.close();
  const unread = await run('servers', 'refresh', name);
  t.equal(unread.code, exit.unread);
  t.match(unread.output, /^status +inactive\nerror +it refuses connections\n$/);

  t.equal(await done('servers', 'remove', name), `Removed ${name}.\n`);
  t.equal((await run('servers', 'show', name)).code, exit.notFound);
});

void t.test('compositions create, list, show, delete', async (t) => {
  const backend = await backendFor(t, { tools: ['one', 'a:b'] });
  const [server, name] = [newName('server'), newName('composition')];
  await done('servers', 'add', server, backend.url);
  const words = [
    `${server}:one`,
    `${server}:a:b`,
    `${server}:none`,
    '--subjects',
    'alice,bob',
    '--description',
    'Three.',
  ];
  const [refused] = [await run('compositions', 'create', name, ...words)];
  t.match(
    [refused.code, refused.errorOutput],
    [exit.refused, /servers\.0\.tools\.2 "[^"]+" is not a tool of .*--force/],
  );
  const created = await done('compositions', 'create', name, ...words, '--force');
  t.match(
    created,
    new RegExp(`^name +${name}\ndescription +Three\\.\ntools +${server}:one, ${server}:a:b, ${server}:none\n`),
  );
  t.match(created, new RegExp(`\nmissing +${server}:none\nsubjects +alice, bob\nid +[0-9a-f]{32}\n$`));
  t.equal(await done('compositions', 'show', name), created);
  const listed = (await done('compositions', 'list')).split('\n');
  t.match(listed[0], /^NAME +ID +TOOLS +SUBJECTS +MISSING$/);
  t.match(
    listed[1],
    new RegExp(`^${name} +[0-9a-f]{32} +${server}:one,${server}:a:b,${server}:none +alice,bob +${server}:none$`),
  );

  const own = newName('own');
  t.match(await done('compositions', 'create', own, `${server}:one`), /\nsubjects +people@example\.com\n/);
  t.equal(await done('compositions', 'delete', own), `Deleted ${own}.\n`);
  t.equal((await run('compositions', 'show', own)).code, exit.notFound);
});

void t.test('servers update, enable, disable, rename: members that are not named keep their values', async (t) => {
  const backend = await backendFor(t, { tools: ['one'] });
  const [name, newer] = [newName('server'), newName('server')];
  const json = async (...words: string[]): Promise<Record<string, unknown>> =>
    JSON.parse(await done(...words, '--json')) as Record<string, unknown>;
  const added = await json('servers', 'add', name, backend.url, '--description', 'Old.', '--tags', 'a');
  const { id, slug, url } = added;
  t.match(await json('servers', 'update', name, '--description', 'New.'), {
    id,
    url,
    description: 'New.',
    tags: ['a'],
  });
  t.match(await json('servers', 'disable', name), { id, enabled: false, description: 'New.' });
  t.match(await json('servers', 'enable', name), { id, enabled: true });
  t.match(await json('servers', 'rename', name, newer), { id, name: newer, url, tags: ['a'] });
  t.not((await json('servers', 'show', newer))['slug'], slug, 'the prefix follows the name');
  t.equal((await run('servers', 'rename', name, 'x')).code, exit.notFound);
});

void t.test('--exposure search: set for a new composition, and kept until it is changed', async (t) => {
  const backend = await backendFor(t, { tools: ['one'] });
  const [server, name] = [newName('server'), newName('composition')];
  await done('servers', 'add', server, backend.url);
  const created = await done('compositions', 'create', name, `${server}:one`, '--exposure', 'search');
  t.match(created, /\nexposure +search\n/);
  t.match(await done('compositions', 'update', name, '--description', 'Other.'), /\nexposure +search\n/);
  t.notMatch(await done('compositions', 'update', name, '--exposure', 'all'), /exposure/);
});

void t.test('compositions update: the same composition, so its URL stays', async (t) => {
  const backend = await backendFor(t, { tools: ['one', 'two'] });
  const [server, other, name] = [newName('server'), newName('server'), newName('composition')];
  await done('servers', 'add', server, backend.url);
  await done('servers', 'add', other, backend.url);
  const created = JSON.parse(await done('compositions', 'create', name, `${server}:one`, '--json')) as { id: string };
  const words = ['--tools', `${server}:two,${other}:one`, '--description', 'Two.', '--force'];
  const changed = JSON.parse(await done('compositions', 'update', name, ...words, '--json')) as object;
  t.match(changed, {
    id: created.id,
    description: 'Two.',
    subjects: ['people@example.com'],
    servers: [
      { name: server, tools: ['two'] },
      { name: other, tools: ['one'] },
    ],
  });
  const renamed = JSON.parse(await done('compositions', 'update', name, '--name', newName('c'), '--json')) as object;
  t.match(renamed, { id: created.id, servers: [{ tools: ['two'] }, { tools: ['one'] }] });
});

void t.test('--json prints the answer of the control plane', async (t) => {
  const backend = await backendFor(t, { tools: ['one'] });
  const name = newName('server');
  const added = JSON.parse(await done('servers', 'add', name, backend.url, '--json')) as Record<string, unknown>;
  t.match(added, { name, status: 'active', id: /^[0-9a-f]{32}$/ });
  const shown = JSON.parse(await done('servers', 'show', name, '--json')) as Record<string, unknown>;
  t.match(shown, { ...added, lastSeen: String, lastRefreshAt: String, tools: [{ name: 'one' }] });
  t.match(JSON.parse(await done('servers', 'list', '--json')), [{ id: String }]);
  t.match(JSON.parse(await done('servers', 'refresh', name, '--json')), { status: 'active', durationMs: Number });
  t.equal(await done('servers', 'remove', name, '--json'), '');
});

void t.test('what the control plane refuses: its own words are printed, with a status for each kind', async (t) => {
  const name = newName('taken');
  await done('servers', 'add', name, 'http://127.0.0.1:1/mcp');
  for (const [words, code, message] of [
    [['servers', 'add', name, 'http://127.0.0.1:1/mcp'], exit.refused, /already registered/],
    [['servers', 'add', newName('bad'), 'ftp://a'], exit.refused, /^switchyard: url must be/],
    [['servers', 'show', 'no/body'], exit.notFound, /Server not found: no\/body/],
    [['servers', 'remove', 'nobody'], exit.notFound, /Server not found: nobody/],
    [['compositions', 'delete', 'nobody'], exit.notFound, /Composition not found: nobody/],
    [
      ['compositions', 'create', newName('c'), 'nobody:x'],
      exit.refused,
      /servers\.0\.name must be the name of a registered server, and "nobody" is none/,
    ],
  ] as const) {
    const { code: actual, output, errorOutput } = await run(...words);
    t.equal(actual, code, words.join(' '));
    t.equal(output, '');
    t.match(errorOutput, message);
    t.equal(errorOutput.split('\n').length, 2, 'one line');
  }
});

void t.test('a refresh while one runs, and too many requests: try again', async (t) => {
  const busy = await startStub(t, 409, '{"detail":"A refresh of x is running"}');
  const words = ['--control-plane-url', busy];
  t.equal((await run('servers', 'refresh', 'x', ...words)).code, exit.tryAgain);
  t.equal((await run('servers', 'remove', 'x', ...words)).code, exit.refused);
  for (const status of [429, 503]) {
    const url = await startStub(t, status, '{"detail":"Not now"}');
    const { code, errorOutput } = await run('servers', 'list', '--control-plane-url', url);
    t.equal(code, exit.tryAgain);
    t.equal(errorOutput, 'switchyard: Not now\n');
  }
});

void t.test('a token that is refused, and none at all', async (t) => {
  const environment = { SWITCHYARD_TOKEN: 'nonsense', SWITCHYARD_CONTROL_PLANE_URL: controlPlane.origin };
  const refused = await runProgram(['servers', 'list'], { environment });
  t.equal(refused.code, exit.notAllowed);
  t.match(refused.errorOutput, /Token invalid: it is not a JWT; set SWITCHYARD_TOKEN to one/);
  t.notMatch(refused.errorOutput, /nonsense/);
  const none = await runProgram(['servers', 'list', '--status', 'gone']);
  t.equal(none.code, exit.usage);
  t.match(none.errorOutput, /2 faults.*--status: expects one of active, inactive.*SWITCHYARD_TOKEN: is not set/s);
});

void t.test('a token that is signed with another key: the signature is named, and what to do', async (t) => {
  const { privateKeyPath } = createKeyPair(t, 'ed25519');
  const words = ['token', '--subject', 'people@example.com', '--token-verification-private-key', privateKeyPath];
  const foreign = (await runProgram(words)).output.trim();
  const environment = { SWITCHYARD_TOKEN: foreign, SWITCHYARD_CONTROL_PLANE_URL: controlPlane.origin };
  const { code, output, errorOutput } = await runProgram(['whoami'], { environment });
  t.match({ code, output }, { code: exit.notAllowed, output: '' });
  t.match(errorOutput, /^switchyard: Token invalid: most likely its signature does not fit the control plane's key/);
  t.match(errorOutput, /put a token into SWITCHYARD_TOKEN that is signed with the private key/);
  t.equal(errorOutput.split('\n').length, 2, 'one line');
  t.notMatch(errorOutput, foreign.slice(0, 20));
});

void t.test('a control plane that cannot be reached, fails, redirects or is something else', async (t) => {
  const redirecting = await startStub(t, 307, '', { location: controlPlane.origin });
  for (const [url, message] of [
    [`http://127.0.0.1:${await findFreePort()}`, /cannot be reached \(ECONNREFUSED\); start it with/],
    [await startStub(t, 200, '<html>'), /does not respond like a control plane/],
    [await startStub(t, 200, '{"a":1}'), /does not respond like a control plane/],
    [await startStub(t, 200, '[1]'), /response is not understood/],
    [await startStub(t, 500, '{"detail":"Internal error: see the log"}'), /Internal error: see the log/],
    [await startStub(t, 502, ''), /does not respond like a control plane \(HTTP status 502\)/],
    [redirecting, /cannot be reached/],
  ] as const) {
    const { code, output, errorOutput } = await run('servers', 'list', '--control-plane-url', url);
    t.equal(code, exit.unavailable, errorOutput);
    t.equal(output, '');
    t.match(errorOutput, message);
  }
});

void t.test('wrong arguments: exit 64, all reported at once, and no request is sent', async (t) => {
  const { code, errorOutput } = await run(
    'compositions',
    'create',
    'name',
    'no-colon',
    '--subject',
    'x',
    '--json=maybe',
  );
  t.equal(code, exit.usage);
  t.match(errorOutput, /3 faults/);
  for (const fault of [
    /no-colon: is not a tool of a server/,
    /--subject: unknown option/,
    /--json: expects true or false/,
  ]) {
    t.match(errorOutput, fault);
  }
  t.match(await run('servers'), {
    code: exit.usage,
    errorOutput: /servers: needs a command; its commands are list, add/,
  });
  t.match(await run('servers', 'add', 'x'), { code: exit.usage, errorOutput: /<url>: is missing/ });
});

/** A server that answers every request alike. */
async function startStub(t: Test, status: number, body: string, headers: Record<string, string> = {}): Promise<string> {
  const server = createServer((_request, response) => response.writeHead(status, headers).end(body));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
