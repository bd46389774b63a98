// The cost of a turn for large things other than a call and its answer: batches, questions of backends and the clients' answers, backends'
// own streams, events kept for broken connections, records of sessions, and many messages at once. See event-loop.test.ts.
import t, { type Test } from 'tap';
import { limits } from '../../src/shared/limits.js';
import { SessionDirectory } from '../../src/session/directory/session-directory.js';
import { readEvents } from '../support/event-stream.js';
import { logInto } from '../support/log-lines.js';
import { MemorySessions } from '../support/memory-sessions.js';
import { RecordedExchange } from '../support/recorded-exchange.js';
import { dearestTurnMs } from '../support/turn-cost.js';
import { until } from '../support/until.js';
import { REQUEST_ID } from '../upstream/scripted-upstream.js';
import { RelayScene, SESSION_ID } from './relay-scene.js';
import { KIB, StreamScene, text } from './stream-scene.js';
import {
  asEvent,
  BODY_BYTES,
  bulks,
  callBody,
  check,
  feed,
  handle,
  MIB,
  open,
  SLOW_BULK_BYTES,
  ThrownAway,
  type SessionSetup,
} from './turn-scene.js';
import { virtualHostOf } from './virtual-host.js';
import { UPSTREAM_SLICE_BYTES_MAX } from '../../src/http-client/read-scheduler.js';
import { URI_NODES_MAX } from '../../src/mcp/value-finder.js';
import { TEMPLATES_TRIED_MAX } from '../../src/lists/grant.js';
import { connectionBounds } from '../../src/http-client/connection-bounds.js';

/** A batch of this many calls, as large as a batch may be. */
function batchOf(count: number, bulk: (bytes: number) => string): Buffer {
  const each = Math.floor(limits.batchBytesMax / count) - 120;
  const calls = Array.from({ length: count }, (_, id) => {
    const params = `{"name":"b-x","arguments":{"x":${bulk(each)}}}`;
    return `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":${params}}`;
  });
  return Buffer.from(`[${calls.join()}]`);
}

t.test('a batch', async (t) => {
  for (const [what, bulk] of Object.entries(bulks)) {
    for (const count of [1, limits.batchMembersMax]) {
      await t.test(`${count} calls, ${what}`, async (t) => {
        const scene = open(t, { version: '2025-03-26' });
        const body = batchOf(count, bulk);
        t.ok(body.length > 0.9 * limits.batchBytesMax && body.length <= limits.batchBytesMax, `${body.length} bytes`);
        const exchange = new ThrownAway({ body });
        const sent = scene.http.calls.length;
        const dearestMs = await dearestTurnMs(
          () => handle(scene, exchange),
          () => scene.http.calls.length === sent + count,
        );
        check(t, dearestMs);
        const answer = `{"x":${bulk(limits.batchBytesMax / count)}}`;
        const calls = scene.http.calls.slice(sent).map((call, id) => {
          return { call, bytes: Buffer.from(`{"jsonrpc":"2.0","id":${id},"result":${answer}}`) };
        });
        const answeringMs = await dearestTurnMs(
          () => calls.forEach(({ call, bytes }) => feed(call.head(200, 'application/json'), bytes)),
          () => exchange.isOver,
        );
        check(t, answeringMs);
      });
    }
  }
});

/** Begins a call in which the backend may ask, and the event stream of its answer. */
function beginCall(scene: RelayScene) {
  const exchange = new RecordedExchange({ sessionId: SESSION_ID, body: callBody('{}') });
  handle(scene, exchange);
  return { exchange, call: scene.http.last.head(200, 'text/event-stream') };
}

t.test('what a backend asks of the client, and what the client answers', async (t) => {
  for (const [what, bulk] of Object.entries(bulks)) {
    await t.test(what, async (t) => {
      const scene = open(t, { capabilities: { sampling: {} } });
      const { exchange, call } = beginCall(scene);
      const value = bulk(SLOW_BULK_BYTES - 500);
      const asking = asEvent(`{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{"x":${value}}}`);
      const askingBytes = Buffer.concat(asking);
      const askingMs = await dearestTurnMs(
        () => feed(call, askingBytes, { isWhole: false }),
        () => exchange.writtenBytes > value.length,
      );
      check(t, askingMs);
      await until(() => readEvents(exchange.written).length > 0, 'the end of the event');
      const [asked = ''] = readEvents(exchange.written);
      const id = /"id":("[^"]*"|\d+)/.exec(asked)?.[1] ?? '';
      const sent = scene.http.calls.length;
      for (const each of [id, '"nobody"']) {
        const body = Buffer.from(`{"jsonrpc":"2.0","id":${each},"result":{"x":${bulk(BODY_BYTES - 500)}}}`);
        const response = new ThrownAway({ body });
        check(
          t,
          await dearestTurnMs(
            () => handle(scene, response),
            () => response.isOver,
          ),
        );
      }
      // A client's message with this many values is refused.
      const isTaken = value.split(',', limits.jsonNodesMax).length < limits.jsonNodesMax;
      t.equal(scene.http.calls.length, sent + (isTaken ? 1 : 0), 'the one that was asked for has reached the backend');
    });
  }
});

