// What is sent on the stream of a request of MCP 2026-07-28, what closing a stream means, and which filters of
// `subscriptions/listen` are invalid (M05–M08, M24).
import t from 'tap';
import { backendFor, forEachDeployment } from '../support/deployment.js';
import { readEvents } from '../support/event-stream.js';
import { rpc } from '../support/mcp-caller.js';
import { modernBackendFor } from '../support/modern-backend.js';
import { ask, callTool, envelope, openStream } from '../support/modern-caller.js';
import { META } from '../support/modern-ladder.js';
import { until } from '../support/until.js';

const LISTENS = {
  tools: { listChanged: true },
  prompts: { listChanged: true },
  resources: { listChanged: true, subscribe: true },
};

function toldBy(text: Uint8Array): { method?: string; params?: Record<string, unknown>; id?: unknown }[] {
  return readEvents(text).map((event) => JSON.parse(event) as { method?: string });
}

await forEachDeployment(t, { spread: 'all' }, async (t, deployment) => {
  await t.test('progress comes with the client’s token, in order and before the response (M05, M06)', async (t) => {
    const backend = await modernBackendFor(t, {
      onCall: async (call) => {
        for (const progress of [1, 2, 3])
          await call.notify('notifications/progress', { progressToken: call.meta['progressToken'], progress });
        return { content: [] };
      },
    });
    const caller = await deployment.caller({ one: { url: backend.url } });
    for (const token of ['"t"', '0']) {
      const answer = await callTool(caller, 'one-echo', '{}', { meta: envelope('{}', `"progressToken":${token}`) });
      t.equal(answer.contentType, 'text/event-stream');
      t.equal(answer.header('x-accel-buffering'), 'no', 'M07');
      t.notMatch(answer.text, /^id:/m, 'nothing of it can be resumed');
      const told = toldBy(answer.body);
      t.same(
        told.map(({ method, params }) => (method === undefined ? 'response' : params?.['progress'])),
        [1, 2, 3, 'response'],
      );
      t.same(told[0]?.params?.['progressToken'], JSON.parse(token));
    }
  });

  await t.test('log messages reach only those who asked for them (M24)', async (t) => {
    const log = { level: 'info', data: 'x' };
    const modern = await modernBackendFor(t, {
      capabilities: { tools: {}, logging: {} },
      onCall: async (call) => {
        if (call.meta[`${META}logLevel`] !== undefined) await call.notify('notifications/message', log);
        return { content: [] };
      },
    });
    const legacy = await backendFor(t, {
      capabilities: { tools: {}, logging: {} },
      methods: { 'logging/setLevel': () => ({}) },
      onCall: async (call) => {
        await call.notify('notifications/message', log);
        return { content: [] };
      },
    });
    const caller = await deployment.caller({ new: { url: modern.url }, old: { url: legacy.url } });
    for (const backend of ['new', 'old']) {
      const silent = await callTool(caller, `${backend}-echo`);
      t.notMatch(silent.text, 'notifications/message', `${backend}: not asked for`);
      const meta = envelope('{}', `"${META}logLevel":"debug"`);
      const told = await callTool(caller, `${backend}-echo`, '{}', { meta });
      t.match(told.text, 'notifications/message', `${backend}: asked for`);
      const severe = await callTool(caller, `${backend}-echo`, '{}', {
        meta: envelope('{}', `"${META}logLevel":"error"`),
      });
      if (backend === 'old') t.notMatch(severe.text, 'notifications/message', 'below the level');
    }
  });

  await t.test(
    'closing the stream cancels the call: a modern backend sees its stream closed, a legacy one is told (M08)',
    async (t) => {
      let isGone = false;
      const modern = await modernBackendFor(t, {
        onCall: async (call) => {
          call.openStream();
          await call.gone();
          isGone = true;
          call.isTakenOver = true;
        },
      });
      const legacy = await backendFor(t, {
        onCall: async (call) => {
          await call.notify('notifications/progress', { progressToken: 1, progress: 1 });
          call.takeOver();
        },
      });
      const caller = await deployment.caller({ new: { url: modern.url }, old: { url: legacy.url } });
      for (const backend of ['new', 'old']) {
        const params = `"name":"${backend}-echo","arguments":{}`;
        const connection = openStream(caller, 'tools/call', { params, meta: envelope('{}', '"progressToken":"p"') });
        await until(() => (backend === 'new' ? modern.calls : legacy.calls).length === 1, `the call at ${backend}`);
        (await connection).close();
      }
      await until(() => isGone, 'the end of the stream at the modern backend');
      await until(() => legacy.requestsOf('notifications/cancelled').length === 1, 'the word to the legacy backend');
      t.equal(modern.calls.length + legacy.calls.length, 2, 'neither was called again');
    },
  );

  await t.test('listen: an invalid filter is refused', async (t) => {
    const caller = await deployment.caller({
      one: { url: (await modernBackendFor(t, { capabilities: LISTENS })).url },
    });
    for (const params of ['', '"notifications":[]', '"notifications":{"resourceSubscriptions":"x"}']) {
      const { error } = rpc(await ask(caller, 'subscriptions/listen', { params }));
      t.equal(error?.code, -32602, params);
    }
  });
});
