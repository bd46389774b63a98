// Every operation that changes something has its audit line: who, what, before and after, and no secrets. The registry, the compositions
// and the HTTP interface are real; nothing listens at the servers' addresses.
import t, { type Test } from 'tap';
import { AuditTrail } from '../../../src/control-plane/common/audit.js';
import { ChangeOutcome } from '../../../src/control-plane/common/change.js';
import { type HttpApp } from '../../../src/control-plane/http/http-app.js';
import type { Operation } from '../../../src/control-plane/http/operation.js';
import { operations } from '../../../src/control-plane/http/operations.js';
import { limits } from '../../../src/shared/limits.js';
import { subjectHash } from '../../../src/shared/logger.js';
import { RecordStoreFault } from '../../../src/store/record-store.js';
import { logInto } from '../../support/log-lines.js';
import { startMcpBackend } from '../../support/mcp-backend.js';
import { mint } from '../../support/tokens.js';
import { setStage, stores, type Stage } from '../stage.js';
import { openApp, SECRET } from '../http/app.js';

const authorization = `Bearer ${await mint({ sub: 'alice', algorithm: 'HS256', key: SECRET })}`;
type Line = Readonly<Record<string, unknown>>;

async function createApp(t: Test, lines: string[], { registry, compositions, records }: Stage): Promise<HttpApp> {
  return openApp(t, { registry, compositions, records, audit: new AuditTrail(logInto(lines), 'hash') });
}

/** A request for each operation, in an order in which each finds what it needs, and the audit line that it must cause. */
const SERVER = { name: 'files', url: 'http://127.0.0.1:1/the-path?key=the-key', description: 'first' };
const COMPOSED = { name: 'desk', servers: [{ name: 'files', tools: ['read'] }], subjects: ['bob'] };
const asked: readonly (readonly [id: string, url: string, body: object | undefined, line: Line])[] = [
  ['registerServer', '/servers', SERVER, { name: 'files', after: { url: { origin: 'http://127.0.0.1:1' } } }],
  [
    'replaceServer',
    '/servers/files',
    { ...SERVER, description: 'second' },
    { name: 'files', before: { description: 'first' }, after: { description: 'second' } },
  ],
  [
    'patchServer',
    '/servers/files',
    { tags: ['patched'] },
    { name: 'files', before: { tags: [] }, after: { tags: ['patched'] } },
  ],
  ['refreshServer', '/servers/files/refresh', undefined, { name: 'files', after: { toolsAdded: 0 } }],
  ['createComposition', '/compositions', COMPOSED, { name: 'desk', after: { subjects: [subjectHash('bob')] } }],
  [
    'replaceComposition',
    '/compositions/desk',
    { ...COMPOSED, subjects: ['bob', 'carol'] },
    { before: { subjects: [subjectHash('bob')] }, after: { subjects: [subjectHash('bob'), subjectHash('carol')] } },
  ],
  [
    'patchComposition',
    '/compositions/desk',
    { subjects: ['bob'] },
    { before: { subjects: [subjectHash('bob'), subjectHash('carol')] }, after: { subjects: [subjectHash('bob')] } },
  ],
  ['removeComposition', '/compositions/desk', undefined, { name: 'desk', before: { description: '' } }],
  ['removeServer', '/servers/files', undefined, { name: 'files', before: { description: 'second' } }],
];

function sentAs(method: Operation['method'], body: object | undefined) {
  const headers = { authorization, host: 'localhost' };
  if (body === undefined) return { headers };
  const contentType = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
  return { headers: { ...headers, 'content-type': contentType }, payload: JSON.stringify(body) };
}

const NO_CHANGES = new Set(['previewServer', 'beginSignIn', 'endSignIn']);

