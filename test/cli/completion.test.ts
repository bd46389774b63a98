// Shell completion: the words that the real program offers, and what real shells do with them; zsh and fish where they are installed.
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { programPath } from '../support/gateway.js';
import { createScratchDirectory } from '../support/scratch-directory.js';

const NO_FILES = ':4';
const FILES = ':0';
/** Only a shell that offers nothing takes this long. */
const LINE_MS_MAX = 60_000;

function run(...words: string[]) {
  return spawnSync(process.execPath, [programPath('production'), ...words], { encoding: 'utf8' });
}

/** The words that fit, without their descriptions, and whether file names fit. */
function offered(...words: string[]): string[] {
  const { stdout } = run('complete', '--', ...words);
  return stdout.split('\n').flatMap((line) => (line === '' ? [] : [line.split('\t', 1)[0] ?? '']));
}

t.test('words that fit in the place of the last word are offered', async (t) => {
  t.strictSame(offered('serv'), ['servers', NO_FILES]);
  t.match(offered('servers', ''), ['list', 'add', 'show']);
  t.strictSame(offered('servers', 'up'), ['update', NO_FILES]);
  t.strictSame(offered('servers', 'add', 'calculator', 'http://a/mcp', '--trans'), ['--transport', NO_FILES]);
  t.strictSame(offered('servers', 'add', '--transport', ''), ['STREAMABLEHTTP', 'SSE', NO_FILES]);
  t.strictSame(offered('dataplane', '--log-level', 'f'), ['fatal', NO_FILES]);
  t.strictSame(offered('--access-l'), ['--access-log', NO_FILES], 'without a command, of the dataplane');
});

t.test('files are offered where no words are known', async (t) => {
  t.strictSame(offered('dataplane', '--server-private-key', ''), [FILES]);
  t.strictSame(offered('config', 'put', 'alice', ''), [FILES]);
});

t.test('a senseless line gets no offers, and ends with status 0', async (t) => {
  for (const words of [['nonsense', ''], ['x"; echo no'], ['--', ''], ['\u001b['], ['servers', 'toString', '']]) {
    t.strictSame(offered(...words), [NO_FILES], JSON.stringify(words));
    t.equal(run('complete', '--', ...words).status, 0);
  }
});

t.test('there is a script for each supported shell, and none for others', async (t) => {
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
  // Replaces the helper of the package bash-completion, which may not be installed: it sets the line's words and the current one.
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

/** A folder with the program under its name, and a shell's completion script. */
function installed(t: Test, shell: string): { directory: string; script: string } {
  const directory = createScratchDirectory(t);
  const program = join(directory, 'switchyard');
  writeFileSync(program, `#!/bin/sh\nexec '${process.execPath}' '${programPath('production')}' "$@"\n`, {
    mode: 0o755,
  });
  const script = join(directory, `completion.${shell}`);
  writeFileSync(script, run('completion', shell).stdout);
  return { directory, script };
}

function reasonToSkip(shell: string): string | false {
  return spawnSync(shell, ['-c', 'true']).status === 0 ? false : `${shell} is not installed`;
}

t.test('fish completes with the script', { skip: reasonToSkip('fish') }, async (t) => {
  const { directory, script } = installed(t, 'fish');
  const complete = (line: string): string[] => {
    const words = `set -x PATH '${directory}' $PATH; source '${script}'; complete -C '${line}'`;
    const env = { PATH: process.env['PATH'], HOME: directory };
    const { stdout, stderr } = spawnSync('fish', ['--no-config', '-c', words], {
      encoding: 'utf8',
      env,
      cwd: directory,
    });
    t.equal(stderr, '', line);
    return stdout.split('\n').flatMap((found) => (found === '' ? [] : [found.split('\t', 1)[0] ?? '']));
  };
  t.same(complete('switchyard servers en'), ['enable']);
  t.same(complete('switchyard dataplane --log-level f'), ['fatal']);
  t.ok(complete('switchyard config put alice c').includes('completion.fish'), 'a file');
});

t.test('zsh completes with the script', { skip: reasonToSkip('zsh') }, async (t) => {
  const { directory, script } = installed(t, 'zsh');
  // Runs in a pseudoterminal, because zsh completes nowhere else; reads until the completed line appears.
  const complete = (line: string, rest: string): string => {
    const session = `
      zmodload zsh/zpty
      zpty shell env TERM=dumb zsh -f -i
      zpty -w shell "PS1=; PROMPT=; unsetopt promptsp; path=('${directory}' \\$path); autoload -Uz compinit; compinit -u -D; source '${script}'; print LOAD''ED"
      zpty -r -m shell loaded '*LOADED*'
      zpty -w -n shell $'${line}\\t'
      zpty -r -m shell offered '*${line}${rest}*'
      print -r -- "$offered"`;
    const env = { PATH: process.env['PATH'], HOME: directory };
    const { stdout, stderr } = spawnSync('zsh', ['-f', '-c', session], {
      encoding: 'utf8',
      env,
      cwd: directory,
      timeout: LINE_MS_MAX,
    });
    t.equal(stderr, '', line);
    return stdout;
  };
  t.match(complete('switchyard servers en', 'able'), 'switchyard servers enable');
  t.match(complete('switchyard dataplane --log-level f', 'atal'), '--log-level fatal');
  t.match(complete('switchyard config put alice completion.z', 'sh'), 'alice completion.zsh', 'a file');
});
