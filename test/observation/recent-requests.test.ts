import t from 'tap';
import { RecentRequests } from '../../src/observation/recent-requests.js';
import { limits } from '../../src/shared/limits.js';

function keep(recent: RecentRequests, id: string, tool = 'a'): void {
  recent.keep(id, 'alice', 'vh', 'tools/call', 'b', tool, 'fault', 'answer-timeout', 200, 12.5, 10);
}

t.test('a request is found by its id until the ring has gone round', async (t) => {
  const recent = new RecentRequests(3);
  t.strictSame(recent.find(''), []);
  for (const id of ['1', '2', '3']) keep(recent, id);
  t.match(recent.find('1'), [
    {
      requestId: '1',
      subject: 'alice',
      tool: 'a',
      outcome: 'fault',
      detail: 'answer-timeout',
      status: 200,
      durationMs: 12.5,
    },
  ]);
  keep(recent, '4');
  t.strictSame(recent.find('1'), []);
  t.equal(recent.find('4').length, 1);
  keep(recent, '4', 'b');
  t.strictSame(
    recent
      .find('4')
      .map(({ tool }) => tool)
      .sort(),
    ['a', 'b'],
    'both of one id',
  );
});

t.test('what a caller made up is kept when it is short', async (t) => {
  const recent = new RecentRequests(3);
  keep(recent, '1', 'x'.repeat(limits.accessLogNameCharsMax + 1));
  t.match(recent.find('1'), [{ tool: '' }]);
});
