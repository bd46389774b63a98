// How an upstream session shows a backend's `auth` when the store is slow: nothing is sent without it.
import t, { type Test } from 'tap';
import { Secrets, type StoredSecretRead } from '../../src/credentials/secrets.js';
import { NO_METADATA } from '../../src/http-client/http-upstream.js';
import { UpstreamSession } from '../../src/upstream/session/upstream-session.js';
import type { HeadersAuth } from '../../src/user-config/auth.js';
import { backendOf, virtualHostOf } from '../relay/virtual-host.js';
import { ScriptedContext } from './scripted-context.js';

const AUTH: HeadersAuth = { type: 'headers', headers: { authorization: { secret: 's' } } };
const BACKEND = { ...backendOf(virtualHostOf({ b: { url: 'https://b.example/mcp' } }), 'b'), auth: AUTH };
const INTRODUCTION = { clientInfo: Buffer.from('{}'), capabilities: Buffer.from('{}') };
const RECORD = {
  era: 'legacy',
  sessionId: 'S-1',
  protocolVersion: '2025-11-25',
  capabilities: 0,
  named: undefined,
  instructions: undefined,
} as const;

/** Secrets of a store that answers when the test says so, with the same outcome for all who have asked by then. */
class SlowSecrets {
  #pending: Promise<StoredSecretRead> | undefined;
  #answer: ((read: StoredSecretRead) => void) | undefined;

  read(): Promise<StoredSecretRead> {
    return (this.#pending ??= new Promise((resolve) => (this.#answer = resolve)));
  }

  async answer(read: StoredSecretRead): Promise<void> {
    this.#pending = undefined;
    this.#answer?.(read);
    await new Promise(setImmediate);
  }
}

function createScene(t: Test, sessionId: string) {
  const secrets = new SlowSecrets();
  const context = new ScriptedContext(t);
  context.credentials = { ...context.credentials, secrets: new Secrets(undefined, () => context.nowMs(), secrets) };
  const memory = { tryKeepText: ({ length }: string) => length, drop: () => undefined };
  const session = new UpstreamSession(context, 'alice', BACKEND, INTRODUCTION, memory);
  // As if another process had opened it.
  session.restore({ ...RECORD, sessionId });
  return { secrets, session, http: context.http };
}

const MESSAGE = { body: Buffer.from('{"jsonrpc":"2.0","method":"m"}') };

function found(value: string): StoredSecretRead {
  return { kind: 'found', secret: { value, origins: 'any' } };
}

t.test('a message in a session that another process opened waits for the secret', async (t) => {
  const { secrets, session, http } = createScene(t, 'S-1');
  const shown = (): (string | undefined)[] =>
    http.calls.map(({ request: { headers } }) => headers[headers.indexOf('authorization') + 1]);
  session.send(MESSAGE, NO_METADATA);
  t.same(http.summary, []);
  await secrets.answer(found('Bearer 1'));
  t.same(http.summary, ['m']);
  t.same(shown(), ['Bearer 1']);
  session.close(NO_METADATA);
  t.same(http.summary, ['m']);
  await secrets.answer(found('Bearer 2'));
  t.same(http.summary, ['m', 'DELETE']);
  t.same(shown(), ['Bearer 1', 'Bearer 2'], 'the secret as it is by now');
});

t.test('a message that waits for the secret when the session ends is not sent', async (t) => {
  const { secrets, session, http } = createScene(t, '');
  let doneCount = 0;
  session.send(MESSAGE, NO_METADATA, () => (doneCount += 1));
  session.close(NO_METADATA);
  await secrets.answer({ kind: 'failed', reason: 'gone' });
  t.same(http.summary, []);
  t.equal(doneCount, 1);
});
