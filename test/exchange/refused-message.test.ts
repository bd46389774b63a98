// Refusals of messages: with the id of the request that they refuse wherever that can be known, so that its sender can tell which it is.
import t from 'tap';
import { answer, isBodyReceivedForId, refuseMessage, refuseInvalid } from '../../src/exchange/answers.js';
import { readClientMessage, type ParsedClientMessage } from '../../src/mcp/json-rpc.js';
import { readLargeClientMessage } from '../../src/mcp/large-messages.js';
import { limits } from '../../src/shared/limits.js';
import { refusals, type Refusal } from '../../src/shared/refusals.js';
import { RecordedExchange } from '../support/recorded-exchange.js';
import { until } from '../support/until.js';

/** The JSON-RPC error that the sender of the body gets. */
function refused(body: Buffer, refusal: Refusal, message?: ParsedClientMessage): { id?: unknown; error?: unknown } {
  const exchange = new RecordedExchange({ body });
  refuseMessage(exchange, refusal, message);
  if (exchange.answer?.status !== refusal.status) throw new Error(`another refusal: ${exchange.answer?.status}`);
  return JSON.parse(exchange.answer?.body.toString() ?? '') as { id?: unknown; error?: unknown };
}

t.test(
  'a refusal has the id of the request, whether it was parsed before or not, and however large it is',
  async (t) => {
    const request = Buffer.from('{"jsonrpc":"2.0","id":"a","method":"x"}');
    t.equal(refused(request, refusals.protocolVersionUnsupported).id, 'a');
    t.equal(refused(request, refusals.protocolVersionUnsupported, readClientMessage(request)).id, 'a');
    const large = Buffer.from(
      `{"jsonrpc":"2.0","id":7,"method":"x","params":{"x":"${'x'.repeat(limits.readAtOnceBytesMax)}"}}`,
    );
    t.equal(refused(large, refusals.protocolVersionUnsupported).id, undefined, 'too large to look for it');
    let reading: ParsedClientMessage | undefined;
    readLargeClientMessage('alice', large, (message) => (reading = message));
    await until(() => reading !== undefined, 'the message to be read');
    t.equal(refused(large, refusals.protocolVersionUnsupported, reading).id, 7);
    for (const other of [
      '{"jsonrpc":"2.0","method":"notifications/x"}',
      '{"jsonrpc":"2.0","id":1,"result":{}}',
      '[{"jsonrpc":"2.0","id":1,"method":"x"}]',
    ]) {
      const body = Buffer.from(other);
      for (const message of [undefined, readClientMessage(body)])
        t.equal(refused(body, refusals.protocolVersionUnsupported, message).id, undefined, other);
    }
  },
);

t.test('what is no message is refused as what it is', async (t) => {
  for (const [body, refusal, id] of [
    ['{', refusals.notJson, undefined],
    ['{"id":3}', refusals.notJsonRpc, 3],
    ['[{"jsonrpc":"2.0","id":1,"method":"x"}]', refusals.batchRefused, undefined],
  ] as const) {
    const exchange = new RecordedExchange({ body: Buffer.from(body) });
    const reading = readClientMessage(exchange.request.body);
    if (typeof reading === 'object' && reading.kind !== 'batch') throw new Error(`a message: ${body}`);
    refuseInvalid(exchange, reading);
    t.equal(exchange.answer?.status, refusal.status, body);
    const { id: told, error } = JSON.parse(exchange.answer?.body.toString() ?? '') as { id?: unknown; error?: object };
    t.equal(told, id, body);
    t.match(JSON.parse(refusal.body), { error }, body);
  }
});

t.test('a body is waited for to find its id if it is a POST’s and is known to be short', async (t) => {
  const { readAtOnceBytesMax: most } = limits;
  for (const [method, isAmbiguous, contentLength, isWaited] of [
    ['POST', false, '0', true],
    ['POST', false, String(most), true],
    ['POST', false, String(most + 1), false],
    ['POST', false, '', false],
    ['POST', true, '1', false],
    ['GET', false, '1', false],
    ['DELETE', false, '1', false],
  ] as const)
    t.equal(isBodyReceivedForId(method, { isAmbiguous, contentLength }), isWaited, `${method} ${contentLength}`);
});

t.test('an answer of any size reaches a caller in the form that it accepts', async (t) => {
  for (const bytes of [10, limits.readAtOnceBytesMax + 1]) {
    const message = Buffer.from(`{"x":"${'x'.repeat(bytes)}"}`);
    const json = new RecordedExchange({ acceptedTypes: 'json' });
    answer(json, message, 'sid');
    t.match(json.answer, { status: 200, contentType: 'application/json', sessionId: 'sid' });
    t.ok(json.answer?.body.equals(message));
    for (const sessionId of [undefined, 'sid']) {
      const stream = new RecordedExchange({ acceptedTypes: 'event-stream' });
      answer(stream, message, sessionId);
      await until(() => stream.outcome === 'ended', 'the end of the stream');
      t.equal(stream.streamSessionId, sessionId);
      const text = stream.written.toString();
      t.ok(text.endsWith(`data: ${message.toString()}\n\n`), 'the whole message is one event');
      t.equal(text.split('\n\n').length, 2);
    }
  }
});
