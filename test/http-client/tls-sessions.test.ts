import t from 'tap';
import {
  TlsSessions,
  TLS_SESSIONS_MAX,
  TLS_SESSION_BYTES_MAX,
  TLS_SESSION_MS_MAX,
} from '../../src/http-client/connection-target.js';

const SESSION = Buffer.from('session');

t.test('the last session with an origin is kept for a while', async (t) => {
  let nowMs = 5 * TLS_SESSION_MS_MAX;
  const sessions = new TlsSessions(() => nowMs);
  sessions.keep('https://a', Buffer.from('older'));
  sessions.keep('https://a', SESSION);
  t.equal(sessions.find('https://a'), SESSION);
  t.equal(sessions.find('https://b'), undefined);
  nowMs += TLS_SESSION_MS_MAX;
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
  sessions.keep('https://large', Buffer.alloc(TLS_SESSION_BYTES_MAX + 1));
  t.equal(sessions.count, 0);
  for (let index = 0; index < TLS_SESSIONS_MAX; index += 1) sessions.keep(`https://${index}`, SESSION);
  sessions.keep('https://0', SESSION);
  sessions.keep('https://next', SESSION);
  t.equal(sessions.count, TLS_SESSIONS_MAX);
  t.equal(sessions.find('https://1'), undefined);
  t.equal(sessions.find('https://0'), SESSION);
});
