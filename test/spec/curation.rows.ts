// Tools and prompts as a user config shows them: renamed, with arguments fixed and hidden, under another prefix. On any worker, in
// small and large lists and calls; byte for byte except for what the config says.
import t from 'tap';
import { backendFor, forEachDeployment } from '../support/deployment.js';
import { JsonText, memberText } from '../support/json-text.js';
import { answerText, rpc } from '../support/mcp-caller.js';

const echo = new JsonText(
  '{ "n" : 1.0, "name" :"echo" ,"description":"old","inputSchema":{"type":"object","properties":{"v":{"type":"number"} , "t":{"big":12345678901234567890}},"required":["v","t"]} }',
);
const shownEcho =
  '{ "n" : 1.0, "name" :"p-say" ,"description":"Says \\"it\\"","inputSchema":{"type":"object","properties":{"t":{"big":12345678901234567890}},"required":["t"]} }';
const other = new JsonText(
  '{"inputSchema":{"type":"object","properties":{"v":{"const":1.0}},"required":["v"]},"name":"\\u006fther"}',
);
const shownOther =
  '{"inputSchema":{"type":"object","properties":{"v":{"const":1.0}},"required":["v"]},"name":"p-\\u006fther"}';
const tools = {
  echo: { name: 'say', description: 'Says "it"', fixed_arguments: { v: 7 } },
  secret: { hidden: true },
};
/** Makes a list too large to be merged on the event loop. */
const FILLER = new JsonText(`{"name":"filler","inputSchema":{"type":"object"},"d":"${'x'.repeat(400_000)}"}`);

await forEachDeployment(t, {}, async (t, deployment) => {
  await t.test('tools are listed and called as the config has them, on any worker', async (t) => {
    const backend = await backendFor(t, { tools: [echo, 'secret', other] });
    const plain = await backendFor(t, { tools: ['x'] });
    const caller = await deployment.caller({ b: { url: backend.url, prefix: 'p', tools }, c: { url: plain.url } });
    const session = await caller.openSession();
    // Each has a connection of its own: with four workers most of them take a hop.
    for (let round = 0; round < 4; round += 1) {
      const list = memberText(answerText(await session.list()), 'result', 'tools') ?? '';
      t.ok(list.endsWith(`${shownOther},${shownEcho}]`), list);
      t.match(rpc(await session.call('p-say', '{ "t":1.50,"t":2 }')), { result: {} });
      t.equal(backend.calls.at(-1)?.name, 'echo');
      t.equal(backend.calls.at(-1)?.argumentsText, '{"v":7, "t":1.50,"t":2 }');
      t.match(rpc(await session.call('p-other', '{"v":1.0}')), { result: {} });
      t.equal(backend.calls.at(-1)?.argumentsText, '{"v":1.0}');
    }
    for (const name of ['p-echo', 'p-secret', 'b-say', 'b-echo', 'say'])
      t.match(rpc(await session.call(name)), { error: { code: -32602, message: `Unknown tool: ${name}` } });
    t.match(rpc(await session.call('p-say', '{"V":1}')), {
      error: { code: -32602, message: 'Argument not accepted: V' },
    });
    const twice = '{"name":"p-say","arguments":{},"arguments":{"v":1}}';
    const answer = rpc(await session.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${twice}}`));
    t.match(answer, { error: { code: -32602, message: /^Invalid arguments of tools\/call/ } });
    t.equal(backend.calls.length, 8, 'nothing that was refused has reached it');
  });

  await t.test('in large lists and calls, too', async (t) => {
    const backend = await backendFor(t, { tools: [FILLER, echo, other] });
    const session = await (await deployment.caller({ b: { url: backend.url, prefix: 'p', tools } })).openSession();
    const list = memberText(answerText(await session.list()), 'result', 'tools');
    t.ok(list === `[${FILLER.text.replace('filler', 'p-filler')},${shownOther},${shownEcho}]`);
    const args = `{ "t":"${'x'.repeat(3_000_000)}" }`;
    t.match(rpc(await session.call('p-say', args)), { result: {} });
    t.ok(backend.calls.at(-1)?.argumentsText === args.replace('{', '{"v":7,'));
  });

  await t.test('a batch, progress and a completion use the same names', async (t) => {
    const backend = await backendFor(t, {
      tools: [echo],
      capabilities: { tools: {}, prompts: {}, completions: {} },
      methods: {
        'prompts/list': () => new JsonText('{"prompts":[{"name":"hi","arguments":[{"name":"l"},{"name":"who"}]}]}'),
        'prompts/get': (params = '') => new JsonText(`{"messages":[],"asked":${params}}`),
        'completion/complete': (params = '') => new JsonText(`{"completion":{"values":[]},"asked":${params}}`),
      },
    });
    const prompts = { hi: { name: 'greet', fixed_arguments: { l: 'de' } } };
    const session = await (
      await deployment.caller({ b: { url: backend.url, prefix: '', tools, prompts } })
    ).openSession();
    const ask = async (method: string, params: string): Promise<string | undefined> => {
      const text = answerText(await session.send(`{"jsonrpc":"2.0","id":1,"method":"${method}","params":${params}}`));
      return memberText(text, 'result', 'asked') ?? memberText(text, 'result') ?? text;
    };
    t.equal(await ask('prompts/list', '{}'), '{"prompts":[{"name":"greet","arguments":[{"name":"who"}]}]}');
    t.equal(await ask('prompts/get', '{"name":"greet"}'), '{"name":"hi","arguments":{"l":"de"}}');
    const complete = (name: string, argument: string): string =>
      `{"ref":{"type":"ref/prompt","name":"${name}"},"argument":{"name":"${argument}","value":""}}`;
    t.equal(await ask('completion/complete', complete('greet', 'who')), complete('hi', 'who'));
    t.match(await ask('completion/complete', complete('greet', 'l')), /Argument not accepted: l/);
    const progress = '{"name":"say","arguments":{"t":1},"_meta":{"progressToken":"p"}}';
    await ask('tools/call', progress);
    t.equal(
      memberText(backend.calls.at(-1)!.request.text, 'params'),
      '{"name":"echo","arguments":{"v":7,"t":1},"_meta":{"progressToken":"p"}}',
    );
  });

  await t.test('a changed config is obeyed by the next request', async (t) => {
    const backend = await backendFor(t, { tools: [echo] });
    const caller = await deployment.caller({ b: { url: backend.url } });
    const session = await caller.openSession();
    t.same(await session.toolNames(), ['b-echo']);
    await caller.configure({ b: { url: backend.url, prefix: '', tools } });
    t.same(await session.toolNames(), ['say']);
    t.match(rpc(await session.call('echo')), { error: { message: 'Unknown tool: echo' } });
    await caller.configure({ b: { url: backend.url, tools: { echo: { nam: 'x' } } } });
    t.equal((await session.list()).status, 500, 'what cannot be meant is refused as a whole');
  });
});