t.test('every operation that changes something has one line, and no other has', async (t) => {
  const lines: string[] = [];
  const app = await createApp(t, lines, await setStage(t, await stores['embedded']!(t)));
  const table = Object.values<Operation>(operations);
  // The relay's messages and signing in change nothing here; consents are tested with a server that requires them.
  const changing = table
    .filter(({ id, method, tag }) => method !== 'GET' && tag !== 'mcp' && tag !== 'connections' && !NO_CHANGES.has(id))
    .map(({ id }) => id);
  t.same(asked.map(([id]) => id).toSorted(), changing.toSorted(), 'each of them is asked');
  for (const [id, url, body, expected] of asked) {
    lines.length = 0;
    const { method } = table.find((operation) => operation.id === id)!;
    const answer = await app.inject({ method, url, ...sentAs(method, body) });
    t.ok(answer.statusCode < 300, `${id}: ${answer.statusCode}`);
    t.equal(lines.length, 1, `${id} has a line`);
    const line = JSON.parse(lines[0] ?? '{}') as Line;
    const requestId = answer.headers['x-request-id'];
    t.match(line, { msg: 'changed', audit: id, level: 30, subject: subjectHash('alice'), requestId, ...expected }, id);
    t.match(String(line['id']), /^[0-9a-f]{32}$/, id);
    for (const secret of ['the-path', 'the-key', 'alice', 'bob'])
      t.notOk(lines[0]?.includes(secret), `${id}: ${secret}`);
  }
  lines.length = 0;
  for (const { method, path } of table.filter((operation) => operation.method === 'GET' && operation.tag !== 'mcp')) {
    await app.inject({ method, url: path.replace(/\{\w+\}/, 'files'), headers: { authorization, host: 'localhost' } });
  }
  await app.inject({ method: 'DELETE', url: '/servers/files', headers: { authorization, host: 'localhost' } });
  t.same(lines, [], 'what changes nothing has none');
});

t.test(
  'a change that the store made before it failed to confirm has a line that says that the outcome is unknown',
  async (t) => {
    const lines: string[] = [];
    const stage = await setStage(t, await stores['embedded']!(t));
    const app = await createApp(t, lines, stage);
    const { records } = stage;
    const swap = records.swap.bind(records);
    for (const [id, url, payload, expected] of asked) {
      lines.length = 0;
      records.swap = async (changes) => {
        records.swap = swap;
        t.ok(await swap(changes), `${id} is done`);
        throw new RecordStoreFault('the answer was lost');
      };
      const { method } = Object.values<Operation>(operations).find((operation) => operation.id === id)!;
      const answer = await app.inject({ method, url, ...sentAs(method, payload) });
      t.equal(answer.statusCode, 503, id);
      t.equal(lines.length, 1, `${id} has a line`);
      const said = { msg: 'perhaps changed', audit: id, outcome: 'unknown', fault: 'store-failed' };
      t.match(JSON.parse(lines[0] ?? '{}'), { ...said, subject: subjectHash('alice'), ...expected }, id);
    }
  },
);

t.test('a change that the store refused has no line, even when it fails before the next try', async (t) => {
  const lines: string[] = [];
  const stage = await setStage(t, await stores['embedded']!(t));
  const app = await createApp(t, lines, stage);
  const { registry, records } = stage;
  await registry.register(SERVER);
  records.swap = async () => {
    records.read = () => Promise.reject(new RecordStoreFault('gone'));
    return false;
  };
  const headers = { authorization, host: 'localhost' };
  const payload = { ...SERVER, description: 'second' };
  const answer = await app.inject({ method: 'PUT', url: '/servers/files', headers, payload });
  t.equal(answer.statusCode, 503);
  t.same(lines, []);
});

t.test('the findings of a refresh have a line, though a later step of it fails', async (t) => {
  const lines: string[] = [];
  const stage = await setStage(t, await stores['embedded']!(t));
  const app = await createApp(t, lines, stage);
  const { registry } = stage;
  const backend = await startMcpBackend();
  await registry.register({ name: 'files', url: backend.url });
  await backend.close();
  registry.addChangeListener(() => Promise.reject(new RecordStoreFault('gone')));
  const headers = { authorization, host: 'localhost' };
  const answer = await app.inject({ method: 'POST', url: '/servers/files/refresh', headers });
  t.equal(answer.statusCode, 503);
  const line = JSON.parse(lines[0] ?? '{}') as Line;
  const statuses = { before: { status: 'active' }, after: { status: 'inactive', toolsAdded: 0 } };
  t.match(line, { msg: 'changed', audit: 'refreshServer', fault: 'store-failed', ...statuses });
  t.notOk('outcome' in line);
});

t.test('subjects appear by their names, where that is configured', async (t) => {
  const lines: string[] = [];
  const trail = new AuditTrail(logInto(lines), 'plain');
  const outcome = new ChangeOutcome();
  const after = { id: 'x', name: 'desk', subjects: ['bob'], maker: 'alice' };
  outcome.change = { before: undefined, after, isCertain: true };
  trail.write({ operation: 'o', kind: 'servers', requestId: '', subject: 'alice', fault: '', unpublished: 3 }, outcome);
  const line = JSON.parse(lines[0] ?? '{}') as Line;
  t.match(line, { subject: 'alice', unpublished: 3, after: { subjects: ['bob'], maker: 'alice' } });
  t.notOk('requestId' in line);
});

