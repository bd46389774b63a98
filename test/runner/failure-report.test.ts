// The report is what a person sees of a failed CI run: it must name every failure, and do so last of all.
import t from 'tap';
import FailureReport from './failure-report.js';

async function report(tap: string): Promise<string[]> {
  const stream = new FailureReport();
  // In small pieces, as a pipe may deliver it.
  for (let start = 0; start < tap.length; start += 7) stream.write(tap.slice(start, start + 7));
  stream.end();
  let text = '';
  for await (const chunk of stream) text += String(chunk);
  return text.split('\n');
}

const good = `
# Subtest: build/test/good.test.js
    # Subtest: one thing
        ok 1 - holds
        ok 2 - holds, too
        1..2
    ok 1 - one thing # time=2.5ms
    not ok 2 - what is known not to work yet # TODO
    1..2
    # time=8ms
ok 1 - build/test/good.test.js # time=1234ms
`;

const bad = `
# Subtest: build/test/bad.test.js
    # Subtest: outer
        # Subtest: inner
            ok 1 - holds
            not ok 2 - should be equal
              ---
              at:
                fileName: test/bad.test.ts
                lineNumber: 12
                columnNumber: 5
                generated:
                  fileName: build/test/bad.test.js
                  lineNumber: 99
              diff: |
                --- expected
                +++ actual
                @@ -1,1 +1,1 @@
                -1
                +2
              ...
            1..2
        not ok 1 - inner # time=1ms
          ---
          at:
            fileName: test/bad.test.ts
            lineNumber: 10
          ...
        1..1
    not ok 1 - outer # time=1ms
    a line that is no TAP
    ok 2 - buffered {
        ok 1 - holds
        1..1
    }
    not ok 3 - fails as well {
        not ok 1 - in here
        1..1
    }
    1..3
not ok 2 - build/test/bad.test.js # time=56789ms
  ---
  command: /usr/bin/node
  exitCode: 1
  ...
`;

const killed = `
# Subtest: build/test/killed.test.js
    ok 1 - holds
    1..1
not ok 3 - build/test/killed.test.js # time=100ms
  ---
  command: /usr/bin/node
  signal: SIGKILL
  exitCode: null
  ...
`;

t.test('a line for each file, and no more where nothing fails', async (t) => {
  t.same(await report(`TAP version 14\n${good}\n1..1\n`), [
    '    ok    1.2 s     3  build/test/good.test.js',
    '',
    '1 test files',
    '3 passed, 0 failed',
    '',
  ]);
});

t.test(
  'every failure is reported with its file, its subtests and its diagnostics, and named again at the end',
  async (t) => {
    const lines = await report(`TAP version 14\n${good}${bad}${killed}\n1..3\n`);
    const equal = [
      '    build/test/bad.test.js > outer > inner > should be equal',
      '        at: test/bad.test.ts:12:5',
      '        diff:',
      '          --- expected',
      '          +++ actual',
      '          @@ -1,1 +1,1 @@',
      '          -1',
      '          +2',
    ];
    const buffered = '    build/test/bad.test.js > fails as well > in here';
    const dead = ['    build/test/killed.test.js', '        signal: SIGKILL', '        exitCode: null'];
    t.same(lines, [
      '    ok    1.2 s     3  build/test/good.test.js',
      'FAILED   56.8 s     4  build/test/bad.test.js',
      ...equal,
      buffered,
      '    It also wrote:',
      '            a line that is no TAP',
      'FAILED    0.1 s     1  build/test/killed.test.js',
      ...dead,
      '',
      'What failed, in full:',
      ...equal,
      buffered,
      ...dead,
      '',
      'What failed:',
      equal[0],
      buffered,
      dead[0],
      '',
      '3 test files',
      '5 passed, 3 failed',
      '',
    ]);
  },
);

t.test('a file that passed on its second run is reported, and is not a failure', async (t) => {
  const unsteady = bad.replace('bad.test.js # time=56789ms', 'bad.test.js # TODO passed when it ran once more, alone');
  const lines = await report(`TAP version 14\n# failed after 56.8 s: bad\n${unsteady}${good}1..2\n`);
  t.equal(lines[0], '# failed after 56.8 s: bad');
  t.equal(lines[1], 'UNSTEADY  build/test/bad.test.js: passed when it ran once more, alone');
  t.same(lines.slice(-7), [
    'What failed, and passed when it ran once more, alone:',
    '    build/test/bad.test.js > outer > inner > should be equal',
    '    build/test/bad.test.js > fails as well > in here',
    '',
    '2 test files',
    '5 passed, 0 failed',
    '',
  ]);
});

t.test('a run that breaks off names the failures found so far', async (t) => {
  const lines = await report(`TAP version 14\n${bad}Bail out! no more\n`);
  t.equal(lines.at(-5), '    Bail out! no more');
  t.ok(lines.some((line) => line.includes('outer > inner > should be equal')));
});

t.test('a file that took too long is named', async (t) => {
  const lines = await report(
    `TAP version 14\nnot ok 1 - timeout!\n  ---\n  expired: build/test/slow.test.js\n  ...\n1..1\n`,
  );
  t.equal(lines.at(-5), '    build/test/slow.test.js: timeout!');
});

t.test('long diagnostics are cut, and say so', async (t) => {
  const diff = Array.from({ length: 100 }, (_, line) => `      line ${line}`).join('\n');
  const lines = await report(`TAP version 14\nnot ok 1 - long\n  ---\n  diff: |\n${diff}\n  ...\n1..1\n`);
  t.ok(lines.includes('        (41 more lines)'));
  t.notOk(lines.some((line) => line.includes('line 99')));
});

t.test('a position in a compiled file is reported as the one in its source', async (t) => {
  const at = 'at:\n      fileName: build/test/runner/failure-report.js\n      lineNumber: 30\n      columnNumber: 5';
  const lines = await report(
    `TAP version 14\nnot ok 1 - fails\n  ---\n  ${at.replaceAll('\n    ', '\n  ')}\n  ...\n1..1\n`,
  );
  t.match(lines.find((line) => line.includes('at: '))?.trim(), /^at: test\/runner\/failure-report\.ts:\d+:\d+$/);
});
