// Messages that may be large: read at once where there is time, unless the caller must not be called back at once.
import t from 'tap';
import type { BackendMessage } from '../../src/mcp/json-rpc.js';
import { readLargeBackendMessage } from '../../src/mcp/large-messages.js';
import { until } from '../support/until.js';

const ANSWER = Buffer.from('{"jsonrpc":"2.0","id":1,"result":{"taskId":"a"}}');

t.test('a message is read at once, unless it is to be read later', async (t) => {
  const told: (BackendMessage | undefined)[] = [];
  readLargeBackendMessage('ada', ANSWER, (message) => void told.push(message));
  t.match(told, [{ kind: 'response', taskIds: { length: 0 } }], 'task ids are not searched for');
  readLargeBackendMessage('ada', ANSWER, (message) => void told.push(message), false, true);
  t.equal(told.length, 1);
  await until(() => told.length === 2, 'the message');
});

t.test('task ids are found where they are searched for, and a scan that was stopped tells nothing', async (t) => {
  const told: (BackendMessage | undefined)[] = [];
  readLargeBackendMessage('ada', ANSWER, () => t.fail('it was stopped'), true, true).cancel();
  readLargeBackendMessage('ada', ANSWER, (message) => void told.push(message), true);
  await until(() => told.length === 1, 'the message');
  t.match(told, [{ kind: 'response', uris: { length: 0 } }]);
  t.ok(told[0]?.kind === 'response' && told[0].taskIds!.length > 0);
});
