// A process that runs several test files one after the other, each as a subtest with the file's name: tap and common modules are
// loaded only once. The names come in the environment, because tap derives test names from the arguments.
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

// Each file has a timeout of its own.
t.setTimeout(0);
for (const [at, name] of names.entries()) {
  const url = urls[at] ?? '';
  void t.test(name, { timeout: Number(TAP_TIMEOUT) * 1_000 }, async (t) => {
    setTestOf(url, t);
    // While the loader thread resolves imports, nothing else may be keeping the process alive.
    const alive = setInterval(() => {}, 60_000);
    await import(url).finally(() => clearInterval(alive));
  });
}
