// Batches, as 2025-03-26 has them: each member of a POST's array is answered as if it had come alone, and all answers go
// back together. With four workers most of these POSTs take a hop to the session's owner.
import t from 'tap';
import { backendFor, forEachDeployment, type ConfiguredCaller } from '../support/deployment.js';
import { readEvents } from '../support/event-stream.js';
import { memberText } from '../support/json-text.js';
import { answerText, type RpcMessage, type McpSession } from '../support/mcp-caller.js';
import { encodeRequest, RawConnection } from '../support/raw-http.js';
import { limits } from '../../src/shared/limits.js';
import { until } from '../support/until.js';

const PARAMS =
  '{"protocolVersion":"2025-03-26","capabilities":{"sampling":{}},"clientInfo":{"name":"old","version":"1"}}';
const INITIALIZED = '{"jsonrpc":"2.0","method":"notifications/initialized"}';
/** A client of 2025-03-26 sends no version header. */
const OLD = { protocolVersion: null } as const;

function call(id: string, tool: string, args = '{}', more = ''): string {
  return `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"${tool}","arguments":${args}${more}}}`;
}

function ping(id: string): string {
  return `{"jsonrpc":"2.0","id":${id},"method":"ping"}`;
}

/** The responses by their ids. */
function byId(messages: readonly RpcMessage[]): Map<unknown, RpcMessage> {
  return new Map(messages.map((message) => [message.id, message]));
}

