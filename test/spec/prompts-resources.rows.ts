// Prompts, resources, templates and completion: which backend they belong to, and what a caller sees and is told of them.
import t from 'tap';
import { backendFor, forEachDeployment } from '../support/deployment.js';
import { JsonText, memberText } from '../support/json-text.js';
import { Failure, type McpBackend } from '../support/mcp-backend.js';
import { answerText, rpc, type McpSession, type RpcMessage } from '../support/mcp-caller.js';
import { until } from '../support/until.js';

const ALL = { tools: {}, prompts: {}, resources: {}, completions: {} };

/** A backend with two prompts, two resources and a template, whose responses repeat the params and contain `name`. */
function methodsOf(name: string): Readonly<Record<string, (params: string | undefined) => unknown>> {
  const about =
    (what: string) =>
    (params = ''): JsonText =>
      new JsonText(`{ "${what}" : [] ,"n":1.0,"of":"${name}","asked":${params}}`);
  return {
    'prompts/list': () => new JsonText(`{"prompts":[{"name":"b","x":1.0},{"title":"A","name":"a"}]}`),
    'prompts/get': about('messages'),
    'resources/list': () =>
      new JsonText(
        '{"resources":[{"uri":"test:\\/\\/one","name":"One","size":1e2},{"name":"App","uri":"ui://app/x"}]}',
      ),
    'resources/templates/list': () =>
      new JsonText('{"resourceTemplates":[{"uriTemplate":"test://item/{id}/data","name":"Item"}]}'),
    'resources/read': about('contents'),
    'completion/complete': about('values'),
  };
}

async function ask(session: McpSession, method: string, params?: string): Promise<RpcMessage> {
  return rpc(await session.send(requestText(method, params)));
}

function requestText(method: string, params?: string): string {
  return `{"jsonrpc":"2.0","id":5,"method":"${method}"${params === undefined ? '' : `,"params":${params}`}}`;
}

async function resultText(session: McpSession, method: string, params?: string): Promise<string> {
  return answerText(await session.send(requestText(method, params)));
}

/** The params of the last request of the method, as the backend received them. */
function lastParams(backend: McpBackend, method: string): string | undefined {
  const text = backend.requestsOf(method).at(-1)?.text;
  return text?.slice(text.indexOf('"params":') + 9, -1);
}

