import t from 'tap';
import { parseOptions } from '../../bench/options.js';
import { scenarioNames } from '../../bench/scenario.js';

t.test('without arguments everything runs, in 5 rounds', async (t) => {
  t.match(parseOptions([]), { scenarios: scenarioNames, mode: 'full', rounds: 5 });
});

t.test('quick mode has fewer rounds and shorter runs', async (t) => {
  const full = parseOptions([]);
  const quick = parseOptions(['--quick']);
  t.match(quick, { scenarios: scenarioNames, mode: 'quick', rounds: 3 });
  t.ok(quick.measureMs < full.measureMs);
});

t.test('scenarios are named, each once; rounds are given', async (t) => {
  const options = parseOptions(['session', '--rounds', '7', 'call', 'session']);
  t.same(options.scenarios, ['session', 'call']);
  t.equal(options.rounds, 7);
});

t.test('unknown arguments are refused', async (t) => {
  t.throws(() => parseOptions(['calls']), { message: 'unknown scenario: calls' });
  t.throws(() => parseOptions(['--fast']));
  for (const rounds of ['0', '-1', '1.5', '101', 'many', '']) {
    t.throws(() => parseOptions([`--rounds=${rounds}`]), /--rounds takes a whole number/, rounds);
  }
});

t.test('the results are checked or saved as a baseline, not both', async (t) => {
  t.equal(parseOptions([]).then, 'report');
  t.equal(parseOptions(['--check']).then, 'report and check');
  t.match(parseOptions(['--check', '--results', 'a.json']), { keptResultsPath: 'a.json' });
  t.equal(parseOptions(['--save-baseline']).then, 'report and save baseline');
  t.throws(() => parseOptions(['--check', '--save-baseline']), /not both/);
});

t.test('an earlier build replaces the yardsticks, where both have a figure', async (t) => {
  const { programBefore, scenarios } = parseOptions(['--against', '/before']);
  t.equal(programBefore, '/before/dist/main.js');
  t.ok(scenarios.includes('call') && scenarios.includes('hop'));
  t.notOk(scenarios.includes('idle'));
  t.equal(parseOptions([]).programBefore, undefined);
  t.throws(() => parseOptions(['idle', '--against', '/before']), { message: 'not with --against: idle' });
  for (const word of ['--check', '--save-baseline']) {
    t.throws(() => parseOptions([word, '--against', '/before']), /a comparison of its own/, word);
  }
});

t.test('other gateways are loaded beside this one, with what they support', async (t) => {
  const one = ['--peer', 'one=http://127.0.0.1:9/mcp?x=1,secret'];
  const { peers, scenarios, firstBackendPort } = parseOptions([
    ...one,
    '--peer',
    'two-2=http://h:1,t,__,42',
    '--backend-port',
    '9100',
  ]);
  t.match(peers, [
    { name: 'peer one', url: new URL('http://127.0.0.1:9/mcp?x=1'), token: 'secret', separator: '-', pid: undefined },
    { name: 'peer two-2', url: new URL('http://h:1'), token: 't', separator: '__', pid: 42 },
  ]);
  t.same(scenarios, ['call', 'session']);
  t.equal(firstBackendPort, 9_100);
  t.throws(() => parseOptions([...one, 'idle']), { message: 'not with --peer: idle' });
  t.throws(() => parseOptions([...one, '--check']), /of our own gateway/);
  t.throws(() => parseOptions([...one, '--against', '/before']), /a comparison of its own/);
  t.throws(() => parseOptions([...one, ...one]), /a name of its own/);
  for (const word of ['nameless', '=http://h', 'a b=http://h', 'a=http://h,t,-,1,more']) {
    t.throws(() => parseOptions(['--peer', word]), /--peer takes NAME=URL,token,separator,pid/, word);
  }
  for (const url of ['https://127.0.0.1/mcp', 'nowhere']) {
    t.throws(() => parseOptions(['--peer', `a=${url}`]), /takes an http URL/, url);
  }
  for (const pid of ['0', '-1', 'x', '1.5']) {
    t.throws(() => parseOptions(['--peer', `a=http://h,t,-,${pid}`]), /takes a process id/, pid);
  }
});
