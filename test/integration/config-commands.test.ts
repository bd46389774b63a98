// The `switchyard config …` commands, run as a program while a gateway has the embedded store open: every worker obeys a written
// config on the next request. test/cli/user-configs.test.ts tests the commands in each kind of store.
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { backendFor, startDeployment } from '../support/deployment.js';
import { childEnvironment, programPath, runProgram, storeOptionWords } from '../support/gateway.js';
import { McpCaller } from '../support/mcp-caller.js';
import { createScratchDirectory } from '../support/scratch-directory.js';

const SUBJECT = 'alice@example.com';

t.test('every worker obeys a config that `put` has written', async (t) => {
  const backend = await backendFor(t, { tools: ['a', 'b'] });
  const deployment = await startDeployment(t, { workerCount: 2 });
  const path = join(createScratchDirectory(t), 'config.json');
  const put = async (members: object): Promise<void> => {
    const backends = { b: { url: backend.url, ...members } };
    writeFileSync(path, JSON.stringify({ virtual_hosts: { v: { backends } } }));
    const words = ['config', 'put', SUBJECT, path, ...storeOptionWords(deployment.storeOptions)];
    t.match(await runProgram(words), { code: 0, errorOutput: '', output: /Stored the user config of alice@example/ });
  };
  const { gateway } = deployment;
  const caller = new McpCaller(gateway.origin, gateway.path('v'), await deployment.token(SUBJECT));
  t.equal((await caller.initialize()).status, 400, 'nobody wrote a config yet');
  await put({});
  const session = await caller.openSession();
  t.strictSame(await session.toolNames(), ['b-a', 'b-b']);
  await put({ allowed_tool_names: ['a'] });
  // Over fresh connections, so that both workers are asked.
  for (let look = 0; look < 8; look++) t.strictSame(await session.toolNames(), ['b-a']);
});

t.test('check needs no store, and reads standard input', async (t) => {
  const check = (input: string, ...words: string[]) =>
    spawnSync(process.execPath, [programPath(), 'config', 'check', ...words], {
      ...{ input, encoding: 'utf8', env: childEnvironment(), cwd: createScratchDirectory(t) },
    });
  const hostile = check('{"virtual_hosts":{"\u202ev\\u001b[2J":{"backends":{"b":{}}}}}', '-', '--json');
  t.equal(hostile.status, 65);
  t.notMatch(hostile.stdout, /\u202e/);
  t.match(JSON.parse(hostile.stdout), {
    errors: [{ path: ['virtual_hosts', '\u202ev\u001b[2J', 'backends', 'b', 'url'], message: /^is missing \(/ }],
  });
  t.notMatch(check('{"virtual_hosts":{"\u202ev\\u001b[2J":{}}}').stdout, /[\u202e\u001b]/);
});
