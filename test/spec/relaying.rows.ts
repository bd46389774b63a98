// Decisions 2.6: what is relayed arrives byte for byte, between every pair of answer forms.
import t from 'tap';
import { backendFor, forEachDeployment } from '../support/deployment.js';
import { readEvents } from '../support/event-stream.js';
import { JsonText, memberText } from '../support/json-text.js';
import { answerText, rpc } from '../support/mcp-caller.js';
import { encodeRequest, RawConnection } from '../support/raw-http.js';

/** JSON that changes when it is parsed and serialized again. */
const DELICATE: Readonly<Record<string, string>> = {
  empty: '{}',
  'beyond 2^53': '{"a":9007199254740993,"b":-9007199254740993}',
  'more digits than a double': '{"a":3.141592653589793238462643383279502884197}',
  '1.0': '{"a":1.0,"b":1.10,"c":0.0}',
  'beyond a double': '{"a":1e400,"b":-1E+400,"c":1e-400}',
  'minus zero': '{"a":-0,"b":-0.0}',
  'key order': '{"z":1,"a":2,"10":3,"2":4,"m":{"z":1,"a":2}}',
  'duplicate keys': '{"a":1,"a":2,"b":{"c":1,"c":1}}',
  escapes: '{"a":"\\u0041\\/\\u00fc\\ud83d\\ude00\\b\\f\\n\\r\\t\\"\\\\"}',
  'escaped keys': '{"\\u0061":1,"\\/":2}',
  'lone surrogates': '{"a":"\\ud800","b":"\\udfff x"}',
  'raw unicode': '{"ü":"ﬀ 😀 \u2028 \u2029 \u007f"}',
  space: '{ "a" :\t[ 1 , 2,\n3 ] ,"b":{ } }',
  'brackets in strings': '{"a":"}],{[","b":"\\"}"}',
  'names of ours': '{"name":"one-echo","id":7,"jsonrpc":"1.0","params":{"name":"one-echo"},"method":"x"}',
  __proto__: '{"__proto__":{"a":1},"constructor":2}',
  nested: `{"a":${'['.repeat(200)}${']'.repeat(200)}}`,
  'large, 1 MiB': `{"a":"${'x'.repeat(1024 * 1024)}","b":[${Array.from({ length: 2000 }, (_, n) => `${n}.0`).join()}]}`,
};

const FORMS = [
  { answerAs: 'json', accept: 'application/json' },
  { answerAs: 'json', accept: 'text/event-stream' },
  { answerAs: 'event-stream', accept: 'application/json' },
  { answerAs: 'event-stream', accept: 'text/event-stream' },
] as const;

