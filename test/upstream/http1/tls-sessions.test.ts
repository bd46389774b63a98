import t from 'tap';
import { TlsSessions } from '../../../src/upstream/http1/tls-sessions.js';
import { limits } from '../../../src/shared/limits.js';

const SESSION = Buffer.from('session');

t.test('the last session with an origin is kept for a while', async (t) => {
  let nowMs = 0;
  const sessions = new TlsSessions(() => nowMs);
  sessions.keep('https://a', Buffer.from('older'));
  sessions.keep('https://a', SESSION);
  t.equal(sessions.find('https://a'), SESSION);
  t.equal(sessions.find('https://b'), undefined);
  nowMs = limits.tlsSessionMsMax;
  t.equal(sessions.find('https://a'), undefined);
  t.equal(sessions.count, 0);
});

t.test('a session with which a handshake failed is dropped', async (t) => {
  const sessions = new TlsSessions();
  sessions.keep('https://a', SESSION);
  sessions.drop('https://a');
  t.equal(sessions.find('https://a'), undefined);
});

t.test('the number and size of kept sessions are bounded, and the oldest goes first', async (t) => {
  const sessions = new TlsSessions();
  sessions.keep('https://large', Buffer.alloc(limits.tlsSessionBytesMax + 1));
  t.equal(sessions.count, 0);
  for (let index = 0; index < limits.tlsSessionsMax; index += 1) sessions.keep(`https://${index}`, SESSION);
  sessions.keep('https://0', SESSION);
  sessions.keep('https://next', SESSION);
  t.equal(sessions.count, limits.tlsSessionsMax);
  t.equal(sessions.find('https://1'), undefined);
  t.equal(sessions.find('https://0'), SESSION);
});