await forEachDeployment(t, {}, async (t, deployment) => {
  await t.test(
    'two backends with the same names and URIs: lists have both, sorted, every other byte as it came',
    async (t) => {
      const [one, two] = [
        await backendFor(t, { capabilities: ALL, methods: methodsOf('one') }),
        await backendFor(t, { capabilities: ALL, methods: methodsOf('two'), answerAs: 'event-stream' }),
      ];
      const session = await (await deployment.caller({ one: { url: one.url }, two: { url: two.url } })).openSession();
      t.equal(
        await resultText(session, 'prompts/list'),
        '{"jsonrpc":"2.0","id":5,"result":{"prompts":[{"title":"A","name":"one-a"},{"name":"one-b","x":1.0},' +
          '{"title":"A","name":"two-a"},{"name":"two-b","x":1.0}]}}',
      );
      t.equal(
        await resultText(session, 'resources/list'),
        '{"jsonrpc":"2.0","id":5,"result":{"resources":[{"uri":"one+test:\\/\\/one","name":"One","size":1e2},' +
          '{"uri":"two+test:\\/\\/one","name":"One","size":1e2},{"name":"App","uri":"ui://one/app/x"},{"name":"App","uri":"ui://two/app/x"}]}}',
      );
      t.equal(
        await resultText(session, 'resources/templates/list'),
        '{"jsonrpc":"2.0","id":5,"result":{"resourceTemplates":[{"uriTemplate":"one+test://item/{id}/data","name":"Item"},' +
          '{"uriTemplate":"two+test://item/{id}/data","name":"Item"}]}}',
      );
      for (const method of ['prompts/list', 'resources/list', 'resources/templates/list'])
        t.match(await ask(session, method, '{"cursor":"x"}'), { error: { code: -32602, message: 'Invalid cursor' } });
    },
  );

  await t.test('each request goes to its backend, with only the identifier changed', async (t) => {
    const backends = {
      one: await backendFor(t, { capabilities: ALL, methods: methodsOf('one') }),
      two: await backendFor(t, { capabilities: ALL, methods: methodsOf('two'), answerAs: 'event-stream' }),
    };
    const session = await (
      await deployment.caller({ one: { url: backends.one.url }, two: { url: backends.two.url } })
    ).openSession();
    for (const name of ['one', 'two'] as const) {
      const requests = [
        ['prompts/get', `{ "arguments":{"n":"1.0","name":"one-x"},"name" : "${name}-a"}`, `"${name}-a"`, '"a"'],
        ['resources/read', `{"x":1.0, "uri": "${name}+test://one"}`, `"${name}+test://one"`, '"test://one"'],
        ['resources/read', `{"uri": "${name}\\u002btest:\\/\\/é"}`, `"${name}\\u002btest:\\/\\/é"`, '"test://é"'],
        ['resources/read', `{"uri": "ui://${name}/app/x"}`, `"ui://${name}/app/x"`, '"ui://app/x"'],
        // The form that the listed template produces.
        ['resources/read', `{"uri": "${name}+ui://app/x"}`, `"${name}+ui://app/x"`, '"ui://app/x"'],
        ['resources/read', `{"uri":"${name.toUpperCase()}+a+b"}`, `"${name.toUpperCase()}+a+b"`, '"a+b"'],
        [
          'completion/complete',
          `{"ref":{"type":"ref/prompt","name":"${name}-b"},"argument":{"name":"x","value":"one-"},"context":{"arguments":{"a":"b"}}}`,
          `"${name}-b"`,
          '"b"',
        ],
        [
          'completion/complete',
          `{"argument":{"name":"id","value":"1"},"ref":{"uri":"${name}+test://item/{id}/data","type":"ref/resource"}}`,
          `"${name}+test://item/{id}/data"`,
          '"test://item/{id}/data"',
        ],
      ] as const;
      for (const [method, params, written, bare] of requests) {
        const { result } = await ask(session, method, params);
        t.match(result, { of: name }, `${method} ${params}`);
        t.equal(lastParams(backends[name], method), params.replace(written, bare));
      }
    }
  });

  await t.test('odd backend names: each gives one URI, which leads back to it', async (t) => {
    const names = ['a_b', 'a b', 'a.b', '1a', 'é', '_', 'x', 'x.-1', 'A-1'];
    const backends = await Promise.all(
      names.map((name, index) => backendFor(t, { capabilities: ALL, methods: methodsOf(`n${index}`), name })),
    );
    const entries = names.map((name, index) => [name, { url: backends[index]!.url }] as const);
    const session = await (await deployment.caller(Object.fromEntries(entries))).openSession();
    const { result } = await ask(session, 'resources/list');
    const uris = (result as { resources: { uri: string }[] }).resources.map(({ uri }) => uri);
    t.equal(new Set(uris).size, 2 * names.length);
    const seen = new Set<string>();
    for (const uri of uris) {
      t.match(uri, /^[A-Za-z][A-Za-z0-9+.-]*:\/\//);
      const read = (await ask(session, 'resources/read', `{"uri":${JSON.stringify(uri)}}`)).result;
      const { of, asked } = read as { of: string; asked: { uri: string } };
      t.match(asked.uri, /^(?:test:\/\/one|ui:\/\/app\/x)$/);
      seen.add(`${of} ${asked.uri}`);
    }
    t.equal(seen.size, uris.length);
    t.ok(uris.includes('A-1+test://one'));
    t.ok(uris.includes('x.-1a+test://one'));
    t.ok(uris.includes('a.5fb+test://one'));
    const prompts = (await ask(session, 'prompts/list')).result as { prompts: { name: string }[] };
    t.same(prompts.prompts.map(({ name }) => name).sort(), names.flatMap((name) => [`${name}-a`, `${name}-b`]).sort());
  });

  await t.test('unknown names, URIs and refs are refused', async (t) => {
    const backend = await backendFor(t, { capabilities: ALL, methods: methodsOf('one') });
    const session = await (await deployment.caller({ one: { url: backend.url } })).openSession();
    const unknownPrompt = { code: -32602, message: 'Unknown prompt: two-a' };
    t.same((await ask(session, 'prompts/get', '{"name":"two-a"}')).error, unknownPrompt);
    for (const uri of ['test://one', 'two+test://one', 'ui://two/x', 'ui://one', 'https://one/a+b', '', '+']) {
      const error = { code: -32002, message: 'Resource not found', data: { uri } };
      t.same((await ask(session, 'resources/read', JSON.stringify({ uri }))).error, error, uri);
    }
    const refs = [
      ['{"type":"ref/prompt","name":"two-a"}', 'Unknown prompt: two-a'],
      ['{"type":"ref/resource","uri":"test://x"}', 'Unknown resource: test://x'],
    ] as const;
    for (const [ref, message] of refs)
      t.same((await ask(session, 'completion/complete', `{"ref":${ref}}`)).error, { code: -32602, message });
    const invalid = [
      ['prompts/get', '{}'],
      ['prompts/get', '{"name":1}'],
      ['resources/read', '{"uri":null}'],
      ['resources/read', '{"name":"one-a"}'],
      ['completion/complete', '{"ref":{"type":"ref/other","name":"one-a"}}'],
      ['completion/complete', '{"ref":{"type":"ref/prompt","uri":"one+x"}}'],
      ['completion/complete', '{"name":"one-a","ref":[]}'],
    ] as const;
    for (const [method, params] of invalid)
      t.match((await ask(session, method, params)).error, { code: -32602, message: /^Invalid params of/ }, params);
    const ambiguous = [
      ['resources/read', '{"uri":"one+a","uri":"one+b"}'],
      ['resources/read', '{"uri":"one+a","URI":"one+b"}'],
      ['completion/complete', '{"ref":{"type":"ref/prompt","name":"one-a","Name":"one-b"}}'],
    ] as const;
    for (const [method, params] of ambiguous)
      t.equal((await session.send(requestText(method, params))).status, 400, params);
    t.same(
      ['prompts/get', 'resources/read', 'completion/complete'].flatMap((each) => backend.requestsOf(each)),
      [],
    );
  });

  await t.test('a URI made from a template reaches its backend, even if it is a `ui:` URI', async (t) => {
    const backend = await backendFor(t, { capabilities: ALL, methods: methodsOf('one') });
    const session = await (await deployment.caller({ one: { url: backend.url } })).openSession();
    for (const uri of ['one+ui://app/x', 'ui://one/app/x'])
      await ask(session, 'resources/read', JSON.stringify({ uri }));
    const read = backend.requestsOf('resources/read').map(({ text }) => memberText(text, 'params', 'uri'));
    t.same(read, ['"ui://app/x"', '"ui://app/x"']);
  });

  await t.test("a backend's own error passes as it came", async (t) => {
    const methods = {
      ...methodsOf('one'),
      'prompts/get': () => new Failure(new JsonText('{"code":-32602,"message":"no \\u0061","data":{"n":1.0}}')),
    };
    const backend = await backendFor(t, { capabilities: ALL, methods });
    const session = await (await deployment.caller({ one: { url: backend.url } })).openSession();
    t.equal(
      await resultText(session, 'prompts/get', '{"name":"one-z"}'),
      '{"jsonrpc":"2.0","id":5,"error":{"code":-32602,"message":"no \\u0061","data":{"n":1.0}}}',
    );
  });

  await t.test('allowed_prompt_names: nothing else is listed, got or completed', async (t) => {
    const backend = await backendFor(t, { capabilities: ALL, methods: methodsOf('one') });
    const caller = await deployment.caller({ one: { url: backend.url, allowed_prompt_names: ['a', 'one-b'] } });
    const session = await caller.openSession();
    t.match((await ask(session, 'prompts/list')).result, { prompts: [{ name: 'one-a' }] });
    t.match(await ask(session, 'prompts/get', '{"name":"one-a"}'), { result: {} });
    for (const name of ['one-b', 'one-c', 'one-one-a']) {
      const error = { code: -32602, message: `Unknown prompt: ${name}` };
      t.same((await ask(session, 'prompts/get', JSON.stringify({ name }))).error, error);
      const ref = { type: 'ref/prompt', name };
      t.same((await ask(session, 'completion/complete', JSON.stringify({ ref }))).error, error);
    }
    t.equal(backend.requestsOf('prompts/get').length, 1);
    t.equal(backend.requestsOf('completion/complete').length, 0);
    t.match((await ask(session, 'tools/list')).result, { tools: [{ name: 'one-echo' }] }, 'of tools it says nothing');
  });

  await t.test('allowed_resource_names: names, URIs and templates, in lists, reads and completion', async (t) => {
    const rows = [
      {
        allowed: ['One'],
        uris: ['test://one'],
        templates: [],
        reads: ['test://one'],
        not: ['ui://app/x', 'test://item/1/data'],
      },
      { allowed: ['ui://app/x'], uris: ['ui://app/x'], templates: [], reads: ['ui://app/x'], not: ['test://one'] },
      {
        allowed: ['Item'],
        uris: [],
        templates: ['test://item/{id}/data'],
        reads: ['test://item/1/data', 'test://item/a%2fb/data', 'test://item//data', 'test://item/é/data'],
        not: ['test://item/1/2/data', 'test://item/1/data?', 'xtest://item/1/data', 'test://item/1', 'test://one'],
      },
      {
        allowed: ['test://item/{id}/data'],
        uris: [],
        templates: ['test://item/{id}/data'],
        reads: ['test://item/1/data'],
        not: ['test://item/1/2/data', 'test://one'],
      },
      {
        allowed: ['Other', 'test://{+all}'],
        uris: [],
        templates: [],
        reads: [],
        not: ['test://one', 'test://item/1/data'],
      },
    ];
    const down = (uri: string): string => (uri.startsWith('ui://') ? `ui://one/${uri.slice(5)}` : `one+${uri}`);
    for (const { allowed, uris, templates, reads, not } of rows) {
      const backend = await backendFor(t, { capabilities: ALL, methods: methodsOf('one') });
      const caller = await deployment.caller({ one: { url: backend.url, allowed_resource_names: allowed } });
      const session = await caller.openSession();
      const listed = (await ask(session, 'resources/list')).result as { resources: { uri: string }[] };
      t.same(
        listed.resources.map(({ uri }) => uri),
        uris.map(down),
        allowed.join(),
      );
      const made = (await ask(session, 'resources/templates/list')).result as {
        resourceTemplates: { uriTemplate: string }[];
      };
      t.same(
        made.resourceTemplates.map(({ uriTemplate }) => uriTemplate),
        templates.map(down),
        allowed.join(),
      );
      for (const uri of reads) {
        const read = await ask(session, 'resources/read', JSON.stringify({ uri: down(uri) }));
        t.match(read.result, { asked: { uri } }, `${allowed.join()}: ${uri}`);
      }
      const before = backend.requestsOf('resources/read').length;
      for (const uri of not) {
        const error = { code: -32002, message: 'Resource not found', data: { uri: down(uri) } };
        for (const method of ['resources/read', 'resources/subscribe', 'resources/unsubscribe']) {
          const answer = await ask(session, method, JSON.stringify({ uri: down(uri) }));
          t.same(answer.error, error, `${method}, ${allowed.join()}: ${uri}`);
        }
      }
      t.equal(backend.requestsOf('resources/read').length, before);
      for (const method of ['resources/subscribe', 'resources/unsubscribe'])
        t.same(backend.requestsOf(method), [], `${method} reaches no backend`);
      const [allowedUri] = reads;
      if (allowedUri !== undefined) {
        await ask(session, 'resources/subscribe', JSON.stringify({ uri: down(allowedUri) }));
        t.equal(backend.requestsOf('resources/subscribe').length, 1, 'what is allowed does');
      }
      for (const uri of [...uris, ...templates]) {
        const ref = { type: 'ref/resource', uri: down(uri) };
        t.match(await ask(session, 'completion/complete', JSON.stringify({ ref })), {
          result: { asked: { ref: { uri } } },
        });
      }
      const ref = { type: 'ref/resource', uri: down(not.at(-1)!) };
      const error = { code: -32602, message: `Unknown resource: ${ref.uri}` };
      t.same((await ask(session, 'completion/complete', JSON.stringify({ ref }))).error, error);
    }
  });

  await t.test('a URI in a result grants no access', async (t) => {
    const link = (prefix: string): string =>
      `{"content":[{"type":"resource_link","uri":"${prefix}test://hidden","name":"n"},{"type":"resource","resource":{"uri":"${prefix}test://hidden","text":""}}]}`;
    const backend = await backendFor(t, {
      capabilities: ALL,
      methods: methodsOf('one'),
      onCall: () => new JsonText(link('')),
    });
    const members = { url: backend.url, allowed_resource_names: ['One'] };
    const session = await (await deployment.caller({ one: members })).openSession();
    t.equal(
      await resultText(session, 'tools/call', '{"name":"one-echo"}'),
      `{"jsonrpc":"2.0","id":5,"result":${link('one+')}}`,
    );
    const uri = 'one+test://hidden';
    for (const method of ['resources/read', 'resources/subscribe']) {
      t.same((await ask(session, method, JSON.stringify({ uri }))).error, {
        ...{ code: -32002, message: 'Resource not found', data: { uri } },
      });
      t.same(backend.requestsOf(method), [], method);
    }
    t.match((await ask(session, 'resources/read', '{"uri":"one+test://one"}')).result, { of: 'one' });
  });

  await t.test('listChanged and subscribe are true where one backend says so', async (t) => {
    const rows = [
      { declared: [{ listChanged: false }, {}], told: [undefined, false] },
      { declared: [{ listChanged: false }, { listChanged: true }], told: [true] },
      { declared: [{ listChanged: true }, {}], told: [true] },
    ];
    for (const { declared, told } of rows) {
      const [one, two] = await Promise.all(
        declared.map(({ listChanged }) => {
          const members = listChanged === undefined ? {} : { listChanged };
          const resources = { ...members, ...(listChanged === undefined ? {} : { subscribe: listChanged }) };
          return backendFor(t, { capabilities: { tools: members, prompts: members, resources } });
        }),
      );
      const session = await (await deployment.caller({ one: { url: one!.url }, two: { url: two!.url } })).openSession();
      const { capabilities } = rpc(session.opening).result as { capabilities: Record<string, Record<string, unknown>> };
      const { tools, prompts, resources } = capabilities;
      const values = [tools?.['listChanged'], prompts?.['listChanged'], resources?.['listChanged']];
      for (const value of [...values, resources?.['subscribe']]) {
        t.ok(told.includes(value as boolean | undefined), JSON.stringify([declared, capabilities]));
      }
    }
  });

  await t.test('capabilities are the union, and a method whose capability nobody declares is -32601', async (t) => {
    const plain = await backendFor(t, {});
    const prompts = await backendFor(t, { capabilities: { prompts: { listChanged: true } }, methods: methodsOf('p') });
    const resources = await backendFor(t, { capabilities: { resources: {} }, methods: methodsOf('r') });
    const capabilitiesOf = (session: McpSession): unknown =>
      (rpc(session.opening).result as { capabilities: unknown }).capabilities;
    const without = await (await deployment.caller({ plain: { url: plain.url } })).openSession();
    t.same(Object.keys(capabilitiesOf(without) as object), ['tools']);
    const requests = [
      ['prompts/list', '{}'],
      ['prompts/get', '{"name":"plain-a"}'],
      ['prompts/get', '{"name":"z"}'],
      ['resources/list', '{}'],
      ['resources/templates/list', '{}'],
      ['resources/read', '{"uri":"plain+x:y"}'],
      ['resources/read', '{"uri":"z"}'],
      ['completion/complete', '{"ref":{"type":"ref/prompt","name":"plain-a"}}'],
    ] as const;
    for (const [method, params] of requests) {
      const error = { code: -32601, message: `Method not found: ${method}` };
      t.same((await ask(without, method, params)).error, error, `${method} ${params}`);
    }
    t.same(
      plain.raw.requests.filter(({ text }) => /prompts|resources|completion/.test(text)),
      [],
      'nothing was asked of it',
    );

    const backends = { plain: { url: plain.url }, p: { url: prompts.url }, r: { url: resources.url } };
    const both = await (await deployment.caller(backends)).openSession();
    t.same(Object.keys(capabilitiesOf(both) as object).sort(), ['prompts', 'resources', 'tools']);
    t.match((await ask(both, 'prompts/list')).result, { prompts: [{ name: 'p-a' }, { name: 'p-b' }] });
    t.match((await ask(both, 'resources/list')).result, { resources: [{ uri: 'r+test://one' }, {}] });
    t.same([prompts.requestsOf('resources/list'), resources.requestsOf('prompts/list')], [[], []]);
    t.match((await ask(both, 'prompts/get', '{"name":"r-a"}')).error, { code: -32602, message: 'Unknown prompt: r-a' });
    t.match((await ask(both, 'resources/read', '{"uri":"p+x:y"}')).error, { code: -32002 });
    t.match((await ask(both, 'completion/complete', '{"ref":{"type":"ref/prompt","name":"p-a"}}')).error, {
      code: -32601,
    });
  });

  await t.test('a backend that refuses resources/templates/list has no templates', async (t) => {
    const { 'resources/templates/list': _, ...methods } = methodsOf('one');
    const backend = await backendFor(t, { capabilities: ALL, methods });
    const session = await (await deployment.caller({ one: { url: backend.url } })).openSession();
    t.same((await ask(session, 'resources/templates/list')).result, { resourceTemplates: [] });
  });

  await t.test('a backend that comes up late is asked, and a lost upstream session is opened again', async (t) => {
    const backend = await backendFor(t, { capabilities: ALL, methods: methodsOf('one'), withSessions: true });
    backend.raw.stopListening();
    const session = await (await deployment.caller({ one: { url: backend.url } })).openSession();
    t.match((await ask(session, 'prompts/list')).result, {
      prompts: { length: 0 },
      _meta: { 'switchyard/unavailable': [{ backend: 'one' }] },
    });
    await backend.raw.listenAgain();
    const isThere = async (): Promise<boolean> => (await resultText(session, 'prompts/list')).includes('"one-a"');
    await until(isThere, 'the prompts of the backend that has come');
    backend.forgetSessions();
    t.match((await ask(session, 'resources/list')).result, { resources: [{}, {}] });
    backend.forgetSessions();
    t.match(await ask(session, 'resources/read', '{"uri":"one+test://one"}'), { result: { of: 'one' } });
  });

  await t.test('URIs in results are those of the lists, as JSON and as events, small and large', async (t) => {
    const link = (uri: string): string => `{"type":"resource_link","uri":"${uri}","name":"n","size":1.0}`;
    const embedded = (uri: string): string => `{"resource":{"text":"${uri}","uri":"${uri}"},"type":"resource"}`;
    for (const filler of ['', 'x'.repeat(300_000)]) {
      for (const answerAs of ['json', 'event-stream'] as const) {
        const bodies = (prefix: string, ui: string): Record<'call' | 'get' | 'read', string> => ({
          call:
            `{"x":"${filler}","content":[${link(`${prefix}test://one`)},${link('https://web/')},` +
            `${embedded(`${prefix}test://two`).replace(`"text":"${prefix}`, '"text":"')}],"structuredContent":{"uri":"test://one"}}`,
          get: `{"messages":[{"role":"user","content":${link(`ui://${ui}app/x`)}}],"x":"${filler}"}`,
          read: `{"contents":[{"x":"${filler}","uri":"${prefix}test:\\/\\/one","text":"test://one"}]}`,
        });
        const own = bodies('', '');
        const backend = await backendFor(t, {
          capabilities: ALL,
          answerAs,
          methods: {
            'prompts/get': () => new JsonText(own.get),
            'resources/read': () => new JsonText(own.read),
          },
          onCall: () => new JsonText(own.call),
        });
        const session = await (await deployment.caller({ a_b: { url: backend.url } })).openSession();
        const expected = bodies('a.5fb+', 'a.5fb/');
        const answer = (result: string): string => `{"jsonrpc":"2.0","id":5,"result":${result}}`;
        const rows = [
          ['tools/call', '{"name":"a_b-echo"}', expected.call],
          ['prompts/get', '{"name":"a_b-x"}', expected.get],
          ['resources/read', '{"uri":"a.5fb+test://one"}', expected.read],
        ] as const;
        for (const [method, params, result] of rows)
          t.ok(
            (await resultText(session, method, params)) === answer(result),
            `${method} ${answerAs} ${filler.length}`,
          );
      }
    }
  });

  await t.test("URIs in errors, and in tools' links to their user interface, are those of the lists", async (t) => {
    const tool =
      '{"name":"app","_meta":{"a":1.0,"ui/resourceUri":"ui://app/1","ui":{"x":[],"resourceUri":"ui:\\/\\/app\\/1"}},"inputSchema":{"type":"object","_meta":{"ui":{"resourceUri":"ui://app/1"}}}}';
    const error = '{"code":-32002,"message":"no","data":{"n":1.0,"uri":"test://none"}}';
    const backend = await backendFor(t, {
      capabilities: ALL,
      tools: [new JsonText(tool)],
      methods: { ...methodsOf('one'), 'resources/read': () => new Failure(new JsonText(error)) },
    });
    const session = await (await deployment.caller({ b: { url: backend.url } })).openSession();
    const listed = tool
      .replace('"app"', '"b-app"')
      .replace('"ui://app/1"', '"ui://b/app/1"')
      .replace('"ui:\\/\\/app', '"ui:\\/\\/b/app');
    t.equal(await resultText(session, 'tools/list'), `{"jsonrpc":"2.0","id":5,"result":{"tools":[${listed}]}}`);
    t.equal(
      await resultText(session, 'resources/read', '{"uri":"b+test://none"}'),
      `{"jsonrpc":"2.0","id":5,"error":${error.replace('test://none', 'b+test://none')}}`,
    );
  });
});
