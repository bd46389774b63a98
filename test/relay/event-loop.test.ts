// However large a message is and whatever is in it, the relay never holds the event loop for long. Each kind of large message goes
// through a real relay, as large as the limits let it be, while the cost of each turn of the loop is measured.
import t from 'tap';
import { listKinds } from '../../src/mcp/list-kinds.js';
import { LIST_BYTES_INLINE_MAX } from '../../src/lists/list-memory.js';
import { limits } from '../../src/shared/limits.js';
import { dearestTurnMs } from '../support/turn-cost.js';
import { RelayScene } from './relay-scene.js';
import {
  asEvent,
  asJson,
  BODY_BYTES,
  bulks,
  callBody,
  check,
  feed,
  handle,
  members,
  MIB,
  open,
  type SessionSetup,
  SLOW_BULK_BYTES,
  ThrownAway,
} from './turn-scene.js';
import { virtualHostOf } from './virtual-host.js';

/** The forms in which a bulk makes an answer as large as it may be; in all others it is smaller. */
const largest: Readonly<Record<string, readonly string[]>> = {
  'empty objects': ['as JSON'],
  'plain text': ['as JSON, its id in other digits', 'as an event', 'as JSON, for a caller of events'],
};

/** Messages that callers may send. */
function callerMessages(): Record<string, Buffer> {
  const messages: Record<string, Buffer> = {};
  for (const [what, bulk] of Object.entries(bulks)) {
    messages[`arguments: ${what}`] = callBody(`{"x":${bulk(BODY_BYTES - 200)}}`);
    messages[`initialize: ${what}`] = Buffer.from(
      `{"jsonrpc":"2.0","id":7,"method":"initialize","params":{"x":${bulk(BODY_BYTES - 100)}}}`,
    );
    messages[`a notification: ${what}`] = Buffer.from(
      `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":9,"x":${bulk(BODY_BYTES - 100)}}}`,
    );
    messages[`no JSON-RPC: ${what}`] = Buffer.from(bulk(BODY_BYTES - 10));
  }
  for (const name of ['jsonrpc', 'method', 'params', '\\u006aj']) {
    messages[`members of the message: ${name}`] = Buffer.from(
      `{${members(name, BODY_BYTES - 200)}${callBody('{}').toString().slice(1)}`,
    );
  }
  for (const name of ['requestId', 'progressToken', '_meta', 'name', '\\u006ex']) {
    messages[`members of the params: ${name}`] = callBody('{}', `,${members(name, BODY_BYTES - 300)}"y":0`);
  }
  const id = 'i'.repeat(limits.messageIdBytesMax - 2);
  messages['a long id and a long token'] = Buffer.from(
    `{"jsonrpc":"2.0","id":"${id}","method":"tools/call","params":{"_meta":{"progressToken":"${id}"},"name":"b-x"}}`,
  );
  messages['a long name'] = Buffer.from(
    `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"b-${'\\u0078'.repeat(BODY_BYTES / 7)}"}}`,
  );
  messages['a long method'] = Buffer.from(`{"jsonrpc":"2.0","id":7,"method":"${'\\u0078'.repeat(BODY_BYTES / 7)}"}`);
  messages['deeply nested'] = callBody(
    `[${`${'['.repeat(500)}${']'.repeat(500)},`.repeat(Math.floor(BODY_BYTES / 1_001) - 1)}0]`,
  );
  return messages;
}

t.test('a message of a caller', async (t) => {
  for (const [what, body] of Object.entries(callerMessages())) {
    await t.test(what, async (t) => {
      const scene = open(t);
      const exchange = new ThrownAway({ body });
      const sentCount = scene.http.calls.length;
      const dearestMs = await dearestTurnMs(
        () => handle(scene, exchange),
        () => exchange.isOver || scene.http.calls.length > sentCount,
      );
      check(t, dearestMs);
    });
  }
});

t.test('a call of a tool with an argument that the config fixes', async (t) => {
  const backend = { tools: { x: { fixed_arguments: { value: 7 } } } } as unknown as NonNullable<
    SessionSetup['backend']
  >;
  const bytes = BODY_BYTES - 300;
  const messages = {
    ...Object.fromEntries(Object.entries(bulks).map(([what, bulk]) => [what, `{"x":${bulk(bytes)}}`])),
    'names like it': `{${members('valuE', bytes)}"y":0}`,
    'names like it, with escapes': `{${members('\\u0076alux', bytes)}"y":0}`,
    'names that are longer': `{${members('v'.repeat(40), bytes)}"y":0}`,
    'a name as long as the message': `{"${'\\u0076'.repeat(bytes / 6)}":0}`,
    'a name of letters that change': `{"${'ß'.repeat(bytes / 2)}":0}`,
  };
  for (const [what, args] of Object.entries(messages)) {
    await t.test(what, async (t) => {
      const scene = open(t, { backend });
      const exchange = new ThrownAway({ body: callBody(args) });
      const sentCount = scene.http.calls.length;
      const dearestMs = await dearestTurnMs(
        () => handle(scene, exchange),
        () => exchange.isOver || scene.http.calls.length > sentCount,
      );
      check(t, dearestMs);
    });
  }
});

