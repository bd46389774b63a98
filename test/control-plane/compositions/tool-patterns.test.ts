// What a composition's patterns match, row by row.
import t from 'tap';
import {
  matchedTools,
  matchesAny,
  MATCHED_TOOLS_MAX,
  MATCHED_TOOL_CHARS_MAX,
} from '../../../src/control-plane/compositions/tool-patterns.js';
import { limits } from '../../../src/shared/limits.js';

const NAMES = ['read', 'read_file', 'read_dir', 'write_file', 'file', 'aXbXc', ''];

t.test('a star matches any characters, and names match themselves', async (t) => {
  const rows: [string[], string[]][] = [
    [['*'], NAMES],
    [['**'], NAMES],
    [['read_*'], ['read_file', 'read_dir']],
    [['read*'], ['read', 'read_file', 'read_dir']],
    [['*_file'], ['read_file', 'write_file']],
    [['*file'], ['read_file', 'write_file', 'file']],
    [['r*_*r'], ['read_dir']],
    [['a*X*c'], ['aXbXc']],
    [['aX*Xc'], ['aXbXc']],
    [['aXb*bXc'], []],
    [['*X*X*X*'], []],
    [
      ['gone', 'read_*', 'read_file'],
      ['gone', 'read_file', 'read_dir'],
    ],
    [['read.*', '(read)', 'rea[d]*'], ['read.*', '(read)'].filter((name) => !name.includes('*'))],
    [['gone'], ['gone']],
  ];
  for (const [tools, matched] of rows) {
    t.strictSame(matchedTools(tools, NAMES), matched, tools.join(' '));
    for (const pattern of tools.filter((tool) => tool.includes('*'))) {
      t.equal(matchesAny(pattern, NAMES), matchedTools([pattern], NAMES).length > 0, pattern);
    }
  }
});

t.test('a server cannot fill others’ configs, nor block the process, by its names', async (t) => {
  const many = Array.from({ length: 10_000 }, (_, index) => `t${index}`);
  t.equal(matchedTools(['*'], many).length, MATCHED_TOOLS_MAX);
  const long = Array.from({ length: 1_000 }, (_, index) => `${index}`.padStart(limits.toolPatternCharsMax, 'x'));
  const chars = matchedTools(['*'], long).reduce((sum, { length }) => sum + length, 0);
  t.equal(chars, MATCHED_TOOL_CHARS_MAX, 'as many names of this length fill the bound exactly');
  t.strictSame(matchedTools(['*'], ['x'.repeat(limits.toolPatternCharsMax + 1), 'y']), ['y']);
  const begun = process.cpuUsage();
  const hostile = Array.from({ length: 10_000 }, () => `${'a'.repeat(limits.toolPatternCharsMax - 1)}b`);
  const patterns = Array.from({ length: limits.toolPatternsMax }, (_, index) => `${'a*'.repeat(60)}${index}`);
  t.strictSame(matchedTools(patterns, hostile), []);
  t.ok(process.cpuUsage(begun).user < 1_000_000, 'well below a second of time');
});
