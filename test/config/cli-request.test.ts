import t from 'tap';
import { commands } from '../../src/commands.js';
import { readCommandLine } from '../../src/config/command-line.js';
import { toolsByServer } from '../../src/config/command-options.js';
import { faultsOf } from './option-loader.js';

const TOKEN = { SWITCHYARD_TOKEN: 'x.y.z' };
/** What every command that asks a control plane is told. */
const ASKED = { controlPlaneUrl: 'http://127.0.0.1:4444', token: 'x.y.z', isJson: false };

function load(line: string, environment: NodeJS.ProcessEnv = TOKEN): object {
  const words = readCommandLine(line.split(' '), commands, environment);
  if (words.command === 'answer') throw new Error(words.text);
  return commands[words.command].read(words);
}

function faults(line: string, environment?: NodeJS.ProcessEnv): readonly string[] {
  return faultsOf(() => load(line, environment));
}

t.test('each command becomes its request', async (t) => {
  for (const [line, action] of [
    ['servers list', { tags: undefined, status: undefined }],
    ['servers list --tags a,b --status active', { tags: ['a', 'b'], status: 'active' }],
    [
      'servers add n https://a.example/mcp --description d --tags t --transport SSE',
      {
        ...{ name: 'n', url: 'https://a.example/mcp' },
        properties: { description: 'd', tags: ['t'], transport: 'SSE', team: undefined, auth: undefined },
      },
    ],
    ['servers show n', { server: 'n' }],
    ['servers refresh n', { server: 'n' }],
    ['servers connect n', { server: 'n', isForProbes: false }],
    ['servers connect n --probes', { server: 'n', isForProbes: true }],
    ['servers disconnect n', { name: 'n' }],
    ['servers remove n', { server: 'n' }],
    ['servers update n --name m', { server: 'n', change: { name: 'm' } }],
    [
      'servers update n --url https://b.example/mcp --tags a,b --enabled false',
      {
        server: 'n',
        change: { url: 'https://b.example/mcp', enabled: false, tags: ['a', 'b'] },
      },
    ],
    ['servers enable n', { server: 'n' }],
    ['servers disable n', { server: 'n' }],
    ['servers rename n m', { server: 'n', name: 'm' }],
    [
      'compositions update c --tools a:x,b:y,a:z --subjects s',
      {
        composition: 'c',
        change: {
          subjects: ['s'],
          servers: [
            { name: 'a', tools: ['x', 'z'] },
            { name: 'b', tools: ['y'] },
          ],
        },
        isForced: false,
      },
    ],
    [
      'compositions update c --description d',
      {
        composition: 'c',
        change: { description: 'd' },
        isForced: false,
      },
    ],
    [
      'compositions update c --exposure search',
      {
        composition: 'c',
        change: { exposure: 'search' },
        isForced: false,
      },
    ],
    ['compositions update c --team=', { composition: 'c', change: { team: null }, isForced: false }],
    ['servers update n --team pay', { server: 'n', change: { team: 'pay' } }],
    ['whoami', {}],
    ['compositions list', {}],
    ['compositions show c', { composition: 'c' }],
    ['compositions delete c', { composition: 'c' }],
  ] as const) {
    t.strictSame(load(line), { ...action, ...ASKED }, line);
  }
});

t.test('tools are grouped by server, in order; a tool may have a colon in its name', async (t) => {
  const servers = [
    { name: 's', tools: ['a', 'c:d'] },
    { name: 't', tools: ['b'] },
  ];
  t.match(load('compositions create c s:a t:b s:c:d --subjects x,y'), {
    ...{ name: 'c', 'server:tool': ['s:a', 't:b', 's:c:d'], isForced: false },
    properties: { description: undefined, exposure: undefined, subjects: ['x', 'y'], team: undefined },
  });
  t.strictSame(toolsByServer(['s:a', 't:b', 's:c:d']), servers);
  t.match(load('compositions update c --tools s:a,t:b,s:c:d'), { change: { servers } });
  t.match(faults('compositions create c s t: :u'), [/^s: is not a tool/, /^t:: is not a tool/, /^:u: is not a tool/]);
});

