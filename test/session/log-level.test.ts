// Log levels and changed roots with slow backends, ended sessions and hasty clients; how they pass is in test/spec/logging.rows.ts.
import t, { type Test } from 'tap';
import { RelayScene } from '../relay/relay-scene.js';
import { REQUEST_ID } from '../upstream/scripted-upstream.js';
import { virtualHostOf } from '../relay/virtual-host.js';
import { OWN_REQUEST_MS_MAX } from '../../src/session/own-requests.js';

/** A session whose two backends have logging. */
function open(t: Test): RelayScene {
  const result = { protocolVersion: '2025-11-25', capabilities: { logging: {} } };
  const answer = JSON.stringify({ jsonrpc: '2.0', id: REQUEST_ID, result });
  return new RelayScene(t, virtualHostOf({ a: {}, b: {} })).open({ roots: {} }, answer);
}

t.test('a backend that does not answer the level delays the client up to a bound', async (t) => {
  const scene = open(t);
  const exchange = scene.post('logging/setLevel', { level: 'debug' }, 7);
  const [one, two] = [scene.http.call(-2), scene.http.call(-1)];
  t.same([one.summary, two.summary], ['logging/setLevel', 'logging/setLevel']);
  one.json(`{"jsonrpc":"2.0","id":"${REQUEST_ID}","error":{"code":5,"message":"no"}}`);
  t.equal(exchange.outcome, 'none');
  scene.context.advance(OWN_REQUEST_MS_MAX + 100);
  t.equal(exchange.answer?.body.toString(), '{"jsonrpc":"2.0","id":7,"result":{}}');
});

t.test('a level that is being set when the session ends is answered with an error', async (t) => {
  const scene = open(t);
  const exchange = scene.post('logging/setLevel', { level: 'debug' }, 7);
  scene.request({ method: 'DELETE' });
  t.match(JSON.parse(exchange.answer?.body.toString() ?? ''), { id: 7, error: { code: -32603, message: /ended/ } });
  scene.context.advance(OWN_REQUEST_MS_MAX + 100);
  t.equal(scene.accounts.size, 0);
});

t.test('a level is answered although the config has no backends any more', async (t) => {
  const scene = open(t);
  const body = Buffer.from('{"jsonrpc":"2.0","id":7,"method":"logging/setLevel","params":{"level":"debug"}}');
  const exchange = scene.exchange({ body });
  scene.relay.handle({ subject: 'alice', virtualHost: virtualHostOf({}) }, exchange);
  t.equal(exchange.answer?.body.toString(), '{"jsonrpc":"2.0","id":7,"result":{}}');
});

t.test('roots that change faster than a backend accepts it are announced once more', async (t) => {
  const scene = open(t);
  const sent = (): number => scene.http.summary.filter((text) => text === 'notifications/roots/list_changed').length;
  for (let count = 0; count < 100; count += 1) scene.post('notifications/roots/list_changed', undefined);
  t.equal(sent(), 2, 'to each backend');
  scene.http.call(-2).empty();
  scene.http.call(-2).empty();
  t.equal(sent(), 4, 'and again');
  scene.http.call(-2).empty();
  scene.http.call(-1).empty();
  t.equal(sent(), 4);
});