await forEachDeployment(t, {}, async (t, deployment) => {
  const open = async (caller: ConfiguredCaller): Promise<McpSession> => caller.openSession({ params: PARAMS, ...OLD });

  await t.test('each member is answered on its own, in one array; an invalid one gets its own error', async (t) => {
    const [one, two] = [await backendFor(t), await backendFor(t, { answerAs: 'event-stream' })];
    const session = await open(await deployment.caller({ one: { url: one.url }, two: { url: two.url } }));
    const members = [
      call('1', 'one-echo', '{"n":1.0}'),
      call('"a"', 'two-echo', '{"n":12345678901234567890}'),
      '{"jsonrpc":"2.0","id":0,"method":"tools/list"}',
      INITIALIZED,
      ping('""'),
      '{"jsonrpc":"2.0","id":5,"method":"nonsense"}',
      call('6', 'nobody-x'),
      `{"jsonrpc":"2.0","id":7,"method":"initialize","params":${PARAMS}}`,
      '{"jsonrpc":"1.0","id":8,"method":"ping"}',
      `[${ping('9')}]`,
      '7',
      '{"jsonrpc":"2.0","id":"nobody-asked","result":{}}',
    ];
    for (const accept of ['application/json', 'application/json, text/event-stream']) {
      const answer = await session.send(` [${members.join(' , ')}]\n`, { ...OLD, accept });
      t.equal(answer.status, 200);
      t.equal(answer.contentType, 'application/json');
      const messages = answer.json() as RpcMessage[];
      t.equal(messages.length, 10, 'one for each but a notification and a response');
      t.ok(answer.text.includes('"structuredContent":{"n":1.0}'), 'to the byte');
      t.ok(answer.text.includes('"structuredContent":{"n":12345678901234567890}'));
      const answers = byId(messages);
      t.match(answers.get(0), { result: { tools: [{ name: 'one-echo' }, { name: 'two-echo' }] } });
      t.same(answers.get(''), { jsonrpc: '2.0', id: '', result: {} });
      t.match(answers.get(5), { error: { code: -32601 } });
      t.match(answers.get(6), { error: { code: -32602, message: 'Unknown tool: nobody-x' } });
      t.match(answers.get(7), { error: { code: -32600, message: /initialize/ } });
      t.match(answers.get(8), { error: { code: -32600 } });
      const withoutId = messages.filter((message) => !('id' in message));
      t.same(
        withoutId.map(({ error }) => error?.code),
        [-32600, -32600],
        'a batch in a batch, and a number',
      );
    }
    t.equal(one.calls.length, 2);
    const batch = await session.send(`[${members.join()}]`, OLD);
    for (const member of members) {
      const alone = await session.send(member, OLD);
      // A member that is itself an array would be a batch when sent alone.
      if (alone.status === 200 && !member.startsWith('['))
        t.ok(batch.text.includes(answerText(alone)), `as if it had come alone: ${member}`);
    }
    t.equal((await session.list(OLD)).status, 200, 'the session is as it was');
  });

  await t.test('2024-11-05 over this transport has batches too', async (t) => {
    const params = PARAMS.replace('2025-03-26', '2024-11-05');
    const session = await (await deployment.caller()).openSession({ params, ...OLD });
    t.equal((await session.send(`[${ping('1')}]`, OLD)).text, '[{"jsonrpc":"2.0","id":1,"result":{}}]');
  });

  await t.test('a single request in an array is answered in an array; nothing but notifications, 202', async (t) => {
    const session = await open(await deployment.caller());
    const answer = await session.send(`[${ping('1')}]`, OLD);
    t.equal(answer.text, '[{"jsonrpc":"2.0","id":1,"result":{}}]');
    for (const body of [`[${INITIALIZED}]`, `[${INITIALIZED},{"jsonrpc":"2.0","id":3,"result":{}}]`]) {
      const accepted = await session.send(body, OLD);
      t.equal(accepted.status, 202, body);
      t.equal(accepted.body.length, 0);
    }
    const empty = await session.send('[]', OLD);
    t.equal(empty.status, 400);
    t.match(empty.json(), { error: { code: -32600 } });
  });

  await t.test('a client that accepts only event streams gets an event for each answer', async (t) => {
    const session = await open(await deployment.caller());
    const answer = await session.send(`[${ping('1')},${ping('2')}]`, { ...OLD, accept: 'text/event-stream' });
    t.equal(answer.contentType, 'text/event-stream');
    t.same(
      readEvents(answer.body).sort(),
      [1, 2].map((id) => `{"jsonrpc":"2.0","id":${id},"result":{}}`),
    );
  });

  await t.test('with progress, the answer is an event stream, in which each result follows its progress', async (t) => {
    const backend = await backendFor(t, {
      onCall: async (received) => {
        const token = memberText(received.request.text, 'params', '_meta', 'progressToken');
        if (token === undefined) return;
        for (const progress of [1, 2]) {
          await received.notify('notifications/progress', { progressToken: JSON.parse(token) as unknown, progress });
        }
      },
    });
    const session = await open(await deployment.caller({ one: { url: backend.url } }));
    const members = ['a', 'b', 'c'].map((id) =>
      call(`"${id}"`, 'one-echo', '{}', `,"_meta":{"progressToken":"${id}"}`),
    );
    const answer = await session.send(`[${ping('1')},${members.join(',')},${call('2', 'one-echo')}]`, OLD);
    t.equal(answer.contentType, 'text/event-stream');
    const events = readEvents(answer.body);
    t.equal(events.length, 3 * 2 + 5);
    for (const id of ['a', 'b', 'c']) {
      const about = events
        .filter((event) => event.includes(`"${id}"`))
        .map((event) => memberText(event, 'method') ?? 'answer');
      t.same(about, ['"notifications/progress"', '"notifications/progress"', 'answer'], id);
    }
    for (const id of ['1', '2']) t.equal(events.filter((event) => memberText(event, 'id') === id).length, 1, id);
  });

  await t.test('a member can ask its client something, and can be cancelled by another POST', async (t) => {
    const backend = await backendFor(t, {
      withSessions: true,
      framing: 'chunked',
      tools: ['ask', 'wait'],
      onCall: async (received) => {
        if (received.name === 'wait')
          return until(() => backend.requestsOf('notifications/cancelled').length > 0, 'a cancellation');
        await received.send({
          jsonrpc: '2.0',
          id: 0,
          method: 'sampling/createMessage',
          params: { messages: [], maxTokens: 1 },
        });
        await until(() => backend.raw.requests.some(({ text }) => text.includes('"sampled"')), "the client's answer");
        return undefined;
      },
    });
    const session = await open(await deployment.caller({ one: { url: backend.url } }));
    const connection = await RawConnection.open(session.caller.origin);
    t.teardown(() => connection.close());
    const body = `[${call('1', 'one-ask')},${call('2', 'one-wait')}]`;
    connection.write(
      encodeRequest(session.caller.origin, session.caller.request({ session: session.id, body, ...OLD })),
    );
    await until(() => connection.unread.includes('sampling/createMessage'), 'the question');
    const [, id] =
      /"id":("(?:[^"\\]|\\.)*")/.exec(/^data: (.*sampling.*)$/m.exec(connection.unread.toString())?.[1] ?? '') ?? [];
    t.equal((await session.send(`[{"jsonrpc":"2.0","id":${id},"result":{"sampled":true}}]`, OLD)).status, 202);
    const cancel = '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}';
    t.equal((await session.send(`[${cancel}]`, OLD)).status, 202);
    const events = readEvents((await connection.readAnswer()).body);
    t.same(events.map((event) => memberText(event, 'id')).sort(), [id, '1', '2'].sort());
  });

  await t.test('a batch with too many members or bytes gets 413 with an explanation', async (t) => {
    const session = await open(await deployment.caller());
    const members = (count: number): string =>
      `[${Array.from({ length: count }, (_, id) => ping(String(id))).join(',')}]`;
    const full = await session.send(members(limits.batchMembersMax), OLD);
    t.equal((full.json() as unknown[]).length, limits.batchMembersMax);
    const long = `[${call('1', 'one-x', JSON.stringify({ text: 'x'.repeat(limits.batchBytesMax) }))}]`;
    for (const body of [members(limits.batchMembersMax + 1), long]) {
      const answer = await session.send(body, OLD);
      t.equal(answer.status, 413);
      t.match(answer.json(), { error: { code: -32600, message: /\b64 messages\b/ } });
    }
  });

  await t.test(
    'large members and answers pass; a client that accepts only JSON is told which answers do not fit',
    async (t) => {
      const large = 'x'.repeat(300_000);
      const backend = await backendFor(t, {
        onCall: ({ argumentsText }) => ({
          content: [{ type: 'text', text: 'y'.repeat(Number(memberText(argumentsText ?? '{}', 'bytes') ?? '1')) }],
        }),
      });
      const session = await open(await deployment.caller({ one: { url: backend.url } }));
      const sent = await session.send(`[${call('1', 'one-echo', `{"text":"${large}"}`)},${ping('2')}]`, OLD);
      t.equal((sent.json() as unknown[]).length, 2);
      t.equal(backend.calls[0]?.argumentsText, `{"text":"${large}"}`);
      const answers = [1, 2, 3].map((id) => call(String(id), 'one-echo', '{"bytes":1500000}'));
      const streamed = await session.send(`[${answers.join(',')}]`, OLD);
      t.equal(streamed.contentType, 'text/event-stream', 'more than is kept: the first go out as events');
      t.same(
        readEvents(streamed.body).map((event) => event.length > 1_500_000),
        [true, true, true],
      );
      const json = await session.send(`[${answers.join(',')}]`, { ...OLD, accept: 'application/json' });
      const outcomes = (json.json() as RpcMessage[]).map(({ error }) => error?.message ?? 'answered').sort();
      t.match(outcomes, [/^The request was executed, but its response does not fit/, 'answered', 'answered']);
      const giant = await session.send(`[${call('4', 'one-echo', '{"bytes":5000000}')},${ping('5')}]`, OLD);
      t.match(byId(giant.json() as RpcMessage[]).get(4), { error: { code: -32000, message: /send it alone/ } });
    },
  );
});
