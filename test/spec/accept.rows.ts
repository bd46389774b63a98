// Decisions 2.2: how `Accept` is read, which form an answer takes, and what an event stream carries.
import t from 'tap';
import { backendFor, forEachDeployment } from '../support/deployment.js';
import { readEvents } from '../support/event-stream.js';
import { answerText, rpc } from '../support/mcp-caller.js';
import type { HttpAnswer } from '../support/raw-http.js';

const WITH_PROGRESS =
  '{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"one-echo","_meta":{"progressToken":1}}}';

const TAKES_BOTH = [
  null,
  '',
  '*/*',
  'application/json, text/event-stream',
  'text/event-stream, application/json',
  'application/json,text/event-stream',
  'application/json; text/event-stream',
  'text/event-stream;application/json',
  'Application/JSON, Text/Event-Stream',
  'application/json;q=0.9, text/event-stream;q=0.8',
  'application/json;charset=utf-8, text/event-stream',
  'text/html, application/json, text/event-stream, */*;q=0.1',
];
const TAKES_JSON = ['application/json', 'application/json;q=0.5', 'text/html, application/json', 'APPLICATION/JSON'];
const TAKES_EVENTS = ['text/event-stream', 'text/html, text/event-stream;q=0.5'];
const TAKES_NEITHER = [
  'text/html',
  'application/jsonx',
  'image/*',
  'application/xml, text/plain',
  'json',
  'application/x-json',
];

await forEachDeployment(t, {}, async (t, deployment) => {
  await t.test(
    'both types: JSON when the first upstream message is the answer, an event stream otherwise',
    async (t) => {
      const plain = await backendFor(t, { answerAs: 'event-stream' });
      const chatty = await backendFor(t, {
        onCall: (call) => call.notify('notifications/progress', { progressToken: 1, progress: 1 }),
      });
      const quiet = await (await deployment.caller({ one: { url: plain.url } })).openSession();
      const noisy = await (await deployment.caller({ one: { url: chatty.url } })).openSession();
      for (const accept of TAKES_BOTH) {
        const direct = await quiet.send(WITH_PROGRESS, { accept });
        t.equal(direct.status, 200, String(accept));
        t.equal(direct.contentType, 'application/json', `the answer first, ${accept}`);
        const streamed = await noisy.send(WITH_PROGRESS, { accept });
        t.equal(streamed.contentType, 'text/event-stream', `progress first, ${accept}`);
        t.equal(readEvents(streamed.body).length, 2);
      }
    },
  );

  await t.test('only application/json: JSON, whatever came before the answer', async (t) => {
    const backend = await backendFor(t, {
      onCall: (call) => call.notify('notifications/progress', { progressToken: 1, progress: 1 }),
    });
    const session = await (await deployment.caller({ one: { url: backend.url } })).openSession();
    for (const accept of TAKES_JSON) {
      const answer = await session.send(WITH_PROGRESS, { accept });
      t.equal(answer.contentType, 'application/json', accept);
      t.match(answer.json(), { id: 7, result: {} }, accept);
    }
  });

  await t.test('only text/event-stream: an event stream, for every method and for errors too', async (t) => {
    const backend = await backendFor(t);
    const caller = await deployment.caller({ one: { url: backend.url } });
    const session = await caller.openSession();
    for (const accept of TAKES_EVENTS) {
      const answers: Record<string, HttpAnswer> = {
        'tools/call': await session.call('one-echo', '{}', { accept }),
        'tools/list': await session.list({ accept }),
        ping: await session.send('{"jsonrpc":"2.0","id":1,"method":"ping"}', { accept }),
        'an unknown tool': await session.call('nothing', '{}', { accept }),
        'an unknown method': await session.send('{"jsonrpc":"2.0","id":1,"method":"nonsense"}', { accept }),
        initialize: await caller.initialize({ accept }),
      };
      for (const [what, answer] of Object.entries(answers)) {
        t.equal(answer.status, 200, what);
        t.equal(answer.contentType, 'text/event-stream', `${what}, ${accept}`);
        t.equal(readEvents(answer.body).length, 1, what);
      }
      t.ok(answers['initialize']?.header('mcp-session-id'));
    }
  });

  await t.test('neither: 406', async (t) => {
    const session = await (await deployment.caller()).openSession();
    for (const accept of TAKES_NEITHER) {
      const answer = await session.list({ accept });
      t.equal(answer.status, 406, accept);
      t.equal(answer.contentType, 'application/json', accept);
      t.match(answer.json(), { jsonrpc: '2.0', id: 5, error: { code: -32000, message: /Not acceptable/ } }, accept);
    }
  });

  await t.test('notifications get 202, whichever of the two types is accepted', async (t) => {
    const session = await (await deployment.caller()).openSession();
    for (const accept of ['application/json', 'text/event-stream', null]) {
      const answer = await session.send('{"jsonrpc":"2.0","method":"notifications/initialized"}', { accept });
      t.equal(answer.status, 202, String(accept));
      t.equal(answer.body.length, 0);
    }
  });

  await t.test('event streams: cache-control, x-accel-buffering (S41)', async (t) => {
    const backend = await backendFor(t);
    const session = await (await deployment.caller({ one: { url: backend.url } })).openSession();
    const answers = [
      await session.call('one-echo', '{}', { accept: 'text/event-stream' }),
      await session.list({ accept: 'text/event-stream' }),
      await session.caller.initialize({ accept: 'text/event-stream' }),
    ];
    for (const answer of answers) {
      t.equal(answer.header('cache-control'), 'no-cache, no-transform');
      t.equal(answer.header('x-accel-buffering'), 'no');
      t.equal(answer.header('content-length'), undefined);
    }
  });

  await t.test('an answer has the same content in either form', async (t) => {
    const backend = await backendFor(t);
    const session = await (await deployment.caller({ one: { url: backend.url } })).openSession();
    const [json, events] = [
      await session.list({ accept: 'application/json' }),
      await session.list({ accept: 'text/event-stream' }),
    ];
    t.equal(answerText(json), answerText(events));
    t.match(rpc(json), { result: { tools: [{ name: 'one-echo' }] } });
  });
});