t.test("what comes on a backend's own stream", async (t) => {
  for (const [what, bulk] of Object.entries(bulks)) {
    await t.test(what, async (t) => {
      const scene = open(t, { offers: { tools: {}, logging: {} } });
      const own = new ThrownAway({ method: 'GET', body: Buffer.alloc(0), acceptedTypes: 'event-stream' });
      handle(scene, own);
      const stream = scene.http.calls.find(({ request }) => request.method === 'GET')?.head(200, 'text/event-stream');
      if (stream === undefined) throw new Error('the backend is not listened to');
      const params = `{"level":"info","data":${bulk(limits.backendStreamEventBytesMax - 200)}}`;
      const event = asEvent(`{"jsonrpc":"2.0","method":"notifications/message","params":${params}}`);
      const count = 16;
      const bytes = Buffer.concat(Array.from({ length: count }, () => event).flat());
      const dearestMs = await dearestTurnMs(
        () => feed(stream, bytes, { isWhole: false }),
        () => own.bytes > count * params.length,
      );
      check(t, dearestMs);
    });
  }
});

t.test('updates of resources that no template of an allow-list grants', async (t) => {
  const lists: Readonly<Record<string, (at: number) => string>> = {
    'many variables': (at) => `file:///${'{x}b'.repeat(30)}{y}/${at}`,
    'many variables, and one end': (at) => `file:///${'{x}b'.repeat(29)}{y${at}}/`,
    'long, and of a higher level': (at) => `file:///{x}${'b'.repeat(7_000)}{?${at}}`,
  };
  for (const [what, templateOf] of Object.entries(lists)) {
    await t.test(what, async (t) => {
      const allowed = Array.from({ length: TEMPLATES_TRIED_MAX }, (_, at) => templateOf(at));
      const backend = { allowed_resource_names: [...allowed, 'note://1'] } as unknown as NonNullable<
        SessionSetup['backend']
      >;
      const scene = open(t, { offers: { resources: { subscribe: true } }, backend });
      const own = new ThrownAway({ method: 'GET', body: Buffer.alloc(0), acceptedTypes: 'event-stream' });
      handle(scene, own);
      const stream = scene.http.calls.find(({ request }) => request.method === 'GET')?.head(200, 'text/event-stream');
      if (stream === undefined) throw new Error('the backend is not listened to');
      const updated = (uri: string): string =>
        `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"${uri}"}}`;
      const events = Array.from({ length: 600 }, (_, at) =>
        asEvent(updated(`file:///${'ab'.repeat(28)}${at}/`)),
      ).flat();
      const granted = updated('note://1');
      const bytes = Buffer.concat([...events, ...asEvent(granted)]);
      const before = own.bytes;
      const dearestMs = await dearestTurnMs(
        () => feed(stream, bytes, { isWhole: false, bytesATurn: connectionBounds.upstreamEventBytesAtOnce }),
        () => own.bytes >= before + granted.length,
      );
      check(t, dearestMs);
      t.ok(own.bytes < before + 2 * granted.length, 'none but the last, which is granted, was passed on');
    });
  }
});

t.test('an answer full of URIs', async (t) => {
  const many = Math.floor(URI_NODES_MAX / 4);
  const contents = Array.from({ length: many }, (_, n) => `{"uri":"file:///${n}","text":"${'x'.repeat(200)}"}`).join();
  const messages = `{"role":"user","content":{"type":"resource","resource":{"uri":"file:///1","text":"x"}}},`;
  const asked = {
    'resources/read': { params: '{"uri":"b+file:///x"}', result: `{"contents":[${contents}]}` },
    'prompts/get': { params: '{"name":"b-x"}', result: `{"messages":[${messages.repeat(many / 4)}{}]}` },
    'tools/call': {
      params: '{"name":"b-x"}',
      result: `{"content":[${`{"type":"resource","resource":{"uri":"a:b"}},`.repeat(many / 4)}{"type":"text","text":"${'"uri"'.replaceAll('"', '\\"').repeat(MIB / 8)}"}]}`,
    },
  };
  for (const [method, { params, result }] of Object.entries(asked)) {
    for (const type of ['application/json', 'text/event-stream'] as const) {
      await t.test(`${method}, ${type}`, async (t) => {
        const scene = open(t, { offers: { tools: {}, prompts: {}, resources: {} } });
        const body = Buffer.from(`{"jsonrpc":"2.0","id":7,"method":"${method}","params":${params}}`);
        const exchange = new ThrownAway({ body });
        handle(scene, exchange);
        await new Promise(setImmediate);
        const message = `{"jsonrpc":"2.0","id":7,"result":${result}}`;
        const bytes = type === 'application/json' ? Buffer.from(message) : Buffer.concat(asEvent(message));
        const dearestMs = await dearestTurnMs(
          () => feed(scene.http.last.head(200, type), bytes),
          () => exchange.isOver,
        );
        check(t, dearestMs);
        t.ok(exchange.bytes > result.length, 'and names were put into it');
      });
    }
  }
});

