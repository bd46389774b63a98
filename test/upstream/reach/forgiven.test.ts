// What is forgiven of a backend's answers, each entry of the table: the request gets its answer, and the operator a count.
import { readFileSync } from 'node:fs';
import t, { type Test } from 'tap';
import { FORGIVEN, type Forgiven } from '../../../src/upstream/reach/backend-endpoints.js';
import { RpcRequest } from '../../../src/upstream/rpc/rpc-request.js';
import { ScriptedContext } from '../scripted-context.js';
import type { ScriptedCall } from '../scripted-upstream.js';

const RESULT = '{"jsonrpc":"2.0","id":7,"result":{}}';
const AS_TEXT = RESULT.replace('7', '"7"');

type Answer = (call: ScriptedCall, next: () => ScriptedCall) => unknown;

/** Of requests of every kind; `list-item` is about lists (mcp/list-page.test.ts). */
const answers: Readonly<Record<Exclude<Forgiven, 'list-item'>, Answer>> = {
  heartbeat: (call) => call.head(200, 'text/event-stream').data(`event: ping\ndata: x\n\ndata: ${RESULT}\n\n`).end(),
  'stray-answer': (call) =>
    call
      .head(200, 'text/event-stream')
      .data(`data: ${RESULT.replace('7', '8')}\n\ndata: ${RESULT}\n\n`)
      .end(),
  status: (call) => call.json(RESULT, '', 201),
  'id-as-text': (call) => call.json(AS_TEXT),
  array: (call) => call.json(`\n[${RESULT}] `),
  'byte-order-mark': (call) => call.json(`\uFEFF${RESULT}`),
  'not-utf-8': (call) => {
    const event = Buffer.from(`data: ${RESULT.replace('{}', '{"a":"caf\u00e9"}')}\n\n`, 'latin1');
    return call.head(200, 'text/event-stream').chunk(event).end();
  },
  redirect: (call, next) => {
    call.head(307, '', '', -1, '/mcp/');
    next().json(RESULT);
  },
};

/** @returns how the request ended, and what was forgiven at its origin. */
function outcomeOf(t: Test, answer: Answer): { ended: string; forgiven: unknown } {
  const context = new ScriptedContext(t);
  const { http, deadlines, endpoints } = context;
  const target = { origin: 'https://b.example', path: '/mcp' };
  const body = Buffer.from('{"id":7}');
  const plan = { ...context.to(target), headers: [], body };
  const waits = { id: { bytes: body, start: 6, end: 7 }, timeoutMs: 1_000, isSilenceTimeout: true };
  let ended = 'not';
  new RpcRequest(
    http,
    deadlines,
    { ...plan, ...waits, carriesSession: true },
    {
      onAnswer: () => (ended = 'answer'),
      onMessage: () => {},
      onFault: ({ kind }) => (ended = kind),
    },
  );
  answer(http.last, () => http.last);
  return { ended, forgiven: endpoints.origins[0]?.forgiven };
}

t.test('each thing that is forgiven leads to the answer, and is counted at its origin', async (t) => {
  t.same([...Object.keys(answers), 'list-item'], Object.keys(FORGIVEN));
  for (const [what, answer] of Object.entries(answers)) {
    t.same(outcomeOf(t, answer), { ended: 'answer', forgiven: { [what]: 1 } }, what);
  }
});

t.test('exactly these are documented, each with the reason', async (t) => {
  const page = readFileSync(new URL('../../../../docs/mcp.md', import.meta.url), 'utf8');
  const section = page.split(/^## /m).find((text) => text.startsWith('What is forgiven\n')) ?? '';
  const rows = [...section.matchAll(/^\| `([\w-]+)` *\| (.*?) *\| (.*?) *\|$/gm)];
  t.same(Object.fromEntries(rows.map(([, kind, what, why]) => [kind, `${what}: ${why}`])), FORGIVEN);
});

t.test('a normal answer counts nothing, and what is refused is not forgiven', async (t) => {
  t.same(
    outcomeOf(t, (call) => call.json(RESULT)),
    { ended: 'answer', forgiven: undefined },
  );
  t.equal(outcomeOf(t, (call) => call.json(`[${RESULT},${RESULT}]`)).ended, 'answer-invalid', 'two messages');
  for (const text of ['[]', `[[${RESULT}]]`, `[${RESULT}`, `${RESULT}]`, `[${RESULT},]`])
    t.equal(outcomeOf(t, (call) => call.json(text)).ended, 'answer-invalid', text);
  t.same(
    outcomeOf(t, (call) => call.head(201, 'text/html')),
    { ended: 'answer-invalid', forgiven: undefined },
  );
});
