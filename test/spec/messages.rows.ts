// Further checks of the MCP checklists on both faces while a call runs: cancellation, disconnection, requests of backends,
// progress, the end of streams.
import t from 'tap';
import { backendFor, forEachDeployment, type ConfiguredCaller } from '../support/deployment.js';
import { readEvents } from '../support/event-stream.js';
import { memberText } from '../support/json-text.js';
import type { ReceivedCall } from '../support/mcp-backend.js';
import { answerText, rpc, type McpSession, type RpcMessage } from '../support/mcp-caller.js';
import { encodeRequest, RawConnection } from '../support/raw-http.js';
import { until } from '../support/until.js';

const CALL = '{"jsonrpc":"2.0","id":"c1","method":"tools/call","params":{"name":"one-echo","arguments":{"n":1}}}';

/** A backend whose calls wait to be released. */
class Gate {
  readonly #waiting: (() => void)[] = [];
  isOpen = false;

  async wait(): Promise<void> {
    if (!this.isOpen) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  open(): void {
    this.isOpen = true;
    for (const release of this.#waiting) release();
  }
}

async function sendAndKeep(session: McpSession, body: string): Promise<RawConnection> {
  const connection = await RawConnection.open(session.caller.origin);
  connection.write(encodeRequest(session.caller.origin, session.caller.request({ session: session.id, body })));
  return connection;
}

await forEachDeployment(t, {}, async (t, deployment) => {
  const openSession = async (backend: { readonly url: string }): Promise<McpSession> => {
    const caller: ConfiguredCaller = await deployment.caller({ one: { url: backend.url } });
    return caller.openSession();
  };

  await t.test('notifications/cancelled goes to the backend that runs the request, to no other (C16)', async (t) => {
    const gate = new Gate();
    const [running, idle] = [await backendFor(t, { onCall: () => gate.wait() }), await backendFor(t)];
    const session = await (
      await deployment.caller({ one: { url: running.url }, two: { url: idle.url } })
    ).openSession();
    const connection = await sendAndKeep(session, CALL);
    t.teardown(() => connection.close());
    await until(() => running.calls.length === 1, 'the call at the backend');
    const requestId = memberText(running.calls[0]!.request.text, 'id');
    const cancel =
      '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"c1","reason":"why not"}}';
    t.equal((await session.send(cancel)).status, 202);
    await until(() => running.requestsOf('notifications/cancelled').length === 1, 'the cancellation at the backend');
    const passed = running.requestsOf('notifications/cancelled')[0]!.text;
    t.equal(memberText(passed, 'params', 'requestId'), requestId);
    t.equal(memberText(passed, 'params', 'reason'), '"why not"');
    t.equal(idle.requestsOf('notifications/cancelled').length, 0);
    gate.open();
  });

  await t.test("a cancellation of an unknown request, or of another session's, reaches no backend (X15)", async (t) => {
    const gate = new Gate();
    const backend = await backendFor(t, { onCall: () => gate.wait() });
    const [mine, other] = [await openSession(backend), await openSession(backend)];
    const connection = await sendAndKeep(mine, CALL);
    t.teardown(() => connection.close());
    await until(() => backend.calls.length === 1, 'the call at the backend');
    for (const id of ['"c1"', '"c2"', 'null', '{}']) {
      const cancel = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":${id}}}`;
      t.equal((await other.send(cancel)).status, 202, id);
    }
    gate.open();
    t.match(
      rpc(await connection.readAnswer()),
      { id: 'c1', result: { structuredContent: { n: 1 } } },
      'the call went on',
    );
    t.equal(backend.requestsOf('notifications/cancelled').length, 0);
  });

  await t.test('a caller that disconnects does not cancel its call (S12, C16)', async (t) => {
    const gate = new Gate();
    let isAnswered = false;
    const backend = await backendFor(t, {
      onCall: async () => {
        await gate.wait();
        isAnswered = true;
      },
    });
    const session = await openSession(backend);
    const connection = await sendAndKeep(session, CALL);
    await until(() => backend.calls.length === 1, 'the call at the backend');
    const upstream = backend.calls[0]!.request.connection;
    connection.close();
    t.equal((await session.list()).status, 200, 'the session is served in the meantime');
    t.notOk(upstream.destroyed, "the backend's connection stays open");
    gate.open();
    await until(() => isAnswered, 'the backend to finish');
    t.equal(backend.requestsOf('notifications/cancelled').length, 0);
    t.match(rpc(await session.call('one-echo', '{"n":2}')), { result: { structuredContent: { n: 2 } } });
  });

  await t.test("a backend's ping is answered, any other request of it is -32601 (C17, C18, C19)", async (t) => {
    const backend = await backendFor(t, {
      withSessions: true,
      framing: 'chunked',
      onCall: async (call: ReceivedCall) => {
        await call.send({ jsonrpc: '2.0', id: 0, method: 'ping' });
        await call.send({ jsonrpc: '2.0', id: 'r', method: 'roots/list' });
        await until(() => answers().length === 2, "the gateway's answers");
      },
    });
    const answers = (): string[] =>
      backend.raw.requests
        .map(({ text }) => text)
        .filter((text) => memberText(text, 'method') === undefined && text !== '');
    const session = await openSession(backend);
    const answer = await session.call('one-echo', '{"n":1}');
    t.match(rpc(answer), { result: { structuredContent: { n: 1 } } });
    const messages = answers().map((text) => JSON.parse(text) as RpcMessage);
    t.same(
      messages.find(({ id }) => id === 0),
      { jsonrpc: '2.0', id: 0, result: {} },
    );
    t.match(
      messages.find(({ id }) => id === 'r'),
      { jsonrpc: '2.0', error: { code: -32601 } },
    );
    if (answer.contentType === 'text/event-stream') {
      t.same(readEvents(answer.body).length, 1, 'neither is shown to the caller');
    }
  });

  await t.test('an event stream ends once the answer was sent (S10)', async (t) => {
    const backend = await backendFor(t, { answerAs: 'event-stream' });
    const session = await openSession(backend);
    const answer = await session.call('one-echo', '{}', { accept: 'text/event-stream' });
    t.equal(readEvents(answer.body).length, 1, 'reading it to its end came to an end');
  });

  await t.test('what a backend sends after its answer is dropped (S10)', async (t) => {
    const backend = await backendFor(t, {
      onCall: async (call) => {
        const stream = call.takeOver().eventStream();
        await stream.event('{"jsonrpc":"2.0","id":"c1","result":{"content":[]}}');
        await stream.event(
          '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}',
        );
        await stream.event('{"jsonrpc":"2.0","id":"c1","result":{"content":["again"]}}');
        stream.end();
      },
    });
    const session = await openSession(backend);
    for (const accept of ['application/json', 'text/event-stream']) {
      const answer = await session.send(CALL, { accept });
      t.equal(answerText(answer), '{"jsonrpc":"2.0","id":"c1","result":{"content":[]}}', accept);
    }
  });

  await t.test('an answer under a wrong id is skipped, and not shown to the caller', async (t) => {
    const backend = await backendFor(t, {
      onCall: async (call) => {
        const stream = call.takeOver().eventStream();
        await stream.event('{"jsonrpc":"2.0","id":"other","result":{"content":["wrong"]}}');
        await stream.event('{"jsonrpc":"2.0","id":"c1","result":{"content":["right"]}}');
        stream.end();
      },
    });
    const session = await openSession(backend);
    const answer = await session.send(CALL, { accept: 'application/json' });
    t.equal(answerText(answer), '{"jsonrpc":"2.0","id":"c1","result":{"content":["right"]}}');
  });

  await t.test("progress under another request's token is not shown to this caller (S15)", async (t) => {
    const progress = (token: string): string =>
      `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":${token},"progress":1}}`;
    const backend = await backendFor(t, {
      onCall: async (call) => {
        const stream = call.takeOver().eventStream();
        for (const token of ['"theirs"', '1', '"1"', '"mine"']) await stream.event(progress(token));
        await stream.event('{"jsonrpc":"2.0","id":7,"result":{}}');
        stream.end();
      },
    });
    const session = await openSession(backend);
    const body =
      '{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"one-echo","_meta":{"progressToken":"mine"}}}';
    const answer = await session.send(body, { accept: 'text/event-stream' });
    t.same(readEvents(answer.body), [progress('"mine"'), '{"jsonrpc":"2.0","id":7,"result":{}}']);
  });
});
