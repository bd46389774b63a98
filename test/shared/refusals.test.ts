// docs/errors.md shows every refusal exactly as it is sent, and no others; and the refusals follow their own rules.
import { readFileSync } from 'node:fs';
import t from 'tap';
import { errorsPage } from '../docs/generated.js';
import { checkPage } from '../docs/page-check.js';
import { headerUnreadable, methodUnknown, refusals, rpcCodes, type Refusal } from '../../src/shared/refusals.js';

const documentation = readFileSync(new URL('../../../docs/errors.md', import.meta.url), 'utf8');
const all: readonly Refusal[] = Object.values(refusals);

const [section = ''] = /^## Refusals\n[^]*?(?=^## )/m.exec(documentation) ?? [];
const rows = section.split('\n').filter((line) => line.startsWith('| `'));
const cells = rows.map((row) => row.slice(2, -2).split(' | '));

t.test('docs/errors.md shows each refusal to the byte', async (t) => {
  checkPage(t, await errorsPage());
  const forms = new Set(cells.map(([, , body = '']) => body.replace(/^(-\d+|\w+) .*/, '$1')));
  const examples = [...section.matchAll(/\n\n([^\n]*)\n```$/gm)].map(([, body = '']) => body);
  for (const form of forms) {
    const isShown = examples.some((body) => (form === 'text' ? !body.startsWith('{') : body.includes(form)));
    t.ok(isShown || /^-\d+$/.test(form), `an example of the form ${form}`);
  }
  t.ok(examples.some((body) => body.includes('"jsonrpc"')));
});

t.test('docs/errors.md says for each refusal when it happens, and what to do', async (t) => {
  for (const [code, , , when, advice, ...more] of cells) {
    t.ok(when, `${code}: when it happens`);
    t.ok(advice, `${code}: what to do`);
    t.same(more, []);
  }
});

t.test('docs/errors.md shows no refusal that does not exist', async (t) => {
  t.strictSame(
    cells.map(([code = '']) => code.slice(1, -1)).toSorted(),
    all.map(({ code }): string => code).toSorted(),
  );
});

t.test('a refusal is identified by its own unique code', async (t) => {
  for (const [name, { code }] of Object.entries(refusals)) {
    t.equal(
      code,
      name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`),
    );
  }
  t.equal(new Set(all.map(({ code }) => code)).size, all.length);
});

t.test('a refusal is frozen, because all requests share it', async (t) => {
  t.ok(Object.isFrozen(refusals));
  for (const refusal of all) t.ok(Object.isFrozen(refusal), refusal.code);
});

t.test('a body has the format that its content type says', async (t) => {
  for (const { code, contentType, body } of all) {
    if (contentType === 'text/plain') t.notOk(body.startsWith('{'), code);
    else t.equal(JSON.stringify(JSON.parse(body)), body, code);
  }
});

t.test('a JSON-RPC error that belongs to no request has no id, not even null (S33)', async (t) => {
  const codes = new Set<number>(Object.values(rpcCodes));
  const errors = all.filter(({ body }) => body.includes('"jsonrpc"'));
  t.ok(errors.length > 0);
  for (const { code, status, body } of errors) {
    const message = JSON.parse(body) as { error: { code: number; message: string } };
    t.same(Object.keys(message), ['jsonrpc', 'error'], code);
    t.ok(codes.has(message.error.code), `${code}: one of our codes`);
    t.ok(status >= 400 && status < 500, `${code}: the caller can do something about it`);
  }
});

t.test('a 401 says how to authenticate, and nothing about the key', async (t) => {
  const unauthorized = all.filter(({ status }) => status === 401);
  t.equal(unauthorized.length, 3);
  for (const { code, headers } of unauthorized) {
    t.equal(headers[0], 'www-authenticate', code);
    t.match(headers[1], /^Bearer realm="switchyard"/, code);
  }
});

t.test('refusals that the specification determines are as it says', async (t) => {
  t.match(refusals.virtualHostUnknown, { status: 404, body: '{"detail":"Server not found"}' });
  for (const refusal of [refusals.configMissing, refusals.configFailed]) {
    t.match(refusal, { contentType: 'text/plain', body: 'Problem occurred retrieving the configuration' });
  }
  t.equal(refusals.configMissing.status, 400);
  t.equal(refusals.configFailed.status, 500);
});

t.test('the message of a refusal is the one in its body', async (t) => {
  for (const { code, message, contentType, body } of [...all, methodUnknown('a"b'), headerUnreadable('a\\b')]) {
    if (code === 'draining' || code === 'not-ready') continue; // health checks read only the status
    const said = contentType === 'text/plain' ? { detail: body } : (JSON.parse(body) as Record<string, unknown>);
    t.match(said, 'error' in said ? { error: { message } } : { detail: message }, code);
  }
});
