// Streams that break and are resumed: a backend that ends the stream of a call before its answer, and a client that loses its
// connection in the middle of one. Nothing is lost, and nothing arrives twice.
import type { Socket } from 'node:net';
import t from 'tap';
import { backendFor, forEachDeployment, type Deployment } from '../support/deployment.js';
import { EventLog } from '../support/event-log.js';
import { EventReader } from '../support/event-reader.js';
import { memberText } from '../support/json-text.js';
import type { McpBackend } from '../support/mcp-backend.js';
import { BOTH_FORMS, INITIALIZE_PARAMS, rpc, type McpSession } from '../support/mcp-caller.js';
import type { EventStreamBody, ReceivedRequest } from '../support/raw-backend.js';
import { send } from '../support/raw-http.js';
import { until } from '../support/until.js';
import { STREAM_RETRY_MS } from '../../src/bytes/event-stream.js';

const RETRY_MS = 300;

function progress(number: number): string {
  return `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p","progress":${number}.0}}`;
}

/** A call with a progress token. */
function callBody(tool: string, id = '7'): string {
  return `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"${tool}","arguments":{},"_meta":{"progressToken":"p"}}}`;
}

async function beginCall(session: McpSession, tool: string, id?: string): Promise<EventReader> {
  return EventReader.open(session.caller, { session: session.id, accept: BOTH_FORMS, body: callBody(tool, id) });
}

/** A backend whose calls and GETs the test answers; the GETs are also recorded. */
async function brokenOff(
  t: Parameters<typeof backendFor>[0],
  onCall: (request: ReceivedRequest) => Promise<void>,
  onGet: (request: ReceivedRequest, number: number) => Promise<void>,
): Promise<{ readonly backend: McpBackend; readonly gets: ReceivedRequest[] }> {
  const gets: ReceivedRequest[] = [];
  const backend = await backendFor(t, {
    withSessions: true,
    onCall: (call) => onCall(call.takeOver()),
    onRequest: async (request) => {
      if (request.method !== 'GET') return false;
      gets.push(request);
      await onGet(request, gets.length);
      return true;
    },
  });
  return { backend, gets };
}

