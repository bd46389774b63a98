// A process that runs several test files one after the other, each as a subtest with the file's name: tap, and what the files
// have in common, is loaded once for all of them. The names come in the environment, as tap makes names of what the arguments say.
import { register } from 'node:module';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import t from 'tap';
import { setTestOf } from './tests-by-file.js';

const { TEST_FILES = '[]', TAP_TIMEOUT = '30' } = process.env;
delete process.env['TEST_FILES'];
const names = JSON.parse(TEST_FILES) as readonly string[];
const urls = names.map((name) => pathToFileURL(resolve(name)).href);
register(new URL('./file-tap-hook.js', import.meta.url), { data: urls });

// The bound is that of each file.
t.setTimeout(0);
for (const [at, name] of names.entries()) {
  const url = urls[at] ?? '';
  void t.test(name, { timeout: Number(TAP_TIMEOUT) * 1_000 }, async (t) => {
    setTestOf(url, t);
    // While the other thread resolves imports nothing else may keep the process alive.
    const alive = setInterval(() => {}, 60_000);
    await import(url).finally(() => clearInterval(alive));
  });
}
