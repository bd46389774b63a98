// `npm run attack`: builds the program and the attack, and runs it. `--help` is answered without a build.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

if (process.argv.slice(2).some((word) => word === '--help' || word === '-h')) {
  process.stdout.write(readFileSync(new URL('../test/attack/usage.txt', import.meta.url)));
} else {
  for (const tree of ['production', 'test']) {
    const words = [fileURLToPath(new URL('./build.mjs', import.meta.url)), tree];
    const { status } = spawnSync(process.execPath, words, { stdio: 'inherit' });
    if (status !== 0) process.exit(status ?? 1);
  }
  await import('../build/test/attack/main.js');
}
