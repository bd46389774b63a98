// Backends that are down and come back, with or without the sessions they had: real servers, each on a fixed port. The caller's
// session survives all of it.
import t from 'tap';
import { startDemoBackend, type DemoBackend } from '../../demo/demo-backend.js';
import { createCalculator, createWordsmith } from '../../demo/demo-servers.js';
import { startDeployment } from '../support/deployment.js';
import { startEverythingServer } from '../support/everything-server.js';
import { findFreePort } from '../support/free-port.js';
import { rpc } from '../support/mcp-caller.js';
import { until } from '../support/until.js';

const deployment = await startDeployment(t, { workerCount: 2 });
const wordsmith = await startDemoBackend({ createMcpServer: createWordsmith, answerAs: 'event-stream' });
t.teardown(() => wordsmith.close());

async function startCalculator(port: number, answerAs: 'json' | 'event-stream'): Promise<DemoBackend> {
  return startDemoBackend({ createMcpServer: createCalculator, answerAs, port });
}

t.test('a backend that is down at initialize serves the same session once it is up', async (t) => {
  const port = await findFreePort();
  const caller = await deployment.caller({
    calculator: { url: `http://127.0.0.1:${port}/mcp` },
    wordsmith: { url: wordsmith.url },
  });
  const session = await caller.openSession();
  t.match(rpc(session.opening).result, { _meta: { 'switchyard/unavailable': [{ backend: 'calculator' }] } });
  t.same(await session.toolNames(), ['wordsmith-countdown', 'wordsmith-reverse']);
  t.match(rpc(await session.call('calculator-add', '{"a":1,"b":2}')), { error: { message: /calculator/ } });

  const calculator = await startCalculator(port, 'json');
  t.teardown(() => calculator.close());
  await until(async () => rpc(await session.call('calculator-add', '{"a":1,"b":2}')).error === undefined, 'a call');
  t.match(rpc(await session.call('calculator-add', '{"a":19,"b":23}')), { result: { content: [{ text: '42' }] } });
  t.same(await session.toolNames(), ['calculator-add', 'calculator-now', 'wordsmith-countdown', 'wordsmith-reverse']);
});

for (const answerAs of ['json', 'event-stream'] as const) {
  t.test(`a server that answers as ${answerAs} is restarted: the next call and the next list work`, async (t) => {
    const port = await findFreePort();
    let calculator = await startCalculator(port, answerAs);
    t.teardown(() => calculator.close());
    const restart = async (): Promise<void> => {
      await calculator.close();
      calculator = await startCalculator(port, answerAs);
    };
    const session = await (await deployment.caller({ calculator: { url: calculator.url } })).openSession();
    t.match(rpc(await session.call('calculator-add', '{"a":1,"b":2}')), { result: { content: [{ text: '3' }] } });
    await restart();
    t.match(rpc(await session.call('calculator-add', '{"a":2,"b":3}')), { result: { content: [{ text: '5' }] } });
    await restart();
    t.same(await session.toolNames(), ['calculator-add', 'calculator-now']);
    await restart();
    const sums = await Promise.all(
      Array.from({ length: 20 }, async (_, n) => {
        const answer = await session.call('calculator-add', `{"a":${n},"b":100}`, { id: String(n) });
        return rpc(answer).result as { content: { text: string }[] } | undefined;
      }),
    );
    t.same(
      sums.map((result) => result?.content[0]?.text),
      Array.from({ length: 20 }, (_, n) => String(n + 100)),
      'calls that hear of the loss all at once',
    );
  });
}

t.test('a server that refuses lost sessions with 400 is restarted: the next call and the next list work', async (t) => {
  const server = await startEverythingServer(t);
  const session = await (await deployment.caller({ everything: { url: server.url } })).openSession();
  const tools = await session.toolNames();
  t.ok(tools.includes('everything-echo'));
  await server.restart();
  t.match(rpc(await session.call('everything-echo', '{"message":"hi"}')), {
    result: { content: [{ text: 'Echo: hi' }] },
  });
  await server.restart();
  t.same(await session.toolNames(), tools);
});
