// Notices that sessions owe their backends: sent once where once is enough, and only where they may go.
import t from 'tap';
import { endUpstreamSession } from '../../../src/session/session-upstreams.js';
import { NO_METADATA } from '../../../src/http-client/http-upstream.js';
import { OWN_INTRODUCTION } from '../../../src/upstream/session/client-introduction.js';
import { UpstreamSession } from '../../../src/upstream/session/upstream-session.js';
import { backendOf, virtualHostOf } from '../../relay/virtual-host.js';
import { ScriptedContext } from '../scripted-context.js';
import { REQUEST_ID } from '../scripted-upstream.js';

t.test('any number of notices during one that is being sent become one more, the latest', async (t) => {
  const context = new ScriptedContext(t);
  const backend = backendOf(virtualHostOf({ b: {} }), 'b');
  const memory = { tryKeepText: () => 0, drop: () => undefined };
  const session = new UpstreamSession(context, 'alice', backend, OWN_INTRODUCTION, memory);
  session.whenOpen(NO_METADATA, () => undefined);
  const result = { protocolVersion: '2025-06-18', capabilities: {} };
  context.http.last.json(JSON.stringify({ jsonrpc: '2.0', id: REQUEST_ID, result }), 'S-1');
  context.http.last.empty();
  const tell = (...names: string[]): void => {
    for (const method of names) session.notifyRootsChanged(Buffer.from(JSON.stringify({ method })), NO_METADATA);
  };
  const sent = (): string[] => context.http.summary.slice(2);
  tell('first', 'second', 'third');
  t.same(sent(), ['first']);
  context.http.last.empty();
  t.same(sent(), ['first', 'third']);
  tell('fourth');
  t.same(sent(), ['first', 'third']);
  context.http.last.empty();
  context.http.last.empty();
  t.same(sent(), ['first', 'third', 'fourth']);
  tell('fifth');
  t.same(sent().at(-1), 'fifth', 'nothing is under way any more');
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
