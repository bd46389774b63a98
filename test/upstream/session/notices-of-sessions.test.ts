// Notices that sessions owe their backends: sent once where once is enough, and only where they may go.
import t from 'tap';
import { endUpstreamSession } from '../../../src/session/session-upstreams.js';
import { RepeatedNotification, type SendNotification } from '../../../src/upstream/session/backend-stream.js';
import { backendOf, virtualHostOf } from '../../relay/virtual-host.js';

t.test('any number of notices during one that is being sent become one more, the latest', async (t) => {
  const notices = new RepeatedNotification();
  const sent: string[] = [];
  const ends: (() => void)[] = [];
  const notice =
    (name: string): SendNotification =>
    (onDone) => {
      sent.push(name);
      ends.push(onDone);
    };
  for (const name of ['first', 'second', 'third']) notices.send(notice(name));
  t.same(sent, ['first']);
  ends[0]?.();
  t.same(sent, ['first', 'third']);
  notices.send(notice('fourth'));
  t.same(sent, ['first', 'third']);
  ends[1]?.();
  ends[2]?.();
  t.same(sent, ['first', 'third', 'fourth']);
  notices.send(notice('fifth'));
  t.same(sent.at(-1), 'fifth', 'nothing is under way any more');
});

t.test(
  'the end of a session that nobody continues is told, but not in plain text where that is not allowed',
  async (t) => {
    const { target } = backendOf(virtualHostOf({ b: {} }), 'b');
    const sent: unknown[][] = [];
    const context = (mode: string) =>
      ({
        oneWayRequests: { send: (...words: unknown[]) => sent.push(words) },
        options: { mode },
      }) as unknown as Parameters<typeof endUpstreamSession>[0];
    const record = { sessionId: 'upstream-1', protocolVersion: '2025-06-18' };
    endUpstreamSession(context('tls-only'), 'alice', target, record);
    t.same(sent[0]?.slice(0, 3), ['alice', target, 'DELETE']);
    const headers = sent[0]?.[3] as string[];
    t.equal(headers[headers.indexOf('mcp-session-id') + 1], 'upstream-1');
    t.equal(headers[headers.indexOf('mcp-protocol-version') + 1], '2025-06-18');
    const plain = { ...target, origin: target.origin.replace('https:', 'http:') };
    endUpstreamSession(context('tls-only'), 'alice', plain, record);
    endUpstreamSession(context('tls-only'), 'alice', target, { ...record, sessionId: '' });
    t.equal(sent.length, 1, 'nor is the end of a session without an id');
    endUpstreamSession(context('plain-text-or-tls'), 'alice', plain, record);
    t.equal(sent.length, 2);
  },
);