/** Ways in which an answer to a call may come; `encode` makes the body from the message and the bulk in it. */
const answerForms = {
  'as JSON': { type: 'application/json', forms: 'both', id: '7', encode: asJson },
  'as JSON, its id in other digits': { type: 'application/json', forms: 'both', id: '7.0', encode: asJson },
  'as JSON, for a caller of events': { type: 'application/json', forms: 'event-stream', id: '7', encode: asJson },
  'as an event': { type: 'text/event-stream', forms: 'both', id: '7', encode: asEvent },
  'as an event behind another': { type: 'text/event-stream', forms: 'both', id: '7', encode: behindProgress },
} as const;

function behindProgress(message: string, bulk: string): Buffer[] {
  const params = `{"progressToken":1,"x":${bulk}}`;
  return [...asEvent(`{"jsonrpc":"2.0","method":"notifications/progress","params":${params}}`), ...asEvent(message)];
}

/** Sends a call, gives its answer, and returns the cost of the dearest turn, in ms. */
async function answerCall(
  scene: RelayScene,
  exchange: ThrownAway,
  type: string,
  bytes: Buffer,
  bodyBytes = -1,
): Promise<number> {
  handle(scene, exchange);
  await new Promise(setImmediate);
  return dearestTurnMs(
    () => feed(scene.http.last.head(200, type, '', bodyBytes), bytes),
    () => exchange.isOver,
  );
}

for (const [form, { type, forms, id, encode }] of Object.entries(answerForms)) {
  t.test(`an answer ${form}`, async (t) => {
    for (const [what, bulk] of Object.entries(bulks)) {
      await t.test(what, async (t) => {
        const isLargest = (largest[what] ?? []).includes(form);
        const value = `{"x":${bulk((isLargest ? limits.upstreamMessageBytesMax : SLOW_BULK_BYTES) - 200)}}`;
        const bytes = Buffer.concat(encode(`{"jsonrpc":"2.0","id":${id},"result":${value}}`, value));
        const exchange = new ThrownAway({ body: callBody('{}'), acceptedTypes: forms });
        check(t, await answerCall(open(t), exchange, type, bytes, type === 'application/json' ? bytes.length : -1));
        t.ok(exchange.bytes >= value.length, 'all of it came through');
      });
    }
  });
}

t.test('an answer of many members', async (t) => {
  for (const name of ['result', 'error', 'jsonrpc', '\\u0072x']) {
    const bytes = Buffer.from(`{${members(name, Infinity)}"jsonrpc":"2.0","id":7,"result":{}}`);
    check(t, await answerCall(open(t), new ThrownAway({ body: callBody('{}') }), 'application/json', bytes));
  }
});

t.test('an answer without a length', async (t) => {
  const bytes = Buffer.from(`{"jsonrpc":"2.0","id":7,"result":"${'x'.repeat(limits.upstreamMessageBytesMax - 100)}"}`);
  check(t, await answerCall(open(t), new ThrownAway({ body: callBody('{}') }), 'application/json', bytes));
});

t.test('many small events', async (t) => {
  const token = 'é'.repeat(20_000);
  const body = callBody('{}').toString().replace('"progressToken":1', `"progressToken":"${token}"`);
  const events = {
    progress: 'data: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}\n\n',
    'progress under a long token': `data: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"${token.replaceAll('é', '\\u00e9')}"}}\n\n`,
    'other notifications': 'data: {"jsonrpc":"2.0","method":"x"}\n\n',
    'requests of its own': 'data: {"jsonrpc":"2.0","id":1,"method":"ping"}\n\n',
    'empty lines': '\n'.repeat(1_000),
    'lines of data': `data:\n`.repeat(1_000),
    comments: ':\n'.repeat(1_000),
  };
  for (const [what, event] of Object.entries(events)) {
    await t.test(what, async (t) => {
      const bytes = Buffer.from(
        `${event.repeat((2 * MIB) / event.length)}\n\ndata: {"jsonrpc":"2.0","id":7,"result":{}}\n\n`,
      );
      const exchange = new ThrownAway({ body: what.includes('long') ? Buffer.from(body) : callBody('{}') });
      check(t, await answerCall(open(t), exchange, 'text/event-stream', bytes));
    });
  }
});