t.test('what was kept of a stream, and is sent again', async (t) => {
  const kept = 4 * MIB;
  for (const [what, eventBytes] of Object.entries({ 'large events': 256 * KIB, 'small ones': 64 })) {
    await t.test(what, async (t) => {
      const scene = new StreamScene(t, kept);
      const streamed = scene.stream().say('1');
      streamed.exchange.abort();
      const data = Buffer.from(text(1, eventBytes));
      let said = 0;
      const keepingMs = await dearestTurnMs(
        () => {
          const turn = (): void => {
            for (let bytes = 0; bytes < UPSTREAM_SLICE_BYTES_MAX; bytes += data.length) {
              streamed.stream.emit(data);
              said += data.length;
            }
            if (said < kept) setImmediate(turn);
          };
          turn();
        },
        () => said >= kept,
      );
      check(t, keepingMs);
      streamed.stream.finish([Buffer.from('2')]);
      let exchange: RecordedExchange | undefined;
      const sayingMs = await dearestTurnMs(
        () => (exchange = streamed.goOn(0)),
        () => exchange?.outcome === 'ended',
      );
      check(t, sayingMs);
    });
  }
});

t.test('a session whose record is as large as it may be', async (t) => {
  const sessions = new MemorySessions();
  const capabilities = { resources: { subscribe: true } };
  const relay = (t: Test): RelayScene =>
    new RelayScene(
      t,
      virtualHostOf({ b: {} }),
      {},
      new SessionDirectory(sessions, {
        idleTimeoutMs: 60_000,
        outlivesGateway: false,
        isPossibleId: (id) => id.startsWith(SESSION_ID),
        logger: logInto([]),
      }),
    );
  const result = { protocolVersion: '2025-11-25', capabilities };
  const scene = relay(t).open({}, JSON.stringify({ jsonrpc: '2.0', id: REQUEST_ID, result }));
  await until(() => sessions.records.size === 1, 'the record');
  const each = Math.floor(limits.sessionRecordBytesMax / limits.subscriptionsMax) - 40;
  const uris = Array.from({ length: limits.subscriptionsMax }, (_, n) => `b+a:${n}${'é'.repeat(each / 2 - 10)}`);
  for (const [number, uri] of uris.entries()) {
    const exchange = scene.post('resources/subscribe', { uri }, number);
    scene.http.last.json(`{"jsonrpc":"2.0","id":${scene.http.last.idText},"result":{}}`);
    t.equal(exchange.answer?.status ?? 200, 200);
  }
  const recordBytes = (): number => Math.max(...[...sessions.records.values()].map(({ bytes }) => bytes.length));
  await until(() => recordBytes() > 0.8 * limits.sessionRecordBytesMax, 'a large record');
  const writtenBefore = sessions.writesCount;
  const writingMs = await dearestTurnMs(
    () => {
      scene.post('resources/unsubscribe', { uri: uris[0] }, 'u');
      scene.http.last.json(`{"jsonrpc":"2.0","id":${scene.http.last.idText},"result":{}}`);
    },
    () => sessions.writesCount > writtenBefore,
  );
  check(t, writingMs);
  const next = relay(t);
  const exchange = new ThrownAway({ body: callBody('{}') });
  const adoptingMs = await dearestTurnMs(
    () => handle(next, exchange),
    () => next.http.calls.some(({ summary }) => summary === 'tools/call'),
  );
  check(t, adoptingMs);
});

t.test('several large messages at once', async (t) => {
  const COUNT = 8;
  for (const what of ['a token a byte', 'empty objects'] as const) {
    await t.test(what, async (t) => {
      const scene = open(t);
      const bulk = bulks[what] ?? String;
      const args = `{"x":${bulk(BODY_BYTES - 300)}}`;
      const sent = scene.http.calls.length;
      const exchanges = Array.from({ length: COUNT }, (_, id) => {
        const body = Buffer.from(callBody(args).toString().replace('"id":7', `"id":${id}`));
        return new ThrownAway({ body });
      });
      const callingMs = await dearestTurnMs(
        () => exchanges.forEach((exchange) => handle(scene, exchange)),
        () => scene.http.calls.length === sent + COUNT,
      );
      check(t, callingMs);
      const answers = scene.http.calls.slice(sent).map((call) => {
        const bytes = Buffer.from(`{"jsonrpc":"2.0","id":${idOf(call.request.body)},"result":${args}}`);
        return { call, bytes };
      });
      const answeringMs = await dearestTurnMs(
        () => answers.forEach(({ call, bytes }) => feed(call.head(200, 'application/json', '', bytes.length), bytes)),
        () => exchanges.every(({ isOver }) => isOver),
      );
      check(t, answeringMs);
    });
  }
});

/** The id of a large call, without decoding all of it. */
function idOf(body: Buffer | undefined): string {
  return /"id":(\d+)/.exec(body?.toString('latin1', 0, 100) ?? '')?.[1] ?? '';
}