await forEachDeployment(t, { spread: 'all' }, async (t, deployment) => {
  await t.test('a backend that ends its stream before the answer is asked for the rest after its retry', async (t) => {
    for (const how of ['end', 'break'] as const) {
      let endedAtMs = 0;
      const waitedMs: number[] = [];
      const { backend, gets } = await brokenOff(
        t,
        async (request) => {
          const stream = request.eventStream();
          await stream.bytes(`id: a\nretry: ${RETRY_MS}\ndata:\n\n`);
          await stream.event(progress(1), { id: 'b' });
          endedAtMs = performance.now();
          if (how === 'end') stream.end();
          else request.destroy();
        },
        async (request, number) => {
          waitedMs.push(performance.now() - endedAtMs);
          const stream = request.eventStream();
          if (number === 1) {
            await stream.event(progress(2), { id: 'c' });
            endedAtMs = performance.now();
          } else {
            await stream.event(progress(3), { id: 'd' });
            await stream.event('{"jsonrpc":"2.0","id":7,"result":{"n":1.0}}', { id: 'e' });
          }
          stream.end();
        },
      );
      const caller = await deployment.caller({ one: { url: backend.url } });
      const session = await caller.openSession();
      const stream = await beginCall(session, 'one-echo');
      t.equal(await stream.next(), progress(1));
      t.equal(await stream.next(), progress(2));
      t.same(await stream.rest(), [progress(3), '{"jsonrpc":"2.0","id":7,"result":{"n":1.0}}'], how);
      t.same(
        gets.map(({ headers }) => headers['last-event-id']),
        ['b', 'c'],
      );
      t.match(gets[0]?.headers, {
        accept: 'text/event-stream',
        'mcp-session-id': [...backend.sessions][0],
        'mcp-protocol-version': '2025-11-25',
      });
      t.ok(Math.min(...waitedMs) >= RETRY_MS - 10, `not before the retry: ${waitedMs.join(', ')}`);
      t.equal(backend.calls.length, 1, 'the tool runs once');
    }
  });

  await t.test('a stream that cannot be resumed gives an error that says so, and the tool runs once', async (t) => {
    for (const status of [400, 404, 405]) {
      const { backend } = await brokenOff(
        t,
        async (request) => {
          const stream = request.eventStream();
          await stream.bytes('id: a\nretry: 100\ndata:\n\n');
          stream.end();
        },
        async (request) => request.empty(status),
      );
      const session = await (await deployment.caller({ one: { url: backend.url } })).openSession();
      t.match(rpc(await session.call('one-echo')), {
        id: 7,
        error: { code: -32603, message: new RegExp(`^Backend "one" failed: stream ended .* HTTP status ${status}$`) },
      });
      t.equal(backend.calls.length, 1);
    }
  });

  await t.test('a list and a resource arrive complete, although their streams break', async (t) => {
    let isOver = false;
    const answers = new Map<string, string>();
    const backend = await backendFor(t, {
      capabilities: { tools: {}, resources: {} },
      onRequest: async (request) => {
        if (request.method === 'GET') {
          const stream = request.eventStream();
          await stream.event(answers.get(request.headers['last-event-id'] ?? '') ?? '{}');
          stream.end();
          return true;
        }
        const { id, method } = JSON.parse(request.text) as { id?: unknown; method?: string };
        if (isOver || (method !== 'tools/list' && method !== 'resources/read')) return false;
        const result =
          method === 'tools/list'
            ? {
                tools: [
                  { name: 'x'.repeat(100_000), inputSchema: {} },
                  { name: 'a', inputSchema: {} },
                ],
              }
            : { contents: [{ uri: 'a:b', text: 'whole' }] };
        answers.set(method, JSON.stringify({ jsonrpc: '2.0', id, result }));
        const stream = request.eventStream();
        await stream.bytes(`retry: 100\nid: ${method}\ndata:\n\n`);
        stream.end();
        return true;
      },
    });
    const session = await (await deployment.caller({ one: { url: backend.url } })).openSession();
    t.same(await session.toolNames(), ['one-a'], 'but for the name that is too long');
    const read = '{"jsonrpc":"2.0","id":3,"method":"resources/read","params":{"uri":"one+a:b"}}';
    t.match(rpc(await session.send(read)), { id: 3, result: { contents: [{ uri: 'one+a:b', text: 'whole' }] } });
    isOver = true;
    await until(() => answers.size === 2, 'both');
  });
});

/** What a backend sends in its calls, event by event, as the test decides. */
class Talk {
  readonly backend: McpBackend;
  readonly streams: EventStreamBody[];
  /** The connection of each stream. */
  readonly connections: Socket[];

  private constructor(backend: McpBackend, streams: EventStreamBody[], connections: Socket[]) {
    this.backend = backend;
    this.streams = streams;
    this.connections = connections;
  }

  static async start(t: Parameters<typeof backendFor>[0]): Promise<Talk> {
    const streams: EventStreamBody[] = [];
    const connections: Socket[] = [];
    const backend = await backendFor(t, {
      onCall: (call) => {
        connections.push(call.request.connection);
        streams.push(call.takeOver().eventStream());
      },
    });
    return new Talk(backend, streams, connections);
  }

  /** The stream of the call of this number, once it has arrived. */
  async stream(number = 0): Promise<EventStreamBody> {
    await until(() => this.streams.length > number, `call ${number}`);
    return this.streams[number]!;
  }
}

function answerTo(id: string): string {
  return `{"jsonrpc":"2.0","id":${id},"result":{"n":1.0,"of":${id}}}`;
}

/** How many messages a stream reports as lost. */
function lostCountOf(messages: readonly string[]): number {
  const notices = messages.map((text) =>
    /"logger":"switchyard","data":"(\d+) messages from backends were lost/.exec(text),
  );
  return notices.reduce((sum, notice) => sum + Number(notice?.[1] ?? 0), 0);
}

async function openTalk(
  deployment: Deployment,
  talk: Talk,
  params = INITIALIZE_PARAMS.replace('"capabilities":{}', '"capabilities":{"roots":{}}'),
): Promise<McpSession> {
  return (await deployment.caller({ one: { url: talk.backend.url } })).openSession({ params });
}

