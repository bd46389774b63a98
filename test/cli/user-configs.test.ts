// What the commands about user configs do in each store, without a program around them.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { CliFault } from '../../src/cli/cli-fault.js';
import { perform } from '../../src/cli/user-configs.js';
import type { StoreOptions } from '../../src/config/dataplane-options.js';
import { startRedis } from '../support/redis.js';
import { createScratchDirectory } from '../support/scratch-directory.js';

const url = 'https://b.example/mcp';

function writeFile(t: Test, backend: object): string {
  const path = join(createScratchDirectory(t), 'config.json');
  writeFileSync(path, JSON.stringify({ virtual_hosts: { v: { backends: { b: { url, ...backend } } } } }));
  return path;
}

const stores: Readonly<Record<string, (t: Test) => Promise<StoreOptions>>> = {
  embedded: async (t) => ({ kind: 'embedded', path: join(createScratchDirectory(t), 'store') }),
  redis: async (t) => (await startRedis(t)).storeOptions,
};

for (const [kind, start] of Object.entries(stores)) {
  t.test(kind, async (t) => {
    const store = await start(t);
    const subject = 'alice@example.com';
    const [wide, narrow] = [writeFile(t, {}), writeFile(t, { allowed_tool_names: ['a'] })];
    const put = async (file: string, expectedDigest?: string) =>
      perform({ command: 'config put', subject, file, store, expectedDigest });
    const digest = async (): Promise<string> => {
      const { answer } = await perform({ command: 'config get', subject, store });
      return (answer as { digest: string }).digest;
    };

    const stored = await put(wide);
    t.match(stored, { text: /^Stored the user config of alice@example\.com in the / });
    t.match(stored.answer, { subject, digest: await digest(), errors: [], isStored: true });
    t.same((await perform({ command: 'config get', subject, store })).text, readFileSync(wide), 'to the byte');
    const before = await digest();
    await put(narrow, before);
    await t.rejects(put(wide, before), { name: CliFault.name, exitStatus: 75, message: /not what you expect/ });
    await t.rejects(put(wide, 'none'), { name: 'CliFault', exitStatus: 75 });
    t.same((await perform({ command: 'config get', subject, store })).text, readFileSync(narrow));

    const refused = await put(writeFile(t, { allowed_tools: ['a'] }));
    t.match(refused, {
      text: /b\.allowed_tools: is not known; is it allowed_tool_names\?\nNothing was stored\.\n$/,
      exitStatus: 65,
      answer: { isStored: false, errors: [{ meant: 'allowed_tool_names' }] },
    });
    t.same((await perform({ command: 'config get', subject, store })).text, readFileSync(narrow));

    t.match(await perform({ command: 'config list', store }), { answer: [subject], text: `${subject}\n` });
    const remove = { command: 'config delete', subject, store } as const;
    await t.rejects(perform({ ...remove, expectedDigest: before }), { name: 'CliFault', exitStatus: 75 });
    await perform({ ...remove, expectedDigest: undefined });
    await t.rejects(perform({ ...remove, expectedDigest: undefined }), { name: 'CliFault', exitStatus: 66 });
    await t.rejects(perform({ command: 'config get', subject, store }), { name: 'CliFault', exitStatus: 66 });
  });
}

t.test('where there is no embedded store, none is looked into', async (t) => {
  const store: StoreOptions = { kind: 'embedded', path: join(createScratchDirectory(t), 'store') };
  await t.rejects(perform({ command: 'config list', store }), {
    exitStatus: 66,
    message: /there is no embedded store in .*; name another with --store-path/,
  });
});
