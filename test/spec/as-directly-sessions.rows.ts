// The sessions that a server begins, keeps and loses: a client has as many through the gateway as directly, and learns as much of them.
import { isDeepStrictEqual } from 'node:util';
import {
  LATEST_PROTOCOL_VERSION,
  LoggingMessageNotificationSchema,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import type { Client as ModernClient } from '@modelcontextprotocol/client';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import t from 'tap';
import { backendFor, forEachDeployment } from '../support/deployment.js';
import { type McpBackend } from '../support/mcp-backend.js';
import { callTool, envelope } from '../support/modern-caller.js';
import { readEvents } from '../support/event-stream.js';
import { memberText } from '../support/json-text.js';
import { ModernSdkServer } from '../support/modern-sdk-server.js';
import { connectSdkClient } from '../support/sdk-client.js';
import { until } from '../support/until.js';
import { errorFor, type Oddity, startOddServer, withStatus, ignore, startNodes } from '../support/odd-server.js';
import { use, connectWithCookies, connectNewClient } from '../support/direct-clients.js';

/** What a client hears of a tool that adds another one, and has of it. */
async function grown(
  client: Pick<Client, 'listTools' | 'callTool'> | ModernClient,
  isHeard: () => boolean,
  prefix: string,
): Promise<unknown> {
  await client.callTool({ name: `${prefix}grow` });
  await until(isHeard, 'the announcement');
  const names = (await client.listTools()).tools.map(({ name }) => name.slice(prefix.length)).sort();
  return { names, said: (await client.callTool({ name: `${prefix}grown` })).content };
}

async function countTwice(client: Pick<Client, 'callTool'> | ModernClient, name: string): Promise<unknown[]> {
  const counted: unknown[] = [];
  for (let call = 0; call < 2; call++) {
    const { content } = await client.callTool({ name });
    counted.push((content as { text: string }[])[0]?.text);
  }
  return counted;
}

/** How servers say that they do not know a session; `undefined`: with 404, as the specification has it. */
const REFUSALS_OF_LOST: Readonly<Record<string, Oddity['refusesLost'] | undefined>> = {
  'with 404': undefined,
  'with 400, not initialized': () => errorFor('null', 400, -32000, 'Bad Request: Server not initialized'),
  'with 400, as text': () => ({ status: 400, type: 'text/plain', body: 'Invalid or missing session ID' }),
  'with 401': () => ({ status: 401, type: 'text/plain', body: 'Unknown session' }),
  'with 200': (id) => errorFor(id, 200, -32001, 'Session not found'),
  'with 503, as text': () => ({ status: 503, type: 'text/plain', body: 'Session not found, the server has restarted' }),
};

await forEachDeployment(t, {}, async (t, deployment) => {
  for (const [how, status] of [
    ['in answers', 400],
    ['in a text with 503', 503],
  ] as const)
    await t.test(
      `as directly: a client that comes when the server has lost all sessions, as it says ${how}`,
      async (t) => {
        const backend: McpBackend = await backendFor(t, {
          withSessions: true,
          onRequest: async (request) => {
            const [session, id] = [request.headers['mcp-session-id'], memberText(request.text, 'id')];
            if (session === undefined || id === undefined || backend.sessions.has(session)) return false;
            const error = { code: -32600, message: 'Invalid Request: Session not found' };
            const answer = { jsonrpc: '2.0', id: JSON.parse(id) as unknown, error };
            request.json(status === 503 ? 'Unknown MCP session, the server has restarted' : answer, { status });
            return true;
          },
        });
        const caller = await deployment.caller({ odd: { url: backend.url } });
        const through = [deployment.gateway.url(caller.virtualHostId), caller.token, 'odd-'] as const;
        for (const [url, token, prefix] of [[backend.url, undefined, ''] as const, through]) {
          for (const comes of ['first', 'later']) {
            const client = await connectNewClient(t, url, token);
            t.match(await client.callTool({ name: `${prefix}echo` }), { content: [{}] }, `${url}, ${comes}`);
            backend.forgetSessions();
          }
        }
      },
    );

  for (const [how, refusesLost] of Object.entries(REFUSALS_OF_LOST))
    await t.test(
      `as directly: a client that goes on when the server was started again, and says so ${how}`,
      async (t) => {
        const oddity: Oddity = { isJson: true, ...(refusesLost && { refusesLost }) };
        const direct = await startOddServer(t, oddity);
        const { client: old } = await connectSdkClient(t, direct.url, undefined);
        const before = await countTwice(old, 'count');
        direct.forgetSessions();
        await t.rejects(old.callTool({ name: 'count' }), 'directly, a session that is lost is an error');
        const { client: again } = await connectSdkClient(t, direct.url, undefined);
        const expected = [before, await countTwice(again, 'count')];
        t.same(
          expected,
          [
            ['1', '2'],
            ['1', '2'],
          ],
          'and a new one begins from the start',
        );

        const behind = await startOddServer(t, oddity);
        const caller = await deployment.caller({ odd: { url: behind.url } });
        const url = deployment.gateway.url(caller.virtualHostId);
        for (const isNew of [false, true]) {
          const connect = async (): Promise<Client | ModernClient> =>
            isNew ? connectNewClient(t, url, caller.token) : (await connectSdkClient(t, url, caller.token)).client;
          const client = await connect();
          const begun = behind.begunCount();
          const counted = [await countTwice(client, 'odd-count')];
          behind.forgetSessions();
          counted.push(await countTwice(client, 'odd-count'));
          t.same(
            counted,
            expected,
            `through the gateway without an error, each call once, ${isNew ? 'both revisions' : 'with a session'}`,
          );
          t.equal(behind.begunCount() - begun, 1, 'one session more');
          await client.close();
        }
      },
    );

  await t.test('as directly: a new client of a server that has lost all sessions, and does not say so', async (t) => {
    const refusals: readonly [status: number, text: string][] = [
      [400, 'Bad Request'],
      [410, ''],
      [500, '<h1>Internal Server Error</h1>'],
    ];
    for (const [status, text] of refusals) {
      const backend: McpBackend = await backendFor(t, {
        withSessions: true,
        onRequest: (request) => {
          const session = request.headers['mcp-session-id'];
          if (session === undefined || backend.sessions.has(session)) return false;
          request.json(text, { status, headers: { 'content-type': 'text/html' } });
          return true;
        },
      });
      const caller = await deployment.caller({ odd: { url: backend.url } });
      const through = [deployment.gateway.url(caller.virtualHostId), caller.token, 'odd-'] as const;
      for (const [url, token, prefix] of [[backend.url, undefined, ''] as const, through]) {
        const name = `${prefix}echo`;
        const old = await connectNewClient(t, url, token);
        t.match(await old.callTool({ name }), { content: [{}] });
        backend.forgetSessions();
        await t.rejects(old.callTool({ name }), `${status}: the lost session`);
        const client = await connectNewClient(t, url, token);
        const isServed = (): Promise<boolean> =>
          client.callTool({ name }).then(
            () => true,
            () => false,
          );
        await until(
          isServed,
          `${status}: a call of a new client, ${prefix === '' ? 'directly' : 'through the gateway'}`,
        );
      }
    }
  });

  await t.test('as directly: how often a tool runs whose result comes with 404, and in which session', async (t) => {
    for (const isJson of [true, false]) {
      const direct = { isMissing: false };
      const through = { isMissing: false };
      const oddityOf = (state: { isMissing: boolean }): Oddity => ({
        isJson,
        changes: (response) => state.isMissing && withStatus(404)(response),
      });
      const runs = async (state: { isMissing: boolean }, client: Client, name: string): Promise<unknown> => {
        t.match(await client.callTool({ name }), { content: [{ text: '1' }] });
        state.isMissing = true;
        const results = [];
        for (let call = 0; call < 2; call++)
          results.push(await client.callTool({ name }).then(({ content }) => content, ignore));
        state.isMissing = false;
        return { results, last: (await client.callTool({ name })).content };
      };
      const server = await startOddServer(t, oddityOf(direct));
      const expected = await runs(direct, (await connectSdkClient(t, server.url, undefined)).client, 'count');
      const last = [{ type: 'text', text: '4' }];
      t.same(expected, { results: [undefined, undefined], last }, 'directly: once a call, but its results are errors');
      const behind = await startOddServer(t, oddityOf(through));
      const caller = await deployment.caller({ odd: { url: behind.url } });
      const url = deployment.gateway.url(caller.virtualHostId);
      const results = ['2', '3'].map((count) => [{ type: 'text', text: count }]);
      const { client } = await connectSdkClient(t, url, caller.token);
      t.same(await runs(through, client, 'odd-count'), { results, last }, 'through the gateway: as often, and told');
      t.equal(behind.sessionCount(), 1);
    }
  });

  await t.test('as directly: a client of the one version with which a server begins a session', async (t) => {
    const demands = '2025-06-18';
    const connect = async (url: string, token?: string): Promise<Client> => {
      const fetchOld: typeof globalThis.fetch = (target, given = {}) => {
        const body = typeof given.body === 'string' ? given.body.replace(LATEST_PROTOCOL_VERSION, demands) : null;
        return globalThis.fetch(target, body === null ? given : { ...given, body });
      };
      const client = new Client({ name: 'integration', version: '1' });
      const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
      const transport = new StreamableHTTPClientTransport(new URL(url), { fetch: fetchOld, requestInit: { headers } });
      await client.connect(transport);
      t.teardown(() => client.close());
      return client;
    };
    const direct = await startOddServer(t, { demands });
    await t.rejects(connectSdkClient(t, direct.url, undefined), /Unsupported protocol version/, 'directly, the newest');
    const expected = await use(await connect(direct.url), '');
    t.same(expected, { tools: ['count', 'report'], counted: ['1', '2', '3', '4'] }, 'directly, its own');
    for (const connects of [connect, async (...to: [string, string]) => (await connectSdkClient(t, ...to)).client]) {
      const behind = await startOddServer(t, { demands });
      const caller = await deployment.caller({ odd: { url: behind.url } });
      const client = await connects(deployment.gateway.url(caller.virtualHostId), caller.token);
      t.same(await use(client, 'odd-'), expected, 'through the gateway, either');
    }
  });

  await t.test('as directly: a balancer that keeps a session at its node by a cookie', async (t) => {
    const direct = await startNodes(t);
    const expected = await use(await connectWithCookies(t, direct.url), '');
    t.same(expected, { tools: ['count', 'report'], counted: ['1', '2', '3', '4'] }, 'directly');
    t.same(direct.sessionCounts(), [1, 0]);
    const behind = await startNodes(t);
    const caller = await deployment.caller({ odd: { url: behind.url } });
    for (const counts of [
      [1, 0],
      [1, 1],
    ]) {
      const { client } = await connectSdkClient(t, deployment.gateway.url(caller.virtualHostId), caller.token);
      t.same(await use(client, 'odd-'), expected, 'through the gateway');
      t.same(behind.sessionCounts(), counts, 'the next session is free to go to the other node');
    }
  });

  await t.test('as directly: a server that logs only once its session was told a level', async (t) => {
    const logged = async (client: Client, name: string): Promise<string[]> => {
      const heard: string[] = [];
      client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => void heard.push(params.level));
      await client.setLoggingLevel('info');
      await client.callTool({ name });
      return heard;
    };
    const direct = await startOddServer(t, { logs: true });
    t.same(
      await logged((await connectSdkClient(t, direct.url, undefined)).client, 'log'),
      ['info', 'error'],
      'directly',
    );
    const behind = await startOddServer(t, { logs: true });
    const caller = await deployment.caller({ odd: { url: behind.url } });
    const through = await connectSdkClient(t, deployment.gateway.url(caller.virtualHostId), caller.token);
    t.same(await logged(through.client, 'odd-log'), ['info', 'error'], 'through the gateway');
    const levelsHeard = async (level: string): Promise<(string | undefined)[]> => {
      const meta = envelope('{}', `"io.modelcontextprotocol/logLevel":"${level}"`);
      return readEvents((await callTool(caller, 'odd-log', '{}', { meta })).body)
        .map((text) => memberText(text, 'params'))
        .filter((params) => params !== undefined)
        .map((params) => memberText(params, 'level'));
    };
    // The server is told while it is called, and nobody waits for it.
    for (const [level, expected] of [
      ['error', ['"error"']],
      ['info', ['"info"', '"error"']],
      ['error', ['"error"']],
    ] as const)
      await until(
        async () => isDeepStrictEqual(await levelsHeard(level), expected),
        `a client of 2026-07-28: ${level}`,
      );
  });

  await t.test('as directly: a tool that adds a tool to its session is heard of in that session', async (t) => {
    const outcome = async (
      url: string,
      token: string | undefined,
      prefix: string,
      isNew: boolean,
    ): Promise<unknown> => {
      let count = 0;
      const onHeard = (): void => void (count += 1);
      const isHeard = (): boolean => count > 0;
      if (isNew) return grown(await connectNewClient(t, url, token, onHeard), isHeard, prefix);
      const { client } = await connectSdkClient(t, url, token);
      client.setNotificationHandler(ToolListChangedNotificationSchema, onHeard);
      return grown(client, isHeard, prefix);
    };
    for (const isNew of [false, true]) {
      const direct = await startOddServer(t, { grows: true });
      const expected = await outcome(direct.url, undefined, '', isNew);
      t.same(
        expected,
        { names: ['count', 'grow', 'grown', 'report'], said: [{ type: 'text', text: 'hello' }] },
        'directly',
      );
      const behind = await startOddServer(t, { grows: true });
      const caller = await deployment.caller({ odd: { url: behind.url } });
      const url = deployment.gateway.url(caller.virtualHostId);
      t.same(
        await outcome(url, caller.token, 'odd-', isNew),
        expected,
        `through the gateway, ${isNew ? 'both revisions' : 'with a session'}`,
      );
    }
  });

  await t.test('as directly: a client that knows both revisions counts in one session of the server', async (t) => {
    const direct = await startOddServer(t, {});
    const expected = await use(await connectNewClient(t, direct.url, undefined), '');
    t.same(expected, { tools: ['count', 'report'], counted: ['1', '2', '3', '4'] }, 'directly');
    t.same([direct.begunCount(), direct.deleteCount()], [1, 0], 'of which none is ended before the client ends');
    const behind = await startOddServer(t, {});
    const sessionless = await ModernSdkServer.start(t, {
      fill: (server) => server.registerTool('say', {}, () => ({ content: [{ type: 'text', text: 'hello' }] })),
    });
    const caller = await deployment.caller({ odd: { url: behind.url }, new: { url: sessionless.url } });
    const client = await connectNewClient(t, deployment.gateway.url(caller.virtualHostId), caller.token);
    t.equal(client.getNegotiatedProtocolVersion(), '2026-07-28');
    const counted: unknown[] = [];
    for (let call = 0; call < 16; call++) {
      const { tools } = await client.listTools();
      t.same(tools.map(({ name }) => name).sort(), ['new-say', 'odd-count', 'odd-report']);
      const { content } = await client.callTool({ name: 'odd-count' });
      counted.push((content as { text: string }[])[0]?.text);
      t.match(await client.callTool({ name: 'new-say' }), { content: [{ text: 'hello' }] });
    }
    t.same(
      counted,
      Array.from({ length: 16 }, (_, call) => String(call + 1)),
      'through the gateway',
    );
    t.same([behind.begunCount(), behind.deleteCount()], [1, 0], 'none is begun only to be ended');
  });
});
