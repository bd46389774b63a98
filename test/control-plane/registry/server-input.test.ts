import t from 'tap';
import { ControlPlaneFault } from '../../../src/control-plane/common/control-plane-fault.js';
import { checkServerInput } from '../../../src/control-plane/registry/server-input.js';
import { limits } from '../../../src/shared/limits.js';
import type { ServerInput } from '../../../src/control-plane/records/server-record.js';

const GOOD: ServerInput = { name: 'demo', url: 'http://127.0.0.1:3000/mcp' };

/** The member that the message begins with; `undefined` when nothing is refused. */
function refusedMember(input: Partial<ServerInput>): string | undefined {
  try {
    checkServerInput({ ...GOOD, ...input });
    return undefined;
  } catch (error) {
    if (!(error instanceof ControlPlaneFault) || error.code !== 'invalid') throw error;
    return error.message.split(' ', 1)[0];
  }
}

t.test('absent members are left to the registry', async (t) => {
  t.same(checkServerInput(GOOD), { ...GOOD, description: undefined, tags: undefined, enabled: undefined });
  t.same(checkServerInput({ ...GOOD, tags: ['b', 'a', 'b'] }).tags, ['b', 'a'], 'a tag counts once');
});

t.test('names', async (t) => {
  for (const name of ['a', 'A-b_c.D 9', 'x'.repeat(64), '..', '-']) t.equal(refusedMember({ name }), undefined, name);
  for (const name of ['', 'x'.repeat(65), 'a/b', 'é', 'a\n', 'a\tb', ' a', 'a ', ' ', 'a?', 'a%20b']) {
    t.equal(refusedMember({ name }), 'name', JSON.stringify(name));
  }
});

t.test('URLs', async (t) => {
  for (const url of [
    'https://example.com',
    'http://localhost:1/mcp?tenant=7',
    'http://10.0.0.1/mcp',
    'http://[::1]:9/mcp',
    `http://example.com/${'x'.repeat(2_000)}`,
  ]) {
    t.equal(refusedMember({ url }), undefined, url.slice(0, 60));
    t.equal(checkServerInput({ ...GOOD, url }).url, url, 'and is kept as written');
  }
  for (const url of [
    '',
    '/mcp',
    'example.com',
    'ftp://example.com/',
    'file:///etc/passwd',
    'javascript:alert(1)',
    'http://',
    'http://user@example.com/',
    'http://:secret@example.com/',
    ' http://example.com/',
    'http://example.com/\n',
    'http://exa\tmple.com/',
    'http://169.254.169.254/latest',
    'http://2852039166/',
    'http://0xa9.0xfe.0xa9.0xfe/',
    'http://[::ffff:169.254.169.254]/',
    'http://[fe80::1]/',
    'http://[fd00:ec2::254]/',
    'http://0.0.0.0:4444/',
    `http://example.com/${'x'.repeat(2_048)}`,
  ]) {
    t.equal(refusedMember({ url }), 'url', JSON.stringify(url.slice(0, 60)));
  }
});

t.test('a refused URL is not repeated', async (t) => {
  t.throws(() => checkServerInput({ ...GOOD, url: 'http://user:secret@example.com/' }), {
    message: 'url must not have credentials in it',
  });
});

t.test('descriptions and tags are checked', async (t) => {
  t.equal(refusedMember({ description: 'Zwölf\nBoxkämpfer 🥊' }), undefined);
  t.equal(refusedMember({ description: 'x'.repeat(4_097) }), 'description');
  t.equal(refusedMember({ description: '\ud800' }), 'description');
  t.equal(refusedMember({ tags: ['prod', 'team: a', 'é', 'x'.repeat(64)] }), undefined);
  for (const tag of ['', 'a,b', 'a\n', ' a', 'x'.repeat(65), '\ud800']) {
    t.equal(refusedMember({ tags: ['fine', tag] }), 'tags.1', JSON.stringify(tag));
  }
  t.equal(refusedMember({ tags: Array.from({ length: 33 }, (_, n) => `t${n}`) }), 'tags');
});

t.test('the edges of what is allowed', async (t) => {
  t.equal(refusedMember({ description: 'x'.repeat(4_096) }), undefined);
  t.equal(refusedMember({ tags: Array.from({ length: 32 }, (_, n) => `t${n}`) }), undefined);
  t.equal(refusedMember({ tags: ['a '] }), 'tags.0');
  const url = `http://example.com/${'x'.repeat(limits.serverUrlCharsMax - 19)}`;
  t.same([refusedMember({ url }), refusedMember({ url: `${url}x` })], [undefined, 'url']);
  t.same([refusedMember({ team: 'ops' }), refusedMember({ team: '' })], [undefined, 'team']);
  const tools = { a: { name: '' } };
  t.same(
    [refusedMember({ curation: { prefix: 'p' } }), refusedMember({ curation: { tools } })],
    [undefined, 'curation'],
  );
});

t.test('credentials are those of a server that is probed without a caller', async (t) => {
  const secret = { secret: 's' };
  t.equal(refusedMember({ auth: { type: 'headers', headers: { 'x-key': secret } } }), undefined);
  t.equal(refusedMember({ auth: null }), undefined);
  t.equal(refusedMember({ auth: { type: 'headers', headers: {} } }), 'auth.headers');
  const oauth = { token_endpoint: 'https://idp.example/token', client_id: 'c', client_secret: secret };
  t.equal(refusedMember({ auth: { type: 'oauth2-client-credentials', ...oauth } }), undefined);
  t.throws(() => checkServerInput({ ...GOOD, auth: { type: 'token-exchange', ...oauth } }), {
    message: 'auth.type must not be token-exchange, which is only for user configs',
  });
});