t.test('a change has a line though its publication fails, and at a log level of warnings', async (t) => {
  const lines: string[] = [];
  const logger = logInto(lines);
  logger.level = 'warn';
  const outcome = new ChangeOutcome();
  const trail = new AuditTrail(logger, 'hash');
  const request = {
    operation: 'o',
    kind: 'servers',
    requestId: 'r',
    subject: 's',
    fault: 'store-failed',
    unpublished: 0,
  };
  trail.write(request, outcome);
  t.same(lines, [], 'nothing is changed yet');
  outcome.change = { before: { name: 'a' }, after: { name: 'b' }, isCertain: true };
  trail.write(request, outcome);
  const line = JSON.parse(lines[0] ?? '{}') as Line;
  t.match(line, { fault: 'store-failed', before: { name: 'a' }, after: { name: 'b' } });
  t.notOk('unpublished' in line, 'nobody waits for it');
});

t.test('the length of a line is bounded, however much was changed', async (t) => {
  const lines: string[] = [];
  const outcome = new ChangeOutcome();
  const subjects = Array.from({ length: 5_000 }, (_, n) => `subject-${n}`);
  const servers = Array.from({ length: 500 }, (_, n) => ({ name: `s${n}`, tools: ['x'.repeat(100)] }));
  const made = { id: 'x', name: 'n'.repeat(10_000), description: 'd'.repeat(10_000), subjects, servers };
  outcome.change = { before: undefined, after: made, isCertain: true };
  new AuditTrail(logInto(lines), 'plain').write(
    { operation: 'o', kind: 'servers', requestId: 'r', subject: 's'.repeat(5_000), fault: '', unpublished: 0 },
    outcome,
  );
  const [text = ''] = lines;
  t.ok(text.length < 16 * limits.auditValueCharsMax, `${text.length} characters`);
  const { after } = JSON.parse(text) as { after: Record<string, Record<string, unknown>> };
  t.match(after['subjects'], { count: 5_000, hash: /^[0-9a-f]{12}$/ });
  t.match(after['servers'], { chars: JSON.stringify(servers).length, hash: /^[0-9a-f]{12}$/ });
});

t.test('fixed arguments appear as names and hashes of their values, wherever they are', async (t) => {
  const tell = (before: object | undefined, after: object): { readonly text: string; readonly line: Line } => {
    const lines: string[] = [];
    const outcome = new ChangeOutcome();
    outcome.change = { before, after, isCertain: true };
    const request = { operation: 'o', kind: 'servers', requestId: 'r', subject: 's', fault: '', unpublished: 0 };
    new AuditTrail(logInto(lines), 'hash').write(request, outcome);
    return { text: lines[0] ?? '', line: JSON.parse(lines[0] ?? '{}') as Line };
  };
  const curated = (tenant: string, more = {}): object => ({
    tools: { read: { name: 'look', fixed_arguments: { tenant, depth: { key: `${tenant}-key` } } } },
    ...more,
  });
  const hash = /^[0-9a-f]{12}$/;
  const hashed = { tools: { read: { name: 'look', fixed_arguments: { tenant: { hash }, depth: { hash } } } } };
  const server = { id: 'x', name: 'files' };
  const { text, line } = tell({ ...server, curation: curated('acme') }, { ...server, curation: curated('umbrella') });
  t.match(line, { before: { curation: hashed }, after: { curation: hashed } });
  t.notSame(line['before'], line['after'], 'that it is another is seen');
  t.notMatch(text, /acme|umbrella/);

  const servers = [{ id: 'x', name: 'files', tools: ['read'], curation: curated('acme') }];
  const composition = tell(undefined, { id: 'y', name: 'desk', servers });
  t.match(composition.line, { after: { servers: [{ name: 'files', curation: hashed }] } });
  t.notMatch(composition.text, /acme/);
  const long = curated('acme', { prompts: { sum: { description: 'd'.repeat(limits.auditValueCharsMax) } } });
  const cut = tell(undefined, { ...server, curation: long });
  t.match(cut.line, {
    after: { curation: { chars: JSON.stringify(long).length, hash, beginning: /"tenant":\{"hash"/ } },
  });
  t.notMatch(cut.text, /acme/, 'nor where it is cut');
});
