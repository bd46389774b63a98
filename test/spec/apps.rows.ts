// MCP Apps: pages that belong to tools of a backend. A page knows nothing of the gateway: it calls tools by its server's own names and
// reads its server's own URIs; the host finds the page by what the gateway has listed.
import t from 'tap';
import { backendFor, forEachDeployment } from '../support/deployment.js';
import type { McpBackend } from '../support/mcp-backend.js';
import { rpc, type McpSession } from '../support/mcp-caller.js';
import { ask } from '../support/modern-caller.js';
import type { HttpAnswer } from '../support/raw-http.js';

interface Tool {
  readonly name: string;
  readonly _meta?: object;
}

const tool = (name: string, more?: object): Record<string, unknown> => ({
  name,
  inputSchema: { type: 'object' },
  ...more,
});

/** A server with an app as the official examples make it, which do not declare the extension. */
async function appBackend(
  t: Parameters<typeof backendFor>[0],
  app: string,
  ...others: Record<string, unknown>[]
): Promise<McpBackend> {
  const uri = `ui://${app}/page.html`;
  const meta = { ui: { resourceUri: uri }, 'ui/resourceUri': uri, 'openai/outputTemplate': uri };
  return backendFor(t, {
    capabilities: { tools: {}, resources: {} },
    tools: [
      tool(`show-${app}`, { _meta: meta }),
      tool(`poll-${app}`, { _meta: { ui: { visibility: ['app'] } } }),
      tool(`ask-${app}`, { _meta: { ui: { visibility: ['model'] } } }),
      tool('refresh'),
      ...others,
    ],
    onCall: ({ name }) => ({
      content: [{ type: 'resource_link', uri, name: 'page' }],
      structuredContent: { by: app, name },
      _meta: { ui: { resourceUri: uri }, 'ui/resourceUri': uri },
    }),
    methods: {
      'resources/list': () => ({ resources: [{ uri, name: 'page' }] }),
      'resources/read': (params = '{}') => ({
        contents: [{ uri: (JSON.parse(params) as { uri: string }).uri, text: app }],
      }),
    },
  });
}

async function post(session: McpSession, method: string, params: object = {}): Promise<HttpAnswer> {
  return session.send(JSON.stringify({ jsonrpc: '2.0', id: 5, method, params }));
}

