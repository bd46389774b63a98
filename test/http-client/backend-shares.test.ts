// Connections that requests use, by subject and in all; the pools that use them are in origin-pool.test.ts.
import { execFileSync } from 'node:child_process';
import t from 'tap';
import { BackendShares } from '../../src/http-client/backend-shares.js';

t.test('subjects that use as many connections as they can leave some to others', async (t) => {
  const shares = new BackendShares({ connectionsMax: 1_000, connectionsPerSubjectMax: 250 });
  const take = (subject: string): number => {
    const use = shares.useOf(subject);
    while (use.connectionCount < 250 && shares.mayUseOneMore(use)) shares.noteBusy(use);
    return use.connectionCount;
  };
  t.same(['a', 'b', 'c', 'd', 'e'].map(take), [250, 250, 250, 125, 6]);
  t.equal(shares.mayUseOneMore(shares.useOf('f')), true);
  for (let ended = 0; ended < 250; ended += 1) shares.noteFree(shares.useOf('a'));
  t.equal(shares.mayUseOneMore(shares.useOf('d')), true, 'what is free again is anybody’s');
});

t.test(
  'a process opens connections for half of the files that it may have open',
  { skip: process.platform !== 'linux' && 'the limit is read from /proc' },
  async (t) => {
    const module = new URL('../../src/http-client/backend-shares.js', import.meta.url).href;
    const program = `import(${JSON.stringify(module)}).then((m) => console.log(new m.BackendShares().bounds.connectionsMax))`;
    const command = 'ulimit -n 200 && exec "$0" --eval "$1"';
    t.equal(execFileSync('sh', ['-c', command, process.execPath, program], { encoding: 'utf8' }), '100\n');
  },
);
