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

t.test('a resource that is not in the list is let through where a template of an allowed name makes it', async (t) => {
  const virtualHost = virtualHostOf({ b: { allowed_resource_names: ['One'] } });
  for (const [uriTemplate, isAllowed] of [
    ['x:{n}', true],
    ['y:{n}', false],
  ] as const) {
    const scene = new RelayScene(t, virtualHost).open({}, INTRODUCTION);
    const exchange = scene.post('resources/read', { uri: 'b+x:1' }, 7);
    const answer = (result: object): void =>
      void scene.http.last.json(JSON.stringify({ jsonrpc: '2.0', id: REQUEST_ID, result }));
    answer({ resources: [] });
    t.equal(scene.http.last.summary, 'resources/templates/list');
    answer({ resourceTemplates: [{ name: 'One', uriTemplate }] });
    t.equal(scene.http.last.summary === 'resources/read', isAllowed, uriTemplate);
    t.equal(exchange.outcome === 'none', isAllowed);
    if (!isAllowed) t.match(JSON.parse(exchange.answer?.body.toString() ?? ''), { id: 7, error: { code: -32002 } });
  }
});
