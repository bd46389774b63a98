// A backend's questions during calls are answered, although the calls use every connection that their subject may have.
import t from 'tap';
import { CANCELLED_ANSWER_MS_MAX } from '../../src/calls/relayed-request.js';
import { memberText } from '../support/json-text.js';
import { startMcpBackend, type McpBackend } from '../support/mcp-backend.js';
import { readEvents } from '../support/event-stream.js';
import { until } from '../support/until.js';
import { answerOf, WiredRelay } from './wired-relay.js';

const CALLS = 3;

t.test('answers, cancellations and refusals do not wait for the calls that depend on them', async (t) => {
  const answered = (): string[] =>
    backend.raw.requests.map(({ text }) => text).filter((text) => text.includes('"result"'));
  const backend: McpBackend = await startMcpBackend({
    framing: 'chunked',
    withSessions: true,
    onCall: async (call) => {
      if (call.name === 'hang') return new Promise(() => undefined);
      const id = memberText(call.request.text, 'id');
      await call.send({ jsonrpc: '2.0', id: `of ${id}`, method: 'roots/list' });
      await until(() => answered().some((text) => text.includes(`"of ${id}"`)), `the answer to ${id}`);
      return { content: [] };
    },
  });
  t.teardown(() => backend.close());
  const wired = new WiredRelay(t, {}, { connectionsMax: CALLS, connectionsPerSubjectMax: CALLS });
  const caller = wired.caller({ b: backend.url });
  await caller.open({ roots: {} });
  const calls = Array.from({ length: CALLS }, (_, index) => caller.post('tools/call', { name: 'b-ask' }, index + 1));
  await until(() => calls.every(({ written }) => readEvents(written).length > 0), 'what is asked');
  for (const call of calls) {
    const { id } = JSON.parse(readEvents(call.written)[0] ?? '') as { id: string };
    const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', id, result: { roots: [] } }));
    t.equal(caller.request({ body }).answer?.status, 202);
  }
  await until(() => calls.every(({ outcome }) => outcome === 'ended'), 'the end of the calls');
  for (const call of calls) t.match(JSON.parse(readEvents(call.written).at(-1) ?? ''), { result: { content: [] } });

  const hanging = Array.from({ length: CALLS }, (_, index) =>
    caller.post('tools/call', { name: 'b-hang' }, index + 11),
  );
  await until(() => backend.calls.length === 2 * CALLS, 'calls that hang');
  const notice = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 11 } };
  caller.request({ body: Buffer.from(JSON.stringify(notice)) });
  await until(() => backend.requestsOf('notifications/cancelled').length === 1, 'the cancellation');
  t.equal(hanging.filter(({ outcome }) => outcome === 'none').length, CALLS, 'it was not one of them that made room');
  wired.pass(CANCELLED_ANSWER_MS_MAX);
  t.match(await answerOf(hanging[0]!), { error: { code: -32000 } });
});
