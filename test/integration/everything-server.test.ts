// The MCP reference server behind the gateway, used by the SDK's client.
import { McpError } from '@modelcontextprotocol/sdk/types.js';
import t from 'tap';
import { startDeployment } from '../support/deployment.js';
import { startEverythingServer } from '../support/everything-server.js';
import { connectSdkClient } from '../support/sdk-client.js';

const server = await startEverythingServer(t);
// Long timeouts: the backend must be ready when the session opens, however slow the machine is.
const options = ['--initialize-patience', '60s', '--initialize-timeout', '60s'];
const deployment = await startDeployment(t, { workerCount: 4, options });
const caller = await deployment.caller({ everything: { url: server.url } });
const { client } = await connectSdkClient(t, caller.origin + caller.path, caller.token);
const { client: direct } = await connectSdkClient(t, server.url, undefined);

t.test('its tools are listed as without the gateway, except for the prefix', async (t) => {
  const listed = (await client.listTools()).tools;
  const own = (await direct.listTools()).tools.map((tool) => ({ ...tool, name: `everything-${tool.name}` }));
  t.ok(own.length > 5);
  t.same(
    listed,
    own.sort((one, other) => (one.name < other.name ? -1 : 1)),
  );
});

const calls = [
  { name: 'echo', arguments: { message: 'to and fro: “é\u0000”' } },
  { name: 'get-sum', arguments: { a: 19.5, b: 23 } },
  { name: 'get-tiny-image', arguments: {} },
  { name: 'get-env', arguments: {} },
  { name: 'get-structured-content', arguments: { location: 'New York' } },
  { name: 'get-annotated-message', arguments: { messageType: 'error', includeImage: true } },
  { name: 'get-sum', arguments: { a: 'not a number' } },
  { name: 'no-such-tool', arguments: {} },
];
for (const call of calls) {
  t.test(`${call.name} ${JSON.stringify(call.arguments)} gives what it gives without the gateway`, async (t) => {
    const answer = await client.callTool({ ...call, name: `everything-${call.name}` });
    t.ok(answer.content);
    t.same(answer, await direct.callTool(call));
  });
}

t.test('a long-running operation reports its progress and ends', async (t) => {
  const seen: number[] = [];
  const steps = 5;
  const answer = await client.callTool(
    { name: 'everything-trigger-long-running-operation', arguments: { duration: 0.5, steps } },
    undefined,
    { onprogress: ({ progress }) => void seen.push(progress) },
  );
  t.match(answer, { content: [{ text: /completed/ }] });
  t.same(seen, [1, 2, 3, 4, 5]);
});

/** A URI of the server, as the caller sees it. */
function down(uri: string): string {
  return `everything+${uri}`;
}

/** The result or error as plain data, without the times in it, which differ from one request to the next. */
async function outcomeOf(asking: Promise<unknown>): Promise<unknown> {
  const outcome = await asking.catch((error: unknown) => {
    if (!(error instanceof McpError)) throw error;
    return { code: error.code, message: error.message, data: error.data };
  });
  const text = JSON.stringify(outcome, (key, value: unknown) => (key === 'blob' ? wordsOf(String(value)) : value));
  return JSON.parse(text.replaceAll(/\d{1,2}:\d{2}:\d{2}|\d{4}-\d{2}-\d{2}T[\d:.]+Z/g, '<time>'));
}

/** The server's binary resources are base64 text that includes the time. */
function wordsOf(blob: string): string {
  return `base64 of ${Buffer.from(blob, 'base64').toString('latin1')}`;
}

/** The same outcome with its URIs as the caller sees them. */
function withDownUris(outcome: unknown): unknown {
  return JSON.parse(JSON.stringify(outcome), (key, value: unknown) =>
    key === 'uri' && typeof value === 'string' ? down(value) : value,
  );
}

t.test('its prompts are listed and returned as without the gateway', async (t) => {
  const own = (await direct.listPrompts()).prompts;
  t.ok(own.length > 2);
  const { prompts } = await client.listPrompts();
  const expected = own.map((prompt) => ({ ...prompt, name: `everything-${prompt.name}` }));
  t.same(
    prompts,
    expected.sort((one, other) => (one.name < other.name ? -1 : 1)),
  );
  let givenCount = 0;
  for (const { name, arguments: declared = [] } of own) {
    for (const value of ['Text', '1', 'Engineering']) {
      const args = Object.fromEntries(declared.map((argument) => [argument.name, value]));
      const through = await outcomeOf(client.getPrompt({ name: `everything-${name}`, arguments: args }));
      const without = await outcomeOf(direct.getPrompt({ name, arguments: args }));
      t.same(through, withDownUris(without), `${name} ${value}`);
      if (JSON.stringify(through).includes('messages')) givenCount += 1;
    }
    for (const argument of declared) {
      const completion = { argument: { name: argument.name, value: '' } };
      const through = client.complete({ ...completion, ref: { type: 'ref/prompt', name: `everything-${name}` } });
      const without = direct.complete({ ...completion, ref: { type: 'ref/prompt', name } });
      t.same(await outcomeOf(through), await outcomeOf(without), `completion of ${name} ${argument.name}`);
    }
  }
  t.ok(givenCount >= own.length, `${givenCount} prompts were given`);
});

t.test('its resources and templates are listed, read and completed as without the gateway', async (t) => {
  const own = (await direct.listResources()).resources;
  t.ok(own.length > 2);
  const { resources } = await client.listResources();
  t.same(
    resources,
    own
      .map((resource) => ({ ...resource, uri: down(resource.uri) }))
      .sort((one, other) => (one.uri < other.uri ? -1 : 1)),
  );
  const templates = (await direct.listResourceTemplates()).resourceTemplates;
  t.ok(templates.length > 0);
  t.same(
    (await client.listResourceTemplates()).resourceTemplates,
    templates
      .map((template) => ({ ...template, uriTemplate: down(template.uriTemplate) }))
      .sort((one, other) => (one.uriTemplate < other.uriTemplate ? -1 : 1)),
  );
  const made = templates.map(({ uriTemplate }) => uriTemplate.replaceAll(/\{\w+\}/g, '1'));
  for (const uri of [...own.map((resource) => resource.uri), ...made, 'demo://none']) {
    const through = await outcomeOf(client.readResource({ uri: down(uri) }));
    t.same(through, withDownUris(await outcomeOf(direct.readResource({ uri }))), uri);
  }
  for (const { uriTemplate } of templates) {
    const argument = { name: /\{(\w+)\}/.exec(uriTemplate)?.[1] ?? '', value: '1' };
    const through = client.complete({ argument, ref: { type: 'ref/resource', uri: down(uriTemplate) } });
    const without = direct.complete({ argument, ref: { type: 'ref/resource', uri: uriTemplate } });
    t.same(await outcomeOf(through), await outcomeOf(without), `completion of ${uriTemplate}`);
  }
});

t.test('resources in the results of its tools can be read', async (t) => {
  const linked = await client.callTool({ name: 'everything-get-resource-links', arguments: { count: 3 } });
  const reference = await client.callTool({
    name: 'everything-get-resource-reference',
    arguments: { resourceType: 'Text', resourceId: 1 },
  });
  const blocks = [linked, reference].flatMap(
    ({ content }) => content as { uri?: string; resource?: { uri: string } }[],
  );
  const uris = blocks.flatMap(({ uri, resource }) => uri ?? resource?.uri ?? []);
  t.ok(uris.length >= 4);
  for (const uri of uris) t.match(await client.readResource({ uri }), { contents: [{ uri }] });
});
