import t from 'tap';
import {
  checkUserConfig,
  type UserConfigCheck,
  CONFIG_CHECK_ISSUES_MAX,
} from '../../src/user-config/check-user-config.js';
import { describeIssue } from '../../src/user-config/known-members.js';

const url = 'https://b.example/mcp';
const AT_B = 'virtual_hosts.vh.backends.b';

function check(config: unknown): UserConfigCheck {
  return checkUserConfig(Buffer.from(JSON.stringify(config)));
}

function withBackend(backend: object): object {
  return { virtual_hosts: { vh: { backends: { b: { url, ...backend } } } } };
}

function inWords({ errors, warnings }: UserConfigCheck): { errors: string[]; warnings: string[] } {
  return { errors: errors.map(describeIssue), warnings: warnings.map(describeIssue) };
}

t.test('a member that looks like a known one is an error that names the known one', async (t) => {
  for (const [slip, meant] of [
    ['allowed_tools', 'allowed_tool_names'],
    ['allowedToolNames', 'allowed_tool_names'],
    ['allow_prompts', 'allowed_prompt_names'],
    ['passthrough_header', 'passthrough_headers'],
    ['transports', 'transport'],
    ['expose', 'exposes'],
  ] as const) {
    const { errors } = check(withBackend({ [slip]: ['x'] }));
    t.strictSame(
      errors,
      [
        {
          path: ['virtual_hosts', 'vh', 'backends', 'b', slip],
          message: `is not known; did you mean ${meant}?`,
          meant,
        },
      ],
      slip,
    );
  }
  t.match(inWords(check({ virtual_host: {}, virtual_hosts: {} })).errors, [
    'virtual_host: is not known; did you mean virtual_hosts?',
  ]);
  t.match(inWords(check({ virtual_hosts: { vh: { backends: {}, exposes: [] } } })).errors, [
    'virtual_hosts.vh.exposes: has no effect here',
  ]);
});

t.test('unknown members are allowed, and entries keyed by names are never mistaken for members', async (t) => {
  const config = { colour: 1, virtual_hosts: { virtual_host: { backends: { allowed_tools: { url, note: '' } } } } };
  t.strictSame(inWords(check(config)), { errors: [], warnings: [] });
});

t.test('where no unknown member is allowed, the likely name is suggested, too', async (t) => {
  const auth = { type: 'headers', header: {}, headers: { 'x-key': { files: 'a', file: 'b' } } };
  t.strictSame(inWords(check(withBackend({ auth }))).errors, [
    `${AT_B}.auth.headers.x-key.files: is not known; did you mean file?`,
    `${AT_B}.auth.header: is not known; did you mean headers?`,
  ]);
});

t.test('a required member that is misspelt is one error, which says what was meant', async (t) => {
  for (const [config, told] of [
    [{ virtual_host: {} }, 'virtual_host: is not known; did you mean virtual_hosts, which is missing?'],
    [
      { virtual_hosts: { vh: { backend: {} } } },
      'virtual_hosts.vh.backend: is not known; did you mean backends, which is missing?',
    ],
    [withBackend({ url: undefined, ulr: url }), `${AT_B}.ulr: is not known; did you mean url, which is missing?`],
    [withBackend({ url: undefined, uri: url }), `${AT_B}.uri: is not known; did you mean url, which is missing?`],
    [
      withBackend({ auth: { type: 'headers', header: {} } }),
      `${AT_B}.auth.header: is not known; did you mean headers, which is missing?`,
    ],
    [withBackend({ url: undefined, address: url }), `${AT_B}.url: is missing (must be a string)`],
  ] as const) {
    t.strictSame(inWords(check(config)).errors, [told]);
  }
  t.match(check({ virtual_host: {} }).errors, [{ path: ['virtual_host'], meant: 'virtual_hosts' }]);
});

t.test('a short member is no misspelling where nothing is missing', async (t) => {
  t.strictSame(inWords(check(withBackend({ uri: 'x', ulr: 'x' }))), { errors: [], warnings: [] });
});

t.test('the missing members that other members share words with are told apart', async (t) => {
  const auth = {
    type: 'oauth2-client-credentials',
    token_endpoint: 'https://a.example/',
    client_secert: { file: 'a' },
  };
  t.strictSame(inWords(check(withBackend({ auth }))).errors, [
    `${AT_B}.auth.client_id: is missing (must be a string)`,
    `${AT_B}.auth.client_secert: is not known; did you mean client_secret, which is missing?`,
  ]);
});

t.test('errors and warnings are reported together', async (t) => {
  const config = withBackend({ url: 'ftp://x', allowed_tools: [] });
  t.strictSame(inWords(check(config)).errors, [
    `${AT_B}.url: must be an http or https URL without credentials`,
    `${AT_B}.allowed_tools: is not known; did you mean allowed_tool_names?`,
  ]);
});

t.test('valid but perhaps unintended settings are warnings', async (t) => {
  for (const [backend, warning] of [
    [{ url: 'HTTP://b.example/mcp' }, /^virtual_hosts\.vh\.backends\.b\.url: is plain text.*plain-text-or-tls$/],
    [{ transport: 'STDIO' }, /\.transport: is STDIO, which is not supported$/],
    [{ exposes: [] }, /\.exposes: is empty: nothing of this backend is exposed$/],
    [
      { exposes: ['prompts'], allowed_tool_names: ['a'] },
      /\.allowed_tool_names: has no effect, because exposes does not have tools$/,
    ],
  ] as const) {
    t.match(inWords(check(withBackend(backend))), { errors: { length: 0 }, warnings: [warning] });
  }
  t.strictSame(inWords(check(withBackend({}))), { errors: [], warnings: [] });
});

t.test('of very many problems some are listed, and the others counted', async (t) => {
  const backends = Object.fromEntries(Array.from({ length: 300 }, (_, index) => [`b${index}`, { url, expose: 1 }]));
  const { errors, untoldCount } = check({ virtual_hosts: { vh: { backends } } });
  t.equal(errors.length, CONFIG_CHECK_ISSUES_MAX);
  t.equal(untoldCount, 300 - CONFIG_CHECK_ISSUES_MAX);
  t.equal(check({ virtual_hosts: {} }).untoldCount, 0);
});

t.test("a backend that would get the caller's token for the gateway is reported", async (t) => {
  const warned = (backend: object): string[] => inWords(check(withBackend(backend))).warnings;
  t.match(warned({ passthrough_headers: ['X-Team', 'Authorization'] }), [
    /passthrough_headers: has authorization: the backend would get the caller's token/,
  ]);
  t.same(warned({ passthrough_headers: ['x-team'] }), []);
  const auth = { type: 'headers', headers: { authorization: { file: 'github' } } };
  t.same(warned({ passthrough_headers: ['authorization'], auth }), [], 'it gets what `auth` says instead');
});
