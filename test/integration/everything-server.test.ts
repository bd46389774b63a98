// The reference server of the Model Context Protocol behind the gateway, used by the SDK's client.
import t from 'tap';
import { startDeployment } from '../support/deployment.js';
import { startEverythingServer } from '../support/everything-server.js';
import { connectSdkClient } from '../support/sdk-client.js';

const server = await startEverythingServer(t);
const deployment = await startDeployment(t, { workerCount: 4 });
const caller = await deployment.caller({ everything: { url: server.url } });
const { client } = await connectSdkClient(t, caller.origin + caller.path, caller.token);
const { client: direct } = await connectSdkClient(t, server.url, undefined);

t.test('its tools are listed as it lists them, but for the prefix', async (t) => {
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
