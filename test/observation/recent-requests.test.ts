import t from 'tap';
import { RecentRequests } from '../../src/observation/recent-requests.js';
import { RequestWatch } from '../../src/observation/request-watch.js';
import { limits } from '../../src/shared/limits.js';
import { RecordedExchange } from '../support/recorded-exchange.js';

function keep(recent: RecentRequests, id: string, tool = 'a', subject = 'alice', host = 'vh'): void {
  recent.keep(id, subject, host, 'tools/call', 'b', tool, 'fault', 'answer-timeout', 200, 12.5, 10);
}

t.test('a request is found by its id until the ring has overwritten it', async (t) => {
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
  t.match(recent.find('3'), [{ status: 200, durationMs: 12.5, backendMs: 10 }], 'wherever it is kept');
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

t.test('a text that a caller made up is kept when it is short', async (t) => {
  const recent = new RecentRequests(3);
  keep(recent, '1', 'x'.repeat(limits.quotedCharsMax + 1));
  t.match(recent.find('1'), [{ tool: '' }]);
  const longest = ['s'.repeat(limits.storeKeyBytesMax), 'h'.repeat(limits.quotedCharsMax)] as const;
  keep(recent, '2', 'a', ...longest);
  t.match(recent.find('2'), [{ subject: longest[0], virtualHost: longest[1] }]);
  keep(recent, '3', 'a', `${longest[0]}s`, `${longest[1]}h`);
  t.match(recent.find('3'), [{ subject: '', virtualHost: '' }]);
  recent.keep('4', 'alice', 'vh', `${longest[1]}m`, 'b', 'a', 'ok', '', 200, 1, 1);
  t.match(recent.find('4'), [{ method: '', outcome: 'ok' }]);
});

t.test('a caller without a valid token displaces nobody’s requests', async (t) => {
  const recent = new RecentRequests(3);
  const watch = new RequestWatch(undefined, undefined, recent);
  const refuse = (requestId: string, subject?: string): void => {
    const { request } = new RecordedExchange({ requestId });
    watch.onRefused(request, 'vh', { refusal: { code: 'token-missing', status: 401 }, subject });
  };
  keep(recent, '1');
  refuse('2', 'bob');
  for (let n = 0; n < 10; n++) refuse(`of nobody ${n}`);
  t.match(recent.find('1'), [{ subject: 'alice' }]);
  t.match(recent.find('2'), [{ subject: 'bob', outcome: 'refused', detail: 'token-missing', status: 401 }]);
  t.strictSame(recent.find('of nobody 9'), []);
});
