// Style and lint of files that differ from the last commit or are not in it yet: what `npm run check` says about them, in less time.
import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

/** Runs in the current folder, because the file names are relative to it. */
function git(...words) {
  const { status, stdout, stderr } = spawnSync('git', words, { encoding: 'utf8' });
  if (status !== 0) {
    process.stderr.write(stderr);
    process.exit(status ?? 1);
  }
  return stdout.split('\0').filter((line) => line !== '');
}

const require = createRequire(import.meta.url);
const programs = {
  prettier: join(dirname(require.resolve('prettier/package.json')), 'bin/prettier.cjs'),
  eslint: join(dirname(require.resolve('eslint/package.json')), 'bin/eslint.js'),
};

function run(program, words) {
  return spawnSync(process.execPath, [programs[program], ...words], { stdio: 'inherit' }).status === 0;
}

const files = [
  ...new Set([
    ...git('diff', '--name-only', '--relative', '--diff-filter=d', '-z', 'HEAD'),
    ...git('ls-files', '--others', '--exclude-standard', '-z'),
  ]),
];
const linted = files.filter((file) => /\.(?:ts|tsx|js|mjs|cjs)$/.test(file));
const isFormatted = files.length === 0 || run('prettier', ['--check', '--ignore-unknown', ...files]);
const isClean = linted.length === 0 || run('eslint', ['--no-warn-ignored', ...linted]);
if (files.length === 0) console.log('nothing differs from the last commit');
process.exit(isFormatted && isClean ? 0 : 1);