await forEachDeployment(t, {}, async (t, deployment) => {
  for (const { answerAs, accept } of FORMS) {
    await t.test(`arguments and results, ${answerAs} at the backend, ${accept} at the caller`, async (t) => {
      const backend = await backendFor(t, { answerAs });
      const session = await (await deployment.caller({ one: { url: backend.url } })).openSession();
      for (const [what, text] of Object.entries(DELICATE)) {
        const answer = await session.call('one-echo', text, { accept });
        t.equal(answer.contentType, accept);
        t.equal(backend.calls.at(-1)?.argumentsText, text, `${what}, to the backend`);
        t.equal(memberText(answerText(answer), 'result', 'structuredContent'), text, `${what}, to the caller`);
      }
    });

    await t.test(`a whole answer as the backend wrote it, ${answerAs} to ${accept}`, async (t) => {
      const answers = [
        '{"jsonrpc":"2.0","id":7,"result":{"content":[],"isError":true,"_meta":{"a/b":1.0},"more":[1e400]}}',
        '{"result":{"content":[ ]},"extra":{"x":9007199254740993},"id":7,"jsonrpc":"2.0"}',
        '{ "jsonrpc" : "2.0" ,"id":7, "result" :{ } }',
        '{"jsonrpc":"2.0","id":7,"result":{"x":1,"x":2},"extra":1,"extra":2}',
        '{"\\u006asonrpc":"2.0","\\u0069d":7,"r\\u0065sult":{"content":[]}}',
        '{"jsonrpc":"2.0","id":7,"error":{"code":-32042,"message":"\\u0041 no","data":{"n":9007199254740993,"z":1,"a":[1.0]}}}',
        '{"error":{"message":"positive","code":17,"more":null},"id":7,"jsonrpc":"2.0"}',
      ];
      for (const text of answers) {
        const backend = await backendFor(t, {
          onCall: async (call) => {
            const request = call.takeOver();
            if (answerAs === 'json') return request.json(text);
            const stream = request.eventStream();
            await stream.event(text);
            stream.end();
          },
        });
        const session = await (await deployment.caller({ one: { url: backend.url } })).openSession();
        const answer = await session.call('one-echo', '{}', { accept });
        t.equal(answer.status, 200);
        t.equal(answer.contentType, accept);
        t.equal(answerText(answer), text);
      }
    });
  }

  await t.test('only the tool name is replaced in a call, and no other byte', async (t) => {
    const backend = await backendFor(t);
    const session = await (await deployment.caller({ one: { url: backend.url } })).openSession();
    // `@` stands for the tool's name.
    const bodies = [
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":@,"arguments":{}}}',
      '{"params":{"arguments":{"name":"one-echo"},"name":@},"method":"tools/call","id":"x","jsonrpc":"2.0"}',
      ' {\n"jsonrpc" : "2.0",\r\n\t"id": 1.0, "method":"tools/call","params" : { "name" : @ } } \n',
      '{"jsonrpc":"2.0","id":0,"method":"tools/call","params":{"name":@,"_meta":{"traceparent":"00-\\u0061","progressToken":1.0},"more":[1e400]},"extra":{"a":1,"a":2}}',
      '{"jsonrpc":"2.0","id":"one-echo","method":"tools/call","params":{"_meta":{"name":"one-echo"},"name":@,"task":{"ttl":60000}}}',
    ];
    for (const body of bodies) {
      await session.send(body.replace('@', '"one-echo"'));
      t.equal(backend.calls.at(-1)?.request.text, body.replace('@', '"echo"'));
    }
  });

  await t.test('of a duplicate name the gateway and the backend see the same one', async (t) => {
    const backend = await backendFor(t, { tools: ['x', 'y'] });
    const caller = await deployment.caller({ one: { url: backend.url, allowed_tool_names: ['x'] } });
    const session = await caller.openSession();
    const params = [
      '{"name":"one-x","name":"one-y"}',
      '{"name":"one-y","name":"one-x"}',
      '{"name":"one-x","name":"y"}',
      '{"name":"y","name":"one-x"}',
      '{"name":"one-x","n\\u0061me":"y"}',
      '{"n\\u0061me":"y","name":"one-x"}',
    ];
    const bodies = [
      ...params.map((text) => `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${text}}`),
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"one-x"},"params":{"name":"y"}}',
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"y"},"params":{"name":"one-x"}}',
      '{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call","params":{"name":"y"}}',
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","method":"ping","params":{"name":"y"}}',
    ];
    for (const body of bodies) {
      const callsBefore = backend.calls.length;
      const answer = await session.send(body);
      t.ok([200, 400].includes(answer.status), `${answer.status} for ${body}`);
      for (const call of backend.calls.slice(callsBefore)) {
        // JSON.parse takes the last name, other parsers the first: neither may find a tool that is not allowed.
        t.equal(call.name, 'x', body);
        t.notMatch(call.request.text, /"y"/, body);
      }
    }
  });

  await t.test('only names are replaced in a list: each tool is as its backend wrote it', async (t) => {
    const tool = (name: string): string =>
      `{ "description":"\\u0041\\/", "name" : ${name} ,"inputSchema":{"type":"object","z":1,"a":{"maximum":1e400,"default":9007199254740993,"name":"echo"}},"_meta":{"k":1.0,"k":2},"unknown":[ ]}`;
    for (const answerAs of ['json', 'event-stream'] as const) {
      const backend = await backendFor(t, {
        answerAs,
        tools: [new JsonText(tool('"echo"')), new JsonText(tool('"b"'))],
      });
      const session = await (await deployment.caller({ one: { url: backend.url } })).openSession();
      for (const accept of ['application/json', 'text/event-stream']) {
        const text = answerText(await session.list({ accept }));
        t.ok(text.includes(tool('"one-echo"')), `echo, ${answerAs} to ${accept}`);
        t.ok(text.includes(tool('"one-b"')), `b, ${answerAs} to ${accept}`);
        t.doesNotThrow(() => JSON.parse(text) as unknown);
      }
    }
  });

  await t.test('messages ahead of the answer arrive in order, as they were written', async (t) => {
    const tokens = ['1', '0', '"t"', '""', '1.0', '9007199254740993', '"\\u0041"'];
    for (const token of tokens) {
      const messages = [1, 2, 3].map(
        (n) =>
          `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":${token},"progress":${n}.0,"x":1e400}}`,
      );
      const backend = await backendFor(t, {
        framing: 'chunked',
        onCall: async (call) => {
          for (const message of messages) await call.send(new JsonText(message));
        },
      });
      const session = await (await deployment.caller({ one: { url: backend.url } })).openSession();
      const body = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"one-echo","_meta":{"progressToken":${token}}}}`;
      const answer = await session.send(body);
      t.equal(answer.contentType, 'text/event-stream');
      const events = readEvents(answer.body);
      t.same(events.slice(0, -1), messages, token);
      t.equal(memberText(events.at(-1) ?? '', 'id'), '7');
      const asked = memberText(backend.calls[0]!.request.text, 'params', '_meta', 'progressToken');
      t.equal(asked, token, 'the token at the backend');
    }
  });

  await t.test('a message is relayed when it arrives, not when the answer is complete', async (t) => {
    let release: (() => void) | undefined;
    const backend = await backendFor(t, {
      framing: 'chunked',
      onCall: async (call) => {
        await call.notify('notifications/progress', { progressToken: 'p', progress: 1, message: 'first' });
        await new Promise<void>((resolve) => (release = resolve));
      },
    });
    const session = await (await deployment.caller({ one: { url: backend.url } })).openSession();
    const connection = await RawConnection.open(deployment.gateway.origin);
    t.teardown(() => connection.close());
    const body =
      '{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"one-echo","_meta":{"progressToken":"p"}}}';
    connection.write(encodeRequest(deployment.gateway.origin, session.caller.request({ session: session.id, body })));
    const head = await connection.readHead();
    t.equal(head.status, 200);
    const first = await connection.readChunk();
    t.match(first?.toString(), /"first"/, 'while the backend still holds the answer back');
    release?.();
    const rest = [];
    for (let chunk = await connection.readChunk(); chunk !== undefined; chunk = await connection.readChunk())
      rest.push(chunk);
    t.match(Buffer.concat(rest).toString(), /"result"/);
  });

  await t.test('event streams of backends: every line end and framing, priming events and comments', async (t) => {
    for (const lineEnd of ['\n', '\r\n', '\r'] as const) {
      for (const framing of ['length', 'chunked', 'one-byte'] as const) {
        const backend = await backendFor(t, { answerAs: 'event-stream', lineEnd, framing, withPriming: true });
        const session = await (await deployment.caller({ one: { url: backend.url } })).openSession();
        t.same(await session.toolNames(), ['one-echo']);
        const answer = await session.call('one-echo', '{"ü":1.0}', { accept: 'application/json' });
        t.equal(
          memberText(answerText(answer), 'result', 'structuredContent'),
          '{"ü":1.0}',
          JSON.stringify([lineEnd, framing]),
        );
      }
    }
    const text = '{"jsonrpc":"2.0","id":7,\n"result":{"x":1.0}}';
    const backend = await backendFor(t, {
      onCall: async (call) => {
        const stream = call.takeOver().eventStream();
        await stream.comment('hello');
        await stream.bytes('retry: 10\nid: 1\ndata:\n\nevent: message\nid: 2\n');
        await stream.bytes(
          `${text
            .split('\n')
            .map((line) => `data: ${line}\n`)
            .join('')}\n: bye\n\n`,
        );
        stream.end();
      },
    });
    const session = await (await deployment.caller({ one: { url: backend.url } })).openSession();
    for (const accept of ['application/json', 'text/event-stream']) {
      t.equal(answerText(await session.call('one-echo', '{}', { accept })), text, `data on two lines, ${accept}`);
    }
  });

  await t.test("a backend's validation error is relayed: code, message and data", async (t) => {
    const error =
      '{"code":-32602,"message":"Input validation error: a is required","data":{"issues":[{"path":["a"]}]}}';
    const backend = await backendFor(t, { onCall: (call) => call.fail(new JsonText(error)) });
    const session = await (await deployment.caller({ one: { url: backend.url } })).openSession();
    const answer = await session.call('one-echo', '{"wrong":1}');
    t.equal(answer.status, 200);
    t.equal(memberText(answerText(answer), 'error'), error);
  });

  await t.test('redirects are not followed', async (t) => {
    const elsewhere = await backendFor(t);
    for (const status of [301, 302, 307, 308]) {
      const backend = await backendFor(t, {
        onCall: (call) => call.takeOver().empty(status, { location: elsewhere.url }),
      });
      const session = await (await deployment.caller({ one: { url: backend.url } })).openSession();
      const { error } = rpc(await session.call('one-echo'));
      t.equal(error?.code, -32603, String(status));
      t.match(error?.message, /\bone\b/);
      t.notMatch(error?.message, /http:|127\.0/);
      t.equal(elsewhere.raw.requests.length, 0, String(status));
    }
  });

  await t.test('the path and the query of the backend URL are kept', async (t) => {
    const backend = await backendFor(t);
    const url = `${backend.raw.origin}/a/b%20c/?tenant=7&x=%2F`;
    const session = await (await deployment.caller({ one: { url } })).openSession();
    await session.call('one-echo');
    for (const { path } of backend.raw.requests) t.equal(path, '/a/b%20c/?tenant=7&x=%2F');
  });
});
