// What shells offer: the words that fit, by the real program, and what a real bash makes of them.
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { programPath } from '../support/gateway.js';
import { createScratchDirectory } from '../support/scratch-directory.js';

const NO_FILES = ':4';
const FILES = ':0';

function run(...words: string[]) {
  return spawnSync(process.execPath, [programPath('production'), ...words], { encoding: 'utf8' });
}

/** The words that fit, without what they mean, and whether files do. */
function offered(...words: string[]): string[] {
  const { stdout } = run('complete', '--', ...words);
  return stdout.split('\n').flatMap((line) => (line === '' ? [] : [line.split('\t', 1)[0] ?? '']));
}

t.test('what fits in the place of the last word', async (t) => {
  t.strictSame(offered('serv'), ['servers', NO_FILES]);
  t.match(offered('servers', ''), ['list', 'add', 'show']);
  t.strictSame(offered('servers', 'up'), ['update', NO_FILES]);
  t.strictSame(offered('servers', 'add', 'calculator', 'http://a/mcp', '--trans'), ['--transport', NO_FILES]);
  t.strictSame(offered('servers', 'add', '--transport', ''), ['STREAMABLEHTTP', 'SSE', NO_FILES]);
  t.strictSame(offered('dataplane', '--log-level', 'f'), ['fatal', NO_FILES]);
  t.strictSame(offered('--access-l'), ['--access-log', NO_FILES], 'without a command, of the dataplane');
});

t.test('files fit where no words are known', async (t) => {
  t.strictSame(offered('dataplane', '--server-private-key', ''), [FILES]);
  t.strictSame(offered('config', 'put', 'alice', ''), [FILES]);
});

t.test('what makes no sense fits nothing, and ends with status 0', async (t) => {
  for (const words of [['nonsense', ''], ['x"; echo no'], ['--', ''], ['\u001b['], ['servers', 'toString', '']]) {
    t.strictSame(offered(...words), [NO_FILES], JSON.stringify(words));
    t.equal(run('complete', '--', ...words).status, 0);
  }
});

t.test('a script for each shell, and none for others', async (t) => {
  for (const shell of ['bash', 'zsh', 'fish']) {
    const { status, stdout } = run('completion', shell);
    t.equal(status, 0, shell);
    t.match(stdout, 'switchyard complete --', shell);
  }
  const { status, stderr } = run('completion', 'tcsh');
  t.equal(status, 64);
  t.match(stderr, /<shell>: expects one of bash, zsh, fish/);
});

t.test('bash completes with the script', async (t) => {
  const directory = createScratchDirectory(t);
  // Of the package bash-completion, which need not be here: the words of the line and the one that is completed.
  const helper =
    '_get_comp_words_by_ref() { words=("${COMP_WORDS[@]}"); cword=$COMP_CWORD; cur=${COMP_WORDS[COMP_CWORD]}; prev=${COMP_WORDS[COMP_CWORD-1]}; }';
  const script = join(directory, 'completion.bash');
  writeFileSync(script, run('completion', 'bash').stdout);
  const line = `
    switchyard() { '${process.execPath}' '${programPath('production')}' "$@"; }
    ${helper}
    __ltrim_colon_completions() { :; }
    source '${script}'
    COMP_WORDS=(switchyard servers en) COMP_CWORD=2 COMP_LINE='switchyard servers en' COMP_POINT=21 COMP_TYPE=9
    $(complete -p switchyard | sed -E 's/.*-F ([^ ]+).*/\\1/')
    printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout, stderr } = spawnSync('bash', ['-c', line], { encoding: 'utf8' });
  t.match(stdout.trim(), /^enable\b/, stderr);
});
