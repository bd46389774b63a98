// Decisions 2.7: what a user config may leave out, what makes a backend unavailable, what cannot be decoded, and where
// it is stored.
import t, { type Test } from 'tap';
import { backendFor, forEachDeployment, type ConfiguredCaller, type Deployment } from '../support/deployment.js';
import { rpc } from '../support/mcp-caller.js';

const CONFIG_PROBLEM = 'Problem occurred retrieving the configuration';
const URL_TEXT = '"url":"http://127.0.0.1:9/mcp"';

/** A config of one virtual host `v`, as JSON text around the text of its backends. */
function withBackends(backends: string): string {
  return `{"virtual_hosts":{"v":{"backends":${backends}}}}`;
}

function withBackend(members: string): string {
  return withBackends(`{"b":{${members}}}`);
}

async function callerOf(deployment: Deployment, configText: string): Promise<ConfiguredCaller> {
  const caller = await deployment.caller();
  await deployment.writeRawConfig(caller.subject, Buffer.from(configText));
  return caller;
}

async function initializeOn(caller: ConfiguredCaller, virtualHostId = 'v'): ReturnType<ConfiguredCaller['initialize']> {
  return caller.initialize({ path: caller.deployment.gateway.path(virtualHostId) });
}

await forEachDeployment(t, { spread: 'all' }, async (t, deployment) => {
  await t.test('`name` defaults to the key, lists to [], `transport` to STREAMABLEHTTP', async (t) => {
    const backend = await backendFor(t, { tools: ['x', 'y'] });
    const caller = await deployment.caller();
    const backends = { b: { url: backend.url } };
    await deployment.writeConfig(caller.subject, { virtual_hosts: { [caller.virtualHostId]: { backends } } });
    const session = await caller.openSession();
    const listed = rpc(await session.list());
    t.match(listed.result, { tools: [{ name: 'b-x' }, { name: 'b-y' }] });
  });

  await t.test('unknown members are ignored, on every level', async (t) => {
    const config = `{"more":1,"virtual_hosts":{"v":{"more":[],"backends":{"b":{${URL_TEXT},"more":{"url":7}}}}}}`;
    t.equal((await initializeOn(await callerOf(deployment, config))).status, 200);
  });

  await t.test('every form in which a config may be written is decoded', async (t) => {
    const configs = {
      'the sample': withBackend(
        `"name":"b",${URL_TEXT},"transport":"STREAMABLEHTTP","passthrough_headers":[],"allowed_tool_names":[],"allowed_resource_names":[],"allowed_prompt_names":[]`,
      ),
      'with names': withBackend(
        `${URL_TEXT},"passthrough_headers":["x"],"allowed_tool_names":["x"],"allowed_resource_names":["r"],"allowed_prompt_names":["p"]`,
      ),
      'no backends': withBackends('{}'),
      'another name than the key': withBackend(`${URL_TEXT},"name":"c"`),
      https: withBackend('"url":"https://mcp.example/mcp?x=1"'),
      'escaped and spaced': ' {\n"virtual\\u005fhosts" : { "v" : {"backends" : {} } } }\r\n',
      'many virtual hosts': `{"virtual_hosts":{${Array.from({ length: 500 }, (_, n) => `"h${n}":{"backends":{}}`).join()},"v":{"backends":{}}}}`,
    };
    for (const [form, config] of Object.entries(configs)) {
      t.equal((await initializeOn(await callerOf(deployment, config))).status, 200, form);
    }
  });

  await t.test('no virtual hosts at all is a config like any other: 404', async (t) => {
    const answer = await initializeOn(await callerOf(deployment, '{"virtual_hosts":{}}'));
    t.equal(answer.status, 404);
    t.equal(answer.text, '{"detail":"Server not found"}');
  });

  for (const transport of ['STDIO']) {
    await t.test(`transport ${transport} decodes, but makes the backend unavailable with a reason`, async (t) => {
      const good = await backendFor(t, { tools: ['x'] });
      const other = await backendFor(t);
      const caller = await deployment.caller({ good: { url: good.url }, other: { url: other.url, transport } });
      const session = await caller.openSession();
      const { result } = rpc(session.opening);
      t.match(result, { _meta: { 'switchyard/unavailable': [{ backend: 'other', reason: /transport/i }] } });
      t.same(await session.toolNames(), ['good-x']);
      t.match(rpc(await session.call('other-x')), { error: { code: -32603, message: /\bother\b/ } });
      t.equal(other.raw.requests.length, 0, 'nothing was sent to it');
    });
  }

  await t.test('anything else wrong cannot be decoded: 500', async (t) => {
    const wrong = [
      'null',
      '7',
      '"x"',
      '[]',
      '{}',
      '{"virtual_hosts":null}',
      '{"virtual_hosts":[]}',
      '{"virtual_hosts":"x"}',
      '{"virtual_hosts":{"v":null}}',
      '{"virtual_hosts":{"v":[]}}',
      '{"virtual_hosts":{"v":{}}}',
      withBackends('null'),
      withBackends('[]'),
      withBackends('{"b":null}'),
      withBackends('{"b":"http://127.0.0.1:9/mcp"}'),
      withBackend(''),
      withBackend('"url":7'),
      withBackend('"url":null'),
      withBackend('"url":""'),
      withBackend('"url":"/mcp"'),
      withBackend('"url":"127.0.0.1:9/mcp"'),
      withBackend('"url":"ftp://127.0.0.1/mcp"'),
      withBackend('"url":"file:///etc/passwd"'),
      withBackend('"url":"http://"'),
      withBackend(`${URL_TEXT},"transport":"streamablehttp"`),
      withBackend(`${URL_TEXT},"transport":"WEBSOCKET"`),
      withBackend(`${URL_TEXT},"transport":null`),
      withBackend(`${URL_TEXT},"name":7`),
      withBackend(`${URL_TEXT},"passthrough_headers":"x"`),
      withBackend(`${URL_TEXT},"passthrough_headers":[7]`),
      withBackend(`${URL_TEXT},"allowed_tool_names":null`),
      withBackend(`${URL_TEXT},"allowed_tool_names":{}`),
      withBackend(`${URL_TEXT},"allowed_resource_names":[null]`),
      withBackend(`${URL_TEXT},"allowed_prompt_names":"p"`),
      '{"virtual_hosts":{"v":{"backends":{}},"other":{"backends":7}}}',
      '{"virtual_hosts":{"v":{"backends":{}}}}}',
      '{"virtual_hosts":{"v":{"backends":{}}},}',
    ];
    await checkUndecodable(t, deployment, wrong);
  });

  await t.test('the store key is the subject, exactly', async (t) => {
    const caller = await deployment.caller();
    const { subject, virtualHostId } = caller;
    const near = [
      subject.toUpperCase(),
      ` ${subject}`,
      `${subject} `,
      `${subject}\u0000`,
      subject.slice(1),
      `${subject}/`,
    ];
    for (const other of near) {
      const answer = await caller.initialize({ token: await deployment.token(other) });
      t.equal(answer.status, 400, JSON.stringify(other));
      t.equal(answer.text, CONFIG_PROBLEM);
    }
    const unusual = [
      'é',
      'e\u0301',
      '😀',
      'a b',
      'a:b',
      '*',
      'a/../b',
      '%2e',
      '"',
      '\\',
      '\u0000',
      'x'.repeat(1500),
      '{}',
    ];
    for (const [index, prefix] of unusual.entries()) {
      const other = prefix + subject;
      await deployment.writeConfig(other, { virtual_hosts: { [`h${index}`]: { backends: {} } } });
    }
    for (const [index, prefix] of unusual.entries()) {
      const token = await deployment.token(prefix + subject);
      const own = await caller.initialize({ token, path: deployment.gateway.path(`h${index}`) });
      t.equal(own.status, 200, JSON.stringify(prefix));
      t.equal((await caller.initialize({ token })).status, 404, `${JSON.stringify(prefix)} sees its own config alone`);
    }
    t.equal((await caller.initialize()).status, 200, `${virtualHostId} is as it was`);
  });

  await t.test('a subject that is too long for a store key: 500', async (t) => {
    const caller = await deployment.caller();
    const answer = await caller.initialize({ token: await deployment.token('x'.repeat(5000)) });
    t.equal(answer.status, 500);
    t.equal(answer.text, CONFIG_PROBLEM);
  });

  await t.test('an empty subject is one without a config, or no subject at all', async (t) => {
    const caller = await deployment.caller();
    const answer = await caller.initialize({ token: await deployment.token('') });
    t.ok([400, 401].includes(answer.status), String(answer.status));
  });
});

async function checkUndecodable(t: Test, deployment: Deployment, configs: readonly string[]): Promise<void> {
  for (const config of configs) {
    const answer = await initializeOn(await callerOf(deployment, config));
    t.equal(answer.status, 500, config);
    t.equal(answer.contentType, 'text/plain', config);
    t.equal(answer.text, CONFIG_PROBLEM, config);
    t.equal(answer.header('mcp-session-id'), undefined);
  }
}