t.test("a backend's answer to initialize", async (t) => {
  const values = { ...bulks, members: (bytes: number) => `{${members('capabilities', bytes)}"y":0}` };
  for (const [what, bulk] of Object.entries(values)) {
    await t.test(what, async (t) => {
      const value = bulk(limits.initializeAnswerBytesMax - 300);
      const result = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"x":${value}}`;
      for (const [type, encode] of [
        ['application/json', asJson],
        ['text/event-stream', asEvent],
      ] as const) {
        const scene = new RelayScene(t, virtualHostOf({ b: {} }));
        const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'c', version: '1' } };
        const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'initialize', params }));
        const exchange = new ThrownAway({ body, sessionId: '' });
        handle(scene, exchange);
        const call = scene.http.last;
        const bytes = Buffer.concat(encode(`{"jsonrpc":"2.0","id":${call.idText},"result":${result}}`));
        const isOver = (): boolean => exchange.isOver || scene.http.last !== call;
        check(t, await dearestTurnMs(() => feed(call.head(200, type), bytes), isOver));
      }
    });
  }
});

t.test('a list of tools', async (t) => {
  const SCHEMA = '"inputSchema":{"type":"object"}';
  const small = (count: number): string =>
    `[${Array.from({ length: count }, (_, index) => `{"name":"${(index * 7_919) % 1e6}",${SCHEMA}}`).join()}]`;
  const tools = {
    'small ones, on the event loop': small(LIST_BYTES_INLINE_MAX / 52),
    'small ones, in the thread': small(40_000),
    'one large one': `[{"name":"x","description":"${'é'.repeat(8 * MIB)}"}]`,
  };
  // With the result late, the relay knows only at the end what the answer is.
  const forms = { first: '', late: `"x":"${'x'.repeat(1_000)}",` };
  for (const [what, value] of Object.entries(tools)) {
    for (const [form, before] of Object.entries(forms)) {
      for (const [type, encode] of [
        ['application/json', asJson],
        ['text/event-stream', asEvent],
      ] as const) {
        await t.test(`${what}, ${type}, its result ${form}`, async (t) => {
          const scene = open(t);
          const body = Buffer.from('{"jsonrpc":"2.0","id":7,"method":"tools/list"}');
          const exchange = new ThrownAway({ body });
          handle(scene, exchange);
          await new Promise(setImmediate);
          const call = scene.http.last;
          const bytes = Buffer.concat(
            encode(`{${before}"jsonrpc":"2.0","id":${call.idText},"result":{"tools":${value}}}`),
          );
          check(
            t,
            await dearestTurnMs(
              () => feed(call.head(200, type), bytes),
              () => exchange.isOver,
            ),
          );
          t.ok(exchange.bytes > 100, 'a list came of it');
        });
      }
    }
  }
});

t.test('a list of another kind', async (t) => {
  for (const { method, member, key } of Object.values(listKinds)) {
    if (method === 'tools/list') continue;
    for (const count of [LIST_BYTES_INLINE_MAX / 25, 40_000]) {
      await t.test(`${method} of ${count}`, async (t) => {
        const scene = open(t, { offers: { tools: {}, prompts: {}, resources: {}, tasks: { list: {} } } });
        const exchange = new ThrownAway({ body: Buffer.from(`{"jsonrpc":"2.0","id":7,"method":"${method}"}`) });
        handle(scene, exchange);
        await new Promise(setImmediate);
        const call = scene.http.last;
        const items = Array.from({ length: count }, (_, index) => `{"${key}":"a:${(index * 7_919) % 1e6}"}`);
        const bytes = Buffer.from(`{"jsonrpc":"2.0","id":${call.idText},"result":{"${member}":[${items.join()}]}}`);
        check(
          t,
          await dearestTurnMs(
            () => feed(call.head(200, 'application/json'), bytes),
            () => exchange.isOver,
          ),
        );
        t.ok(exchange.bytes > count * 10, 'a list came of it');
      });
    }
  }
});

t.test('a refusal', async (t) => {
  for (const [what, bulk] of Object.entries(bulks)) {
    const bytes = Buffer.from(bulk(limits.upstreamRefusalBytesMax - 100));
    const scene = open(t);
    const exchange = new ThrownAway({ body: callBody('{}') });
    handle(scene, exchange);
    await new Promise(setImmediate);
    const call = scene.http.last.head(400, 'application/json');
    const dearestMs = await dearestTurnMs(
      () => feed(call, bytes),
      () => exchange.isOver,
    );
    t.comment(what);
    check(t, dearestMs);
  }
});
