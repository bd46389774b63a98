// The stream of a session, opened by GET: messages of backends outside any call arrive on it, on whichever worker it was opened,
// and only once; requests there are answered like any other request of a backend.
import t from 'tap';
import { limits } from '../../src/shared/limits.js';
import { backendFor, forEachDeployment, type Deployment } from '../support/deployment.js';
import { EventReader } from '../support/event-reader.js';
import { memberText } from '../support/json-text.js';
import { INITIALIZE_PARAMS, McpSession, rpc } from '../support/mcp-caller.js';
import type { EventStreamBody, ReceivedRequest } from '../support/raw-backend.js';
import { SpeakingBackend } from '../support/speaking-backend.js';
import { until } from '../support/until.js';

const CAPABILITIES = { tools: { listChanged: true }, logging: {} };
const OFFERS = INITIALIZE_PARAMS.replace('"capabilities":{}', '"capabilities":{"roots":{},"sampling":{}}');

/** Accepts every subscription except for resources that it does not have. */
const onRequest = (request: ReceivedRequest): boolean => {
  if (!/"resources\/(un)?subscribe"/.test(request.text)) return false;
  const id = memberText(request.text, 'id');
  if (request.text.includes('none'))
    request.json(`{"jsonrpc":"2.0","id":${id},"error":{"code":-32002,"message":"no"}}`);
  else request.json(`{"jsonrpc":"2.0","id":${id},"result":{}}`);
  return true;
};
const SUBSCRIBED = { capabilities: { resources: { subscribe: true } }, onRequest };
const SUBSCRIBED_AND_LOGGING = { capabilities: { resources: { subscribe: true }, logging: {} }, onRequest };

async function openSession(
  deployment: Deployment,
  backends: Readonly<Record<string, { readonly url: string }>>,
): Promise<McpSession> {
  const members = Object.entries(backends).map(([name, { url }]) => [name, { url }] as const);
  return (await deployment.caller(Object.fromEntries(members))).openSession({ params: OFFERS });
}

async function listen(session: McpSession): Promise<EventReader> {
  return EventReader.open(session.caller, { method: 'GET', session: session.id, accept: 'text/event-stream' });
}

/** A changed config is also told as changed lists, at a time of its own. */
async function nextBesideChanges(reader: EventReader): Promise<string> {
  for (;;) {
    const message = (await reader.next()) ?? 'the end';
    if (!/"notifications\/\w+\/list_changed"/.test(message)) return message;
  }
}

