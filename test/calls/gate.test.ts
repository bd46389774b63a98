// An allow-list of resource names, which only the backend's own lists can match to URIs: without the lists nothing is let through.
import t from 'tap';
import { RelayScene } from '../relay/relay-scene.js';
import { REQUEST_ID } from '../upstream/scripted-upstream.js';
import { virtualHostOf } from '../relay/virtual-host.js';

const result = { protocolVersion: '2025-11-25', capabilities: { resources: {} } };
const INTRODUCTION = JSON.stringify({ jsonrpc: '2.0', id: REQUEST_ID, result });

t.test('when a backend’s list cannot be read, nothing is let through', async (t) => {
  const virtualHost = virtualHostOf({ b: { allowed_resource_names: ['One'] } });
  const scene = new RelayScene(t, virtualHost).open({}, INTRODUCTION);
  const exchange = scene.post('resources/read', { uri: 'b+x:1' }, 7);
  t.equal(scene.http.last.summary, 'resources/list');
  scene.http.last.fault('connection-lost');
  t.match(JSON.parse(exchange.answer?.body.toString() ?? ''), { id: 7, error: { code: -32603 } });
  t.notOk(scene.http.summary.includes('resources/read'));
});