async function beginLogged(session: McpSession, id = '7', accept = BOTH_FORMS): Promise<EventLog> {
  const log = EventLog.open(session.caller, { session: session.id, accept, body: callBody('one-echo', id) });
  return log;
}

async function goOn(session: McpSession, lastId: string): Promise<EventLog> {
  const headers = [['last-event-id', lastId]] as const;
  return EventLog.open(session.caller, { method: 'GET', session: session.id, accept: 'text/event-stream', headers });
}

await forEachDeployment(t, { spread: 'all' }, async (t, deployment) => {
  await t.test('every event of a call has an id of its own, and the first has nothing else', async (t) => {
    const talk = await Talk.start(t);
    const session = await openTalk(deployment, talk);
    const ids = new Set<string>();
    for (const id of ['1', '2']) {
      const begun = beginLogged(session, id);
      const stream = await talk.stream(Number(id) - 1);
      await stream.event(progress(1), { id: 'its own' });
      await stream.event(answerTo(id));
      stream.end();
      const log = await (await begun).end();
      t.equal(log.events[0]?.data, '');
      t.same(log.messages, [progress(1), answerTo(id)]);
      for (const event of log.events) {
        t.match(event.id, /^\d+-[\w-]+_\d+$/);
        ids.add(event.id ?? '');
      }
    }
    t.equal(ids.size, 6, 'no two are alike');
  });

  await t.test('a client of 2025-06-18 gets no ids, and no event without data', async (t) => {
    const talk = await Talk.start(t);
    const session = await openTalk(deployment, talk, INITIALIZE_PARAMS.replace('2025-11-25', '2025-06-18'));
    const begun = beginLogged(session);
    const stream = await talk.stream();
    await stream.event(progress(1), { id: 'its own' });
    await stream.event(answerTo('7'));
    const log = await (await begun).end();
    t.same(
      log.events,
      [progress(1), answerTo('7')].map((data) => ({ id: undefined, data })),
    );
  });

  await t.test('a connection that breaks in the middle of a call loses nothing', async (t) => {
    const talk = await Talk.start(t);
    const session = await openTalk(deployment, talk);
    const begun = beginLogged(session);
    const stream = await talk.stream();
    for (const number of [1, 2, 3]) await stream.event(progress(number));
    const log = await (await begun).until(3);
    t.same(log.events[0], { id: log.events[0]?.id, data: '' }, 'primed (S08)');
    t.equal(log.retryMs, STREAM_RETRY_MS, 'and told when to come back (S09)');
    log.close();
    // Resumes from before the last event that arrived: what was written since then is sent again.
    const second = log.events.find(({ data }) => data === progress(1))?.id ?? '';
    for (const number of [4, 5]) await stream.event(progress(number));
    const resumed = await (await goOn(session, second)).until(4);
    t.equal(resumed.status, 200);
    t.equal(resumed.retryMs, STREAM_RETRY_MS, 'again');
    t.same(resumed.messages, [2, 3, 4, 5].map(progress));
    await stream.event(progress(6));
    t.same((await resumed.until(5)).messages.at(-1), progress(6), 'and then what comes');
    resumed.close();
    await stream.event(answerTo('7'));
    stream.end();
    const last = await (await goOn(session, resumed.lastId)).end();
    t.same(last.messages, [answerTo('7')], 'once, and in order');
    t.same((await (await goOn(session, resumed.lastId)).end()).messages, [answerTo('7')], 'as often as it breaks');
    t.equal(talk.backend.calls.length, 1);
  });

  await t.test('a request of a backend on a broken stream stays open, and can still be answered', async (t) => {
    const talk = await Talk.start(t);
    const session = await openTalk(deployment, talk);
    const begun = beginLogged(session);
    const stream = await talk.stream();
    await stream.event(progress(1));
    const log = await (await begun).until(1);
    log.close();
    await stream.event('{"jsonrpc":"2.0","id":5,"method":"roots/list"}');
    const resumed = await (await goOn(session, log.lastId)).until(1);
    const asked = resumed.messages[0] ?? '';
    t.equal(memberText(asked, 'method'), '"roots/list"');
    await session.send(`{"jsonrpc":"2.0","id":${memberText(asked, 'id')},"result":{"roots":[]}}`);
    const heard = (): string[] => talk.backend.raw.requests.map(({ text }) => text);
    await until(() => heard().includes('{"jsonrpc":"2.0","id":5,"result":{"roots":[]}}'), 'the answer');
    await stream.event(answerTo('7'));
    t.same((await resumed.end()).messages.slice(1), [answerTo('7')]);
  });

  await t.test(
    'of two connections that resume one stream the newer gets it; the session’s own stream is another',
    async (t) => {
      const talk = await Talk.start(t);
      const session = await openTalk(deployment, talk);
      const general = await EventLog.open(session.caller, {
        ...{ method: 'GET', session: session.id, accept: 'text/event-stream' },
      });
      const begun = beginLogged(session);
      const stream = await talk.stream();
      await stream.event(progress(1));
      const log = await (await begun).until(1);
      const older = await goOn(session, log.lastId);
      t.equal((await log.end()).messages.length, 1, 'the first connection ends, broken or not');
      const newer = await goOn(session, log.lastId);
      t.same((await older.end()).messages, []);
      await stream.event(answerTo('7'));
      t.same((await newer.end()).messages, [answerTo('7')]);
      t.notOk(general.isEnded);
      await session.delete();
      t.same((await general.end()).messages, [], 'it lasts as long as the session');
      t.ok(general.events[0]?.id !== undefined && general.retryMs !== undefined, 'primed as well');
    },
  );

  await t.test(
    'a living session never answers 404: a call of which nothing is kept fails, and nothing else does',
    async (t) => {
      const talk = await Talk.start(t);
      const session = await openTalk(deployment, talk);
      const begun = beginLogged(session);
      const stream = await talk.stream();
      await stream.event(progress(1));
      const log = await (await begun).until(1);
      await stream.event(answerTo('7'));
      await log.end();
      for (const [lastId, id] of [
        [log.events[0]?.id?.replace(/^\d+/, '999999999999999') ?? '', '7'],
        [`1000000001-${Buffer.from('"a\\u0062"').toString('base64url')}_12`, '"a\\u0062"'],
      ] as const) {
        const rest = await goOn(session, lastId);
        t.equal(rest.status, 200, lastId);
        const [lost = '', ...more] = (await rest.end()).messages;
        t.same(more, []);
        t.equal(memberText(lost, 'id'), id);
        t.match(JSON.parse(lost), { error: { code: -32000, message: /no longer retained/ } });
        // Official clients come again after an error.
        t.equal((await goOn(session, rest.lastId)).status, 204, 'nothing follows');
      }
      t.equal((await session.list()).status, 200);
    },
  );

  await t.test(
    'an event id that was never issued to this client begins a new stream, and takes nothing away',
    async (t) => {
      const talk = await Talk.start(t);
      const session = await openTalk(deployment, talk);
      const other = await openTalk(deployment, talk);
      const begun = beginLogged(session);
      const stream = await talk.stream();
      await stream.event(progress(1));
      const log = await (await begun).until(1);
      const [number = '', name = ''] = log.lastId.split(/[-_]/);
      const ahead = `${number}-${name}_999999`;
      const [lost = ''] = (await (await goOn(other, log.lastId)).end()).messages;
      t.match(JSON.parse(lost), { id: 7, error: { code: -32000 } }, "another session's");
      const stranger = (await deployment.caller()).request({
        ...{
          method: 'GET',
          session: session.id,
          accept: 'text/event-stream',
          headers: [['last-event-id', log.lastId]],
        },
      });
      t.equal((await send(deployment.gateway.origin, stranger)).status, 404, "another subject's");
      const without = [
        `${Number(number) + 2}_1`,
        `${number}_999999`,
        ahead,
        '1_1',
        `${number}-${name}=_1`,
        `${number}-_1`,
      ];
      for (const id of [...without, 'garbled', number, `${log.lastId}x`, '-1_1', '_', '1e3_1', 'x'.repeat(5_000)]) {
        const fresh = await goOn(session, id);
        t.equal(fresh.status, 200, id.slice(0, 20));
        fresh.close();
      }
      await stream.event(answerTo('7'));
      t.same((await log.end()).messages, [progress(1), answerTo('7')], 'nobody was in its way');
      for (const rest of [await (await goOn(session, log.lastId)).end()]) t.same(rest.messages, []);
    },
  );

  // A thousand times if a connection may reach any of four workers; with one worker a fault shows sooner.
  const turns = deployment.name === '4 workers, Redis' ? 1_000 : 100;
  await t.test(`a client that breaks and goes on ${turns} times gets each event once`, async (t) => {
    const talk = await Talk.start(t);
    const session = await openTalk(deployment, talk);
    const begun = beginLogged(session);
    const stream = await talk.stream();
    await stream.event(progress(0));
    let log = await (await begun).until(1);
    const seen = [...log.messages];
    for (let number = 1; number <= turns; number += 1) {
      log.close();
      const [next] = await Promise.all([goOn(session, log.lastId), stream.event(progress(number))]);
      log = await next.until(1);
      seen.push(...log.messages);
    }
    t.same(
      seen,
      Array.from({ length: turns + 1 }, (_, number) => progress(number)),
    );
    await stream.event(answerTo('7'));
    t.same((await log.end()).messages.at(-1), answerTo('7'));
  });

  await t.test('a client that breaks many streams and never returns does not affect others', async (t) => {
    const calls = 40;
    const talk = await Talk.start(t);
    const session = await openTalk(deployment, talk);
    const bystander = await openTalk(deployment, talk);
    const data = 'x'.repeat(60_000);
    const long = (number: number): string =>
      `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","logger":"${number}","data":"${data}"}}`;
    const lastIds = [];
    for (let call = 0; call < calls; call += 1) {
      const begun = beginLogged(session, String(call));
      await (await talk.stream(call)).event(progress(1));
      const log = await (await begun).until(1);
      lastIds.push(log.lastId);
      log.close();
    }
    // Several times what a session may keep.
    const rounds = 6;
    for (let number = 0; number < rounds; number += 1)
      for (const stream of talk.streams) await stream.event(long(number));
    for (const [call, stream] of talk.streams.entries()) await stream.event(answerTo(String(call)));
    // Streams that the backend leaves open after the answer are cut once it was read: slowly, because no client reads.
    await until(() => talk.connections.every(({ destroyed }) => destroyed), 'every answer to be read');
    const begun = beginLogged(bystander, '7');
    const stream = await talk.stream(calls);
    await stream.event(progress(1));
    const log = await (await begun).until(1);
    log.close();
    await stream.event(progress(2));
    await stream.event(answerTo('7'));
    t.same((await (await goOn(bystander, log.lastId)).end()).messages, [progress(2), answerTo('7')]);
    let kept = 0;
    for (const [call, lastId] of lastIds.entries()) {
      const rest = (await (await goOn(session, lastId)).end()).messages;
      t.equal(rest.at(-1), answerTo(String(call)), 'answers go last');
      const long = rest.filter((text) => text.includes(data)).length;
      t.equal(long + lostCountOf(rest), rounds, 'what did not last is told');
      kept += long;
    }
    t.ok(kept < (calls * rounds) / 2, `${kept} of ${calls * rounds} long messages were kept`);
  });

  await t.test(
    'the stream of a session is resumed, with what was sent meanwhile and what was on its way',
    async (t) => {
      const says: EventStreamBody[] = [];
      const backend = await backendFor(t, {
        capabilities: { tools: {}, logging: {} },
        onRequest: (request) => {
          if (request.method !== 'GET') return false;
          says.push(request.eventStream());
          return true;
        },
      });
      const session = await (await deployment.caller({ one: { url: backend.url } })).openSession();
      const open = { method: 'GET', session: session.id, accept: 'text/event-stream' };
      const first = await EventLog.open(session.caller, open);
      await until(() => says.length === 1, "the backend's stream");
      const notice = (number: number): string =>
        `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":${number}.0}}`;
      for (const number of [1, 2, 3]) await says[0]!.event(notice(number));
      await first.until(3);
      t.ok(first.retryMs !== undefined);
      first.close();
      for (const number of [4, 5]) await says[0]!.event(notice(number));
      const from = first.events.find(({ data }) => data === notice(2))?.id ?? '';
      const second = await (await goOn(session, from)).until(3);
      t.same(second.messages, [3, 4, 5].map(notice));
      await says[0]!.event(notice(6));
      t.same((await second.until(4)).messages.at(-1), notice(6));
      second.close();
    },
  );
});
