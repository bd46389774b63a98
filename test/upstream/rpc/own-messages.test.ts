import t from 'tap';
import { answerMessage, cancelledNotification, legacyRequest } from '../../../src/upstream/rpc/request-plan.js';

t.test('the gateway’s own messages have the ids to the byte, and only the members that they need', async (t) => {
  const bytes = Buffer.from('{"id": 7.0e0}');
  t.equal(
    cancelledNotification({ bytes, start: 7, end: 12 }, 'the "caller" left').toString(),
    '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7.0e0,"reason":"the \\"caller\\" left"}}',
  );
  const id = Buffer.from('"own-1"');
  t.equal(legacyRequest(id, 'ping', '').body.toString(), '{"jsonrpc":"2.0","id":"own-1","method":"ping"}');
  t.equal(
    legacyRequest(id, 'logging/setLevel', '"level":"info"').body.toString(),
    '{"jsonrpc":"2.0","id":"own-1","method":"logging/setLevel","params":{"level":"info"}}',
  );
  t.equal(answerMessage(id, undefined).toString(), '{"jsonrpc":"2.0","id":"own-1","result":{}}');
  t.equal(
    answerMessage(id, { code: -32_601, message: 'no' }).toString(),
    '{"jsonrpc":"2.0","id":"own-1","error":{"code":-32601,"message":"no"}}',
  );
});
