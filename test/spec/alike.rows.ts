// What backends can have in common: URIs, names of prompts and tools, request ids, and names of the backends themselves that differ
// only in case. None of them may be confused.
import t from 'tap';
import { backendFor, forEachDeployment } from '../support/deployment.js';
import { JsonText } from '../support/json-text.js';
import type { McpBackend } from '../support/mcp-backend.js';
import { rpc, type McpSession, type RpcMessage } from '../support/mcp-caller.js';
import { until } from '../support/until.js';

const ALL = { tools: {}, prompts: {}, resources: {} };

/** Holds every response until the given number of requests has arrived, at all backends together. */
class Together {
  readonly #count: number;
  #arrived = 0;

  constructor(count: number) {
    this.#count = count;
  }

  async wait(): Promise<void> {
    this.#arrived += 1;
    await until(() => this.#arrived >= this.#count, `${this.#count} requests at once`);
  }
}

/** A backend with the same contents as the others, whose responses contain its name. */
async function twin(t: Parameters<typeof backendFor>[0], name: string, together?: Together): Promise<McpBackend> {
  const says = (): JsonText => new JsonText(`{"contents":[],"messages":[],"of":${JSON.stringify(name)}}`);
  return backendFor(t, {
    capabilities: ALL,
    tools: ['x'],
    onCall: async () => {
      await together?.wait();
      return { content: [], of: name };
    },
    methods: {
      'prompts/list': () => ({ prompts: [{ name: 'p' }] }),
      'prompts/get': says,
      'resources/list': () => ({
        resources: [
          { uri: 'file:///x', name: 'x' },
          { uri: 'ui://app/x', name: 'y' },
        ],
      }),
      'resources/read': says,
    },
  });
}

async function ask(session: McpSession, method: string, params: unknown = {}, id: unknown = 1): Promise<RpcMessage> {
  return rpc(await session.send(JSON.stringify({ jsonrpc: '2.0', id, method, params })));
}

await forEachDeployment(t, {}, async (t, deployment) => {
  /** Opens a session with backends of these names, whose responses contain their names. */
  const open = async (names: readonly string[], together?: Together): Promise<McpSession> => {
    const backends = await Promise.all(names.map((name) => twin(t, name, together)));
    const entries = names.map((name, index) => [name, { url: backends[index]!.url }] as const);
    return (await deployment.caller(Object.fromEntries(entries))).openSession();
  };

  await t.test('two backends with the same URIs, prompts, tools and concurrent ids are kept apart', async (t) => {
    const names = ['one', 'two'];
    const session = await open(names, new Together(4));
    // The same id also goes twice to the same backend.
    const calls = names.flatMap((name) =>
      [name, name].map(async () => ask(session, 'tools/call', { name: `${name}-x` })),
    );
    const reads = names.map(async (name) => ask(session, 'resources/read', { uri: `${name}+file:///x` }));
    const gets = names.map(async (name) => ask(session, 'prompts/get', { name: `${name}-p` }));
    const of = (messages: readonly RpcMessage[]): unknown[] =>
      messages.map(({ result }) => (result as { of: string }).of);
    t.same(of(await Promise.all(calls)), ['one', 'one', 'two', 'two']);
    t.same(of(await Promise.all(reads)), names);
    t.same(of(await Promise.all(gets)), names);
  });

  await t.test(
    'backend names with _, a space, ., a leading digit or other letters: tools, prompts and URIs reach their backend',
    async (t) => {
      const names = ['a_b', 'a b', 'a.b', '1a', 'é', '日本', '-', '_', 'a-b', 'a', '😀'];
      const session = await open(names);
      t.same(await session.toolNames(), names.map((name) => `${name}-x`).sort());
      const { result } = await ask(session, 'resources/list');
      const uris = (result as { resources: { uri: string }[] }).resources.map(({ uri }) => uri);
      t.equal(new Set(uris).size, 2 * names.length);
      const readFrom: unknown[] = [];
      for (const uri of uris) {
        t.match(uri, /^[A-Za-z][A-Za-z0-9+.-]*:/, 'a scheme');
        readFrom.push(((await ask(session, 'resources/read', { uri })).result as { of: string }).of);
      }
      t.same(readFrom.sort(), [...names, ...names].sort());
      for (const name of names) {
        t.match((await ask(session, 'tools/call', { name: `${name}-x` })).result, { of: name });
        t.match((await ask(session, 'prompts/get', { name: `${name}-p` })).result, { of: name });
      }
    },
  );

  await t.test(
    'backend names that differ only in case are kept apart, even when a client changes the case of a URI',
    async (t) => {
      const names = ['Files', 'files', 'FILES', 'Mail'];
      const session = await open(names);
      t.same(await session.toolNames(), names.map((name) => `${name}-x`).sort());
      for (const name of names) t.match((await ask(session, 'tools/call', { name: `${name}-x` })).result, { of: name });
      const { result } = await ask(session, 'resources/list');
      const uris = (result as { resources: { uri: string }[] }).resources.map(({ uri }) => uri);
      t.equal(new Set(uris.map((uri) => uri.toLowerCase())).size, 2 * names.length, 'unlike in small letters, too');
      t.ok(uris.includes('files+file:///x') && uris.includes('Mail+file:///x'), 'who is alone keeps its letters');
      const readFrom: unknown[] = [];
      for (const uri of uris) {
        const { of } = (await ask(session, 'resources/read', { uri })).result as { of: string };
        readFrom.push(of);
        const small = (await ask(session, 'resources/read', { uri: uri.toLowerCase() })).result;
        t.match(small, { of }, `${uri} in small letters`);
      }
      t.same(readFrom.sort(), [...names, ...names].sort());
      for (const uri of ['Files+file:///x', 'FILES+file:///x', 'ui://Files/app/x']) {
        t.match((await ask(session, 'resources/read', { uri })).error, { code: -32002 }, `${uri} could be either's`);
      }
    },
  );
});