await forEachDeployment(t, {}, async (t, deployment) => {
  await t.test('the URIs of pages have one form in lists and in results', async (t) => {
    const backend = await appBackend(t, 'clock');
    const session = await (await deployment.caller({ one: { url: backend.url } })).openSession();
    const { tools } = rpc(await post(session, 'tools/list')).result as { tools: Tool[] };
    const uri = 'ui://one/clock/page.html';
    const everywhere = { ui: { resourceUri: uri }, 'ui/resourceUri': uri };
    t.same(tools.find(({ name }) => name === 'one-show-clock')?._meta, {
      ...everywhere,
      'openai/outputTemplate': uri,
    });
    const { result } = rpc(await session.call('one-show-clock'));
    t.match(result, { content: [{ uri }], _meta: everywhere });
    t.match(rpc(await post(session, 'resources/read', { uri })).result, { contents: [{ uri, text: 'clock' }] });
  });

  await t.test('a page calls its server’s tools and reads its page by the server’s own names', async (t) => {
    const [clock, paint] = [await appBackend(t, 'clock'), await appBackend(t, 'paint')];
    const plain = await backendFor(t, { tools: ['plain'] });
    const caller = await deployment.caller({
      one: { url: clock.url },
      two: { url: paint.url },
      three: { url: plain.url },
    });
    const session = await caller.openSession();
    await post(session, 'tools/list');
    const call = async (name: string, of: McpSession = session): Promise<unknown> => rpc(await of.call(name));
    for (const name of ['show-clock', 'poll-clock'])
      t.match(await call(name), { result: { structuredContent: { by: 'clock', name } } }, name);
    t.match(await call('show-paint'), { result: { structuredContent: { by: 'paint' } } });
    const uri = 'ui://paint/page.html';
    t.match(rpc(await post(session, 'resources/read', { uri })), {
      result: { contents: [{ uri: 'ui://two/paint/page.html', text: 'paint' }] },
    });
    t.match(await call('refresh'), { error: { code: -32602, message: /refresh.* one, two$/ } }, 'of both');
    t.match(await call('ask-clock'), { error: { message: 'Unknown tool: ask-clock' } }, 'not for apps');
    t.match(await call('plain'), { error: { message: 'Unknown tool: plain' } }, 'a backend without apps');
    t.match(rpc(await post(session, 'resources/read', { uri: 'ui://other/page' })), { error: { code: -32002 } });
  });

  await t.test('a page reaches nothing that an allow-list or curation withholds', async (t) => {
    const backend = await appBackend(t, 'clock', tool('secret'), tool('renamed'));
    const url = backend.url;
    const limited = await (
      await deployment.caller({ one: { url, allowed_tool_names: ['show-clock'], allowed_resource_names: ['other'] } })
    ).openSession();
    await post(limited, 'tools/list');
    t.match(rpc(await limited.call('show-clock')), { result: {} });
    t.match(rpc(await limited.call('poll-clock')), { error: { message: 'Unknown tool: poll-clock' } });
    t.match(rpc(await post(limited, 'resources/read', { uri: 'ui://clock/page.html' })), { error: { code: -32002 } });
    const curated = await (
      await deployment.caller({ one: { url, tools: { secret: { hidden: true }, renamed: { name: 'other' } } } })
    ).openSession();
    await post(curated, 'tools/list');
    t.match(rpc(await curated.call('secret')), { error: { message: 'Unknown tool: secret' } });
    t.match(rpc(await curated.call('renamed')), { result: { structuredContent: { name: 'renamed' } } });
    t.notOk(backend.requestsOf('tools/call').some(({ text }) => /secret|poll-clock/.test(text)));
  });

  await t.test('tools with a page stay listed where tools are searched for, as hosts show no other page', async (t) => {
    const flat = tool('draw-flat', { _meta: { 'ui/resourceUri': 'ui://flat/page.html' } });
    const template = tool('draw-template', { _meta: { 'openai/outputTemplate': 'ui://flat/page.html' } });
    const [clock, paint] = [await appBackend(t, 'clock'), await appBackend(t, 'paint', flat, template)];
    const shadow = { ...flat, name: 'find_tools', description: 'theirs' };
    const bare = await backendFor(t, { tools: [shadow, 'plain'], capabilities: { tools: {} } });
    const large = await appBackend(t, 'large', tool('filler', { description: 'x'.repeat(300_000) }));
    const curated = { 'draw-flat': { name: 'flat' }, 'draw-template': { hidden: true } };
    const caller = await deployment.caller(
      {
        one: { url: clock.url },
        two: { url: paint.url, tools: curated },
        three: { url: bare.url, prefix: '' },
      },
      { exposure: 'search' },
    );
    const session = await caller.openSession();
    const listed = ['call_tool', 'find_tools', 'one-show-clock', 'two-flat', 'two-show-paint'];
    const { tools } = rpc(await post(session, 'tools/list')).result as { tools: Tool[] };
    t.same(
      tools.map(({ name }) => name),
      listed,
    );
    t.match(tools[2]?._meta, { ui: { resourceUri: 'ui://one/clock/page.html' } });
    t.notMatch(JSON.stringify(tools), /theirs/, 'no backend’s tool takes the place of ours');
    const { result } = rpc(await ask(caller, 'tools/list'));
    t.same(
      (result as { tools: Tool[] }).tools.map(({ name }) => name),
      listed,
    );
    await caller.configure({ one: { url: clock.url }, large: { url: large.url } }, { exposure: 'search' });
    const another = await caller.openSession();
    t.same(await another.toolNames(), ['call_tool', 'find_tools', 'large-show-large', 'one-show-clock']);
    t.match(rpc(await another.call('poll-clock')), { result: { structuredContent: { by: 'clock' } } }, 'as listed');
  });

  await t.test('find_tools finds no tools that are for apps only', async (t) => {
    const backend = await appBackend(t, 'clock');
    const caller = await deployment.caller({ one: { url: backend.url } }, { exposure: 'search' });
    const session = await caller.openSession();
    const { result } = rpc(await session.call('find_tools', '{"query":"clock"}'));
    const { tools } = (result as { structuredContent: { tools: Tool[] } }).structuredContent;
    t.same(tools.map(({ name }) => name).sort(), ['one-ask-clock', 'one-show-clock']);
    t.match(rpc(await session.call('poll-clock')), { result: {} }, 'the page still calls them');
  });
});