t.test('the control plane’s address and the output format are read', async (t) => {
  t.match(load('servers list'), { controlPlaneUrl: 'http://127.0.0.1:4444', isJson: false, token: 'x.y.z' });
  const request = load('servers list --json --control-plane-url https://a.example/gateway/');
  t.match(request, { controlPlaneUrl: 'https://a.example/gateway', isJson: true });
  t.ok(Object.isFrozen(request));
  for (const url of [
    'a.example',
    'ftp://a.example',
    'http://u:p@a.example',
    'http://a.example?x',
    'http://a.example#x',
  ]) {
    t.match(
      faults(`servers list --control-plane-url ${url}`),
      [/^--control-plane-url: expects an http or https URL/],
      url,
    );
  }
});

t.test(
  'the token comes from the environment alone, and is told with all other faults when it is missing',
  async (t) => {
    t.match(faults('servers list --token x', {}), [
      /^--token: unknown option/,
      /^SWITCHYARD_TOKEN: is not set; .*switchyard token/,
    ]);
    t.match(faults('servers list --tags a,,b', { SWITCHYARD_TOKEN: '' }), [
      /^--tags: entry 2 is empty/,
      /^SWITCHYARD_TOKEN/,
    ]);
  },
);

t.test('an update needs something to change', async (t) => {
  t.match(faults('servers update n'), [
    /^--name: or another of --name, --url, --enabled, --description, --transport, --tags, --team, --auth is required$/,
  ]);
  t.match(faults('compositions update c'), [/^--name: or another of --name, --tools, /]);
  t.match(faults('compositions update c --tools x'), [/^--tools: x: is not a tool of a server/]);
});

t.test('auth of a server consists of its type and that type’s members', async (t) => {
  const header = { type: 'headers', headers: { authorization: { secret: 'gh' }, 'x-key': { file: 'k' } } };
  const client = '--auth-token-endpoint https://as.example/token --auth-client-id me --auth-client-secret secret:s';
  const credentials = {
    ...{ type: 'oauth2-client-credentials', token_endpoint: 'https://as.example/token' },
    ...{ client_id: 'me', client_secret: { secret: 's' }, scope: 'read' },
  };
  for (const [words, auth] of [
    ['--auth-headers authorization=secret:gh,x-key=file:k', header],
    ['--auth headers --auth-headers authorization=secret:gh,x-key=file:k', header],
    [`--auth oauth2-client-credentials ${client} --auth-scope read`, credentials],
    ['--auth oauth2-user', { type: 'oauth2-user' }],
    [
      '--auth oauth2-user --auth-issuer https://as.example --auth-client-id me',
      { type: 'oauth2-user', issuer: 'https://as.example', client_id: 'me' },
    ],
    ['--auth none', null],
  ] as const) {
    t.match(load(`servers update n ${words}`), { change: { auth } }, words);
    t.match(load(`servers add n https://a.example/mcp ${words}`), { properties: { auth } }, words);
  }
  for (const [words, fault] of [
    ['--auth basic', /^--auth: expects/],
    ['--auth headers', /^--auth-headers: is required/],
    ['--auth-headers authorization=hunter2', /^--auth-headers: expects secret:<name> or file:<name>/],
    ['--auth-headers authorization', /^--auth-headers: expects <header>=/],
    ['--auth-headers a=secret:x,a=secret:y', /^--auth-headers: has a twice/],
    ['--auth none --auth-scope x', /^--auth-scope: has no effect with --auth none/],
    ['--auth-client-id x', /^--auth-client-id: needs --auth/],
    ['--auth oauth2-user --auth-audience x', /^--auth-audience: has no effect/],
    ['--auth headers --auth-headers a=secret:x --auth-issuer https://as.example', /^--auth-issuer: has no effect/],
  ] as const) {
    const told = faults(`servers add n https://a.example/mcp ${words}`);
    t.match(told, [fault], words);
    t.notMatch(told.join(), /hunter2/, 'a secret that stands there is not said again');
  }
});