await forEachDeployment(t, { spread: 'all' }, async (t, deployment) => {
  await t.test('GET without a session, with an unknown one, and without the event stream', async (t) => {
    const session = await openSession(deployment, {});
    const status = async (session: string | null, accept: string): Promise<number> =>
      (await deployment.caller().then((caller) => caller.send({ method: 'GET', session, accept }))).status;
    t.equal(await status(null, 'text/event-stream'), 400);
    t.equal(await status('x'.repeat(32), 'text/event-stream'), 404);
    t.equal(await status(session.id, 'text/event-stream'), 404, "somebody else's");
    const answer = await session.caller.send({ method: 'GET', session: session.id, accept: 'application/json' });
    t.equal(answer.status, 406);
  });

  await t.test('a backend that answers on its own stream what it has answered 202', async (t) => {
    let isAhead = false;
    const speaking: SpeakingBackend = await SpeakingBackend.start(t, {
      tools: ['add'],
      onRequest: async (request) => {
        const [id, sessionId] = [memberText(request.text, 'id'), request.headers['mcp-session-id']];
        if (id === undefined || sessionId === undefined || request.text.includes('"ping"')) return false;
        const result = request.text.includes('"tools/list"')
          ? '{"tools":[{"name":"add","inputSchema":{"type":"object"}}]}'
          : '{"content":[]}';
        const answer = `{"jsonrpc":"2.0","id":${id},"result":${result}}`;
        const accept = (): void => request.empty(202);
        if (!isAhead) accept();
        await (await speaking.streamOf(sessionId)).event(answer);
        if (isAhead) accept();
        return true;
      },
    });
    const session = await openSession(deployment, { one: speaking.backend });
    const reader = await listen(session);
    t.equal(reader.status, 200);
    for (isAhead of [false, true]) {
      const list = await session.send('{"jsonrpc":"2.0","id":1,"method":"tools/list"}');
      t.match(rpc(list).result, { tools: [{ name: 'one-add' }] });
      const call = await session.send('{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"one-add"}}');
      t.same(rpc(call), { jsonrpc: '2.0', id: 2, result: { content: [] } }, isAhead ? 'ahead of the 202' : 'after it');
    }
  });

  await t.test('what a backend says before its answer to initialize is heard once the client listens', async (t) => {
    const log = '{ "jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"starting"}}';
    const changed = '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}';
    const asked = '{"jsonrpc":"2.0","id":1,"method":"roots/list"}';
    const one: SpeakingBackend = await SpeakingBackend.start(t, {
      onRequest: async (request) => {
        if (!request.text.includes('"initialize"')) return false;
        const result = {
          protocolVersion: '2025-11-25',
          capabilities: CAPABILITIES,
          serverInfo: { name: 's', version: '1' },
        };
        one.backend.sessions.add('early');
        const stream = request.eventStream({ headers: { 'mcp-session-id': 'early' } });
        for (const message of [asked, log, changed]) await stream.event(message);
        await stream.event(
          `{"jsonrpc":"2.0","id":${memberText(request.text, 'id')},"result":${JSON.stringify(result)}}`,
        );
        stream.end();
        return true;
      },
    });
    const session = await openSession(deployment, { one: one.backend });
    const reader = await listen(session);
    t.same([await reader.next(), await reader.next()], [log, changed]);
    const later = log.replace('starting', 'started');
    await (await one.stream()).event(later);
    t.equal(await reader.next(), later, 'each once');
  });

  await t.test('messages of backends reach the stream as they are; a response reaches its backend', async (t) => {
    const one = await SpeakingBackend.start(t);
    const session = await openSession(deployment, { one: one.backend });
    t.match(rpc(session.opening).result, { capabilities: { tools: { listChanged: true }, logging: {} } });
    const reader = await listen(session);
    t.equal(reader.status, 200);
    t.match(new Map(reader.headers).get('content-type'), /^text\/event-stream/);
    const stream = await one.stream();
    t.match(one.gets[0]?.headers, {
      accept: 'text/event-stream',
      'mcp-session-id': [...one.backend.sessions][0],
      'mcp-protocol-version': '2025-11-25',
    });
    const message = '{ "jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1.0}}';
    await stream.event(message, { id: 'a' });
    t.equal(await reader.next(), message);
    await stream.event('{"jsonrpc":"2.0","id":0,"method":"roots/list" }');
    const asked = (await reader.next()) ?? '';
    const id = memberText(asked, 'id') ?? '';
    t.equal(asked, `{"jsonrpc":"2.0","id":${id},"method":"roots/list" }`);
    const before = one.backend.raw.requests.length;
    t.equal((await session.send(`{"jsonrpc":"2.0","result":{"roots":[]},"id":${id}}`)).status, 202);
    await until(() => one.backend.raw.requests.length > before, 'the answer at the backend');
    t.equal(one.backend.raw.requests.at(-1)?.text, '{"jsonrpc":"2.0","result":{"roots":[]},"id":0}');
    await stream.event('{"jsonrpc":"2.0","id":7,"result":{}}');
    await stream.event(message);
    t.equal(await reader.next(), message, 'answers do not belong here');
    const report = '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}';
    await stream.event(report);
    t.equal(await reader.next(), report, 'progress may come behind the answer of its call');
    t.equal((await session.delete()).status, 200);
    t.same(await reader.rest(), [], 'the stream ends with its session');
    await until(() => one.gets[0]?.connection.destroyed === true, "the backend's stream to be closed");
  });

  await t.test('requests of backends on the stream wait until the client is ready (S29)', async (t) => {
    const one = await SpeakingBackend.start(t);
    const caller = await deployment.caller({ one: { url: one.backend.url } });
    const opening = await caller.initialize({ params: OFFERS });
    const session = new McpSession(caller, opening.header('mcp-session-id') ?? '', opening);
    const reader = await listen(session);
    const stream = await one.stream();
    const log = '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}';
    await stream.event(log);
    t.equal(await reader.next(), log, 'log messages do not wait');
    await stream.event('{"jsonrpc":"2.0","id":"p","method":"ping"}');
    await stream.event('{"jsonrpc":"2.0","id":0,"method":"roots/list"}');
    const asked = reader.message();
    let isAsked = false;
    void asked.then(() => (isAsked = true));
    const isAnswered = (): boolean => one.backend.raw.requests.some(({ text }) => text.includes('"id":"p"'));
    await until(isAnswered, 'the answer to the ping, which is given at once');
    for (let round = 0; round < 5; round++) await session.send('{"jsonrpc":"2.0","id":1,"method":"ping"}');
    t.notOk(isAsked);
    t.equal((await session.send('{"jsonrpc":"2.0","method":"notifications/initialized"}')).status, 202);
    t.match(await asked, { method: 'roots/list' });
    await session.delete();
  });

  await t.test('the end of an elicitation is told only to the session that was asked', async (t) => {
    const one = await SpeakingBackend.start(t);
    const params = OFFERS.replace('"roots":{}', '"elicitation":{"url":{}}');
    const caller = await deployment.caller({ one: { url: one.backend.url } });
    const sessions = [await caller.openSession({ params }), await caller.openSession({ params })];
    const readers = await Promise.all(sessions.map(listen));
    await one.stream(2);
    const question =
      '{"jsonrpc":"2.0","id":0,"method":"elicitation/create","params":{"mode":"url","elicitationId":"e"}}';
    const told = '{ "jsonrpc":"2.0","method":"notifications/elicitation/complete","params":{"elicitationId":"e"}}';
    const last = '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}';
    for (const text of [question, told]) await one.streams[0]!.event(text);
    for (const stream of one.streams) await stream.event(last);
    // Either of the two may have the first stream.
    const heard = await Promise.all(
      readers.map(async (reader) => {
        const events: string[] = [];
        while (events.at(-1) !== last) events.push((await reader.next()) ?? last);
        return events;
      }),
    );
    const [silent, asked] = heard.sort((a, b) => a.length - b.length);
    t.same(silent, [last]);
    t.match(asked?.[0], /"elicitation\/create"/);
    t.same(asked?.slice(1), [told, last]);
    await Promise.all(sessions.map(async (session) => session.delete()));
  });

  await t.test('backend streams are opened for clients that listen, or can be asked and soon listen', async (t) => {
    const one = await SpeakingBackend.start(t);
    const caller = await deployment.caller({ one: { url: one.backend.url } });
    const silent = await caller.openSession();
    t.equal((await silent.call('one-echo')).status, 200);
    t.equal(one.gets.length, 0, 'nobody is listened to for nobody');
    await caller.openSession({ params: OFFERS });
    await one.stream();
  });

  await t.test(
    'a request that the first call causes is delivered, though the client opens its stream later',
    async (t) => {
      const calls: ReceivedRequest[] = [];
      const one: SpeakingBackend = await SpeakingBackend.start(t, {
        onRequest: (request) => {
          const isCall = request.text.includes('"tools/call"');
          const answer = '{"jsonrpc":"2.0","id":7,"result":{"content":[]}}';
          if (isCall) {
            // Like servers without a listener: the request goes nowhere.
            if (one.streams.length === 0) request.json(answer.replace('[]', '["asked nobody"]'));
            else void one.streams.at(-1)?.event('{"jsonrpc":"2.0","id":0,"method":"roots/list"}');
            if (one.streams.length > 0) calls.push(request);
          } else if (request.text.includes('"result":{"roots"')) {
            request.empty(202);
            calls.shift()?.json(answer);
          }
          return isCall || request.text.includes('"result":{"roots"');
        },
      });
      const session = await openSession(deployment, { one: one.backend });
      const call = session.call('one-echo');
      await until(() => calls.length === 1, 'the call at the backend');
      const reader = await listen(session);
      const id = memberText((await reader.next()) ?? '', 'id') ?? '';
      t.equal((await session.send(`{"jsonrpc":"2.0","result":{"roots":[]},"id":${id}}`)).status, 202);
      t.equal((await call).text, '{"jsonrpc":"2.0","id":7,"result":{"content":[]}}');
    },
  );

  await t.test(
    'subscriptions reach their backend and updates reach the client, even after the backend lost its session',
    async (t) => {
      const one = await SpeakingBackend.start(t, SUBSCRIBED);
      const other = await backendFor(t, { capabilities: { resources: {} } });
      const members = { one: { url: one.backend.url }, two: { url: other.url } };
      const caller = await deployment.caller(members);
      const session = await caller.openSession({ params: OFFERS });
      t.match(rpc(session.opening).result, { capabilities: { resources: { subscribe: true } } });
      const ask = async (method: string, uri: string): Promise<unknown> =>
        rpc(await session.send(`{"jsonrpc":"2.0","id":3,"method":"resources/${method}","params":{"uri":"${uri}"}}`));
      const asked = (method: string): (string | undefined)[] =>
        one.backend.requestsOf(`resources/${method}`).map(({ text }) => memberText(text, 'params', 'uri'));
      for (const uri of ['one+a:b', 'one+a:c', 'one+a:none']) await ask('subscribe', uri);
      t.match(await ask('unsubscribe', 'one+a:c'), { result: {} });
      t.match(await ask('subscribe', 'two+a:b'), { error: { code: -32601 } }, 'which says itself that it takes none');
      t.match(await ask('subscribe', 'three+a:b'), { error: { code: -32002 } });
      t.same(asked('subscribe'), ['"a:b"', '"a:c"', '"a:none"']);
      t.same(asked('unsubscribe'), ['"a:c"']);
      const reader = await listen(session);
      await (
        await one.stream()
      ).event('{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"a:b"}}');
      t.equal(
        await reader.next(),
        '{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"one+a:b"}}',
      );
      one.backend.forgetSessions();
      t.match(rpc(await session.call('one-echo')), { result: {} });
      await until(() => asked('subscribe').filter((uri) => uri === '"a:b"').length === 2, 'the subscription, again');
      t.equal(asked('subscribe').filter((uri) => uri === '"a:c"' || uri === '"a:none"').length, 2, 'and no other');
      await one.stream(2);
      reader.close();
    },
  );

  await t.test('a client that only listens still hears a backend that has lost its session', async (t) => {
    const one = await SpeakingBackend.start(t, SUBSCRIBED_AND_LOGGING);
    const session = await openSession(deployment, { one: one.backend });
    await session.send('{"jsonrpc":"2.0","id":3,"method":"resources/subscribe","params":{"uri":"one+a:b"}}');
    const reader = await listen(session);
    const first = await one.stream();
    one.backend.forgetSessions();
    await first.bytes('retry: 100\n\n');
    first.end();
    await until(() => one.backend.requestsOf('initialize').length === 2, 'another session');
    await until(() => one.backend.requestsOf('resources/subscribe').length === 2, 'the subscription in it');
    const second = await one.stream(2);
    t.equal(one.gets.length, 3, 'the second was refused');
    const message = '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}';
    await second.event(message);
    t.equal(await reader.next(), message);
    reader.close();
  });

  await t.test('a changed allow-list ends the subscriptions that it no longer grants', async (t) => {
    const one = await SpeakingBackend.start(t, SUBSCRIBED_AND_LOGGING);
    const { url } = one.backend;
    const caller = await deployment.caller({ one: { url } });
    const session = await caller.openSession({ params: OFFERS });
    const reader = await listen(session);
    const stream = await one.stream();
    for (const uri of ['a:b', 'a:c', 'a:d/1']) {
      const params = `{"uri":"one+${uri}"}`;
      await session.send(`{"jsonrpc":"2.0","id":3,"method":"resources/subscribe","params":${params}}`);
    }
    await caller.configure({ one: { url, allowed_resource_names: ['a:b', 'a:d/{x}'] } });
    const ended = (): string[] => one.backend.requestsOf('resources/unsubscribe').map(({ text }) => text);
    await until(async () => {
      await session.send('{"jsonrpc":"2.0","id":4,"method":"ping"}');
      return ended().length > 0;
    }, 'the end of a subscription');
    t.match(ended(), [/"uri":"a:c"/]);
    const updated = (uri: string): string =>
      `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"${uri}"}}`;
    for (const uri of ['a:c', 'a:x', 'a:b', 'a:d/1']) await stream.event(updated(uri));
    t.equal(await nextBesideChanges(reader), updated('one+a:b'));
    t.equal(await nextBesideChanges(reader), updated('one+a:d/1'));
    reader.close();
  });

  await t.test('a changed config also applies to a client that only listens', async (t) => {
    const one = await SpeakingBackend.start(t, SUBSCRIBED_AND_LOGGING);
    const two = await SpeakingBackend.start(t);
    const backends = { one: { url: one.backend.url, allowed_resource_names: ['a:b', 'a:c'] } };
    const caller = await deployment.caller(backends);
    const session = await caller.openSession({ params: OFFERS });
    const reader = await listen(session);
    const stream = await one.stream();
    for (const uri of ['a:b', 'a:c']) {
      const params = `{"uri":"one+${uri}"}`;
      await session.send(`{"jsonrpc":"2.0","id":3,"method":"resources/subscribe","params":${params}}`);
    }
    const changed = { ...backends.one, allowed_resource_names: ['a:b'] };
    await caller.configure({ one: changed, two: { url: two.backend.url } });
    // The client sends nothing from here on.
    await until(() => one.backend.requestsOf('resources/unsubscribe').length > 0, 'the end of a subscription');
    t.match(one.backend.requestsOf('resources/unsubscribe')[0]?.text, /"uri":"a:c"/);
    const updated = (uri: string): string =>
      `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"${uri}"}}`;
    for (const uri of ['a:c', 'a:b']) await stream.event(updated(uri));
    t.equal(await nextBesideChanges(reader), updated('one+a:b'));
    const added = await two.stream();
    const message = '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}';
    await added.event(message);
    t.equal(await nextBesideChanges(reader), message, 'a backend that is new in it is heard');
    reader.close();
  });

  await t.test('changed lists of several backends are one notification', async (t) => {
    const backends = [await SpeakingBackend.start(t), await SpeakingBackend.start(t)] as const;
    const session = await openSession(deployment, { one: backends[0].backend, two: backends[1].backend });
    const reader = await listen(session);
    const streams = [await backends[0].stream(), await backends[1].stream()];
    for (let round = 0; round < 5; round += 1) {
      for (const stream of streams) {
        await stream.event('{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}');
      }
    }
    t.equal(await reader.next(), '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}');
    const last = '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"last"}}';
    const changes = [];
    // On a busy machine events may arrive late and cause another notification, but never one for each event.
    await streams[0]?.event(last);
    for (let event = await reader.next(); event !== last; event = await reader.next()) changes.push(event);
    t.ok(changes.length < 5, `${changes.length} more`);
    reader.close();
  });

  await t.test('changes of every kind of list are passed on', async (t) => {
    const capabilities = { prompts: { listChanged: true }, resources: { listChanged: true } };
    const one = await SpeakingBackend.start(t, { capabilities });
    const session = await openSession(deployment, { one: one.backend });
    const reader = await listen(session);
    const stream = await one.stream();
    for (const list of ['prompts', 'resources']) {
      const change = `{ "method":"notifications/${list}/list_changed","jsonrpc":"2.0","params":{"_meta":{"n":1.0}}}`;
      await stream.event(change);
      t.equal(await reader.next(), change);
    }
    reader.close();
  });

  await t.test('a request while the client is away is refused; one after its return is delivered', async (t) => {
    const one = await SpeakingBackend.start(t);
    const session = await openSession(deployment, { one: one.backend });
    const reader = await listen(session);
    const stream = await one.stream();
    const asked = (id: number | string): string => `{"jsonrpc":"2.0","id":${id},"method":"roots/list"}`;
    const responses = (): string[] =>
      one.backend.raw.requests
        .map(({ text }) => text)
        .filter((text) => /^\{"jsonrpc":"2.0","id":\d+,"error"/.test(text));
    reader.close();
    let id = 0;
    await until(async () => {
      // The first request may be sent before the gateway knows that no client listens.
      id += 1;
      await stream.event(asked(id));
      await session.call('one-echo');
      return responses().length > 0;
    }, 'a refusal');
    t.match(JSON.parse(responses()[0]!), { error: { code: -32603, message: /no open stream/ } });
    t.notOk(one.gets[0]?.connection.destroyed, 'it is still listened to');
    const again = await listen(session);
    await stream.event(asked('"now"'));
    const event = (await again.next()) ?? '';
    t.equal(event, asked(memberText(event, 'id') ?? ''));
    again.close();
  });

  await t.test('a newer GET takes the place of an older one', async (t) => {
    const one = await SpeakingBackend.start(t);
    const session = await openSession(deployment, { one: one.backend });
    const older = await listen(session);
    const stream = await one.stream();
    const newer = await listen(session);
    t.same(await older.rest(), [], 'the older one ends');
    const message = '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}';
    await stream.event(message);
    t.equal(await newer.next(), message);
    t.equal(one.gets.length, 1, "the backend's goes on");
    newer.close();
  });

  await t.test(
    'backends with nothing to say and no session are not asked for a stream; one that refuses is asked once',
    async (t) => {
      const silent = await SpeakingBackend.start(t, { capabilities: { tools: {} }, withSessions: false });
      const refusing = await backendFor(t, { capabilities: CAPABILITIES });
      const caller = await deployment.caller({ one: { url: silent.backend.url }, two: { url: refusing.url } });
      const session = await caller.openSession();
      const reader = await listen(session);
      const gets = (): number => refusing.raw.requests.filter(({ method }) => method === 'GET').length;
      await until(() => gets() === 1, 'the GET');
      t.match(rpc(await session.call('two-echo')), { result: {} }, 'a 405 is no fault');
      t.equal(gets(), 1);
      t.equal(silent.gets.length, 0);
      reader.close();
    },
  );

  await t.test("a backend's stream that ends is opened again where it left off, after its retry", async (t) => {
    const one = await SpeakingBackend.start(t);
    const session = await openSession(deployment, { one: one.backend });
    const reader = await listen(session);
    const first = await one.stream();
    const message = '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}';
    await first.bytes('retry: 300\n');
    await first.event(message, { id: 'a' });
    await first.bytes('id: b\ndata:\n\n');
    t.equal(await reader.next(), message);
    const endedAtMs = performance.now();
    first.end();
    const second = await one.stream(2);
    t.ok(performance.now() - endedAtMs > 290, 'not before');
    t.equal(one.gets[1]?.headers['last-event-id'], 'b');
    await second.event(message);
    t.equal(await reader.next(), message);
    reader.close();
  });

  await t.test('a backend that fails to give a stream is asked again, at growing intervals', async (t) => {
    const askedAtMs: number[] = [];
    const streams: EventStreamBody[] = [];
    const failing = await backendFor(t, {
      capabilities: CAPABILITIES,
      onRequest: (request) => {
        if (request.method !== 'GET') return false;
        askedAtMs.push(performance.now());
        if (askedAtMs.length > 2) streams.push(request.eventStream());
        else request.empty(askedAtMs.length === 1 ? 503 : 500);
        return true;
      },
    });
    const session = await openSession(deployment, { one: failing });
    const reader = await listen(session);
    await until(() => streams.length === 1, 'the third GET');
    const [first = 0, second = 0, third = 0] = askedAtMs;
    const { retryDelayMsMin } = limits;
    t.ok(second - first >= 0.9 * retryDelayMsMin, `${second - first} ms`);
    t.ok(third - second >= 0.9 * 2 * retryDelayMsMin, `${third - second} ms`);
    const message = '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}';
    await streams[0]!.event(message);
    t.equal(await reader.next(), message);
    t.match(rpc(await session.call('one-echo')), { result: {} }, 'calls never noticed');
    reader.close();
  });

  await t.test('a reader that takes nothing loses the oldest messages, and is told', async (t) => {
    const one = await SpeakingBackend.start(t);
    const session = await openSession(deployment, { one: one.backend });
    const reader = await listen(session);
    const stream = await one.stream();
    reader.pause();
    const data = 'x'.repeat(100_000);
    const count = 240;
    for (let number = 0; number < count; number += 1) {
      const params = `{"level":"info","logger":"${number}","data":"${data}"}`;
      await stream.event(`{"jsonrpc":"2.0","method":"notifications/message","params":${params}}`);
    }
    t.match(rpc(await session.call('one-echo')), { result: {} }, 'the session goes on meanwhile');
    reader.resume();
    const seen: string[] = [];
    for (let last = ''; last !== String(count - 1); seen.push(last)) {
      const { params } = (await reader.message()) as { params: { logger: string; data: string } };
      last = params.logger;
      if (last === 'switchyard') t.match(params.data, /^\d+ messages from backends were lost/);
    }
    t.ok(seen.length < count, `${seen.length} of ${count}`);
    t.ok(seen.includes('switchyard'), 'it is told');
    reader.close();
  });
});
