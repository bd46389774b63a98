import t from 'tap';
import { scenarios, type Hop } from '../../bench/scenarios.js';

const gateway: Hop = {
  kind: 'gateway',
  path: (style) => `/gateway/${style}`,
  toolName: (backend, tool) => `${backend}-${tool}`,
};
const plain: Hop = { kind: 'plain', path: (style, backend) => `/${backend}/${style}` };

t.test('a session is 13 requests to a gateway, and the 16 plain hops that it makes upstream', async (t) => {
  const { createScript } = scenarios.session;
  const toGateway = createScript(gateway, 3).loop;
  t.equal(toGateway.length, 13);
  t.equal(createScript(plain, 3).loop.length, 16);
  const called = toGateway.flatMap(({ body }) => /"name":"(\w+-add)"/.exec(body ?? '')?.[1] ?? []);
  t.same(called.slice(0, 3), ['alpha-add', 'beta-add', 'alpha-add'], 'calls go to both backends in turn');
  t.equal(called.length, 10);
});

t.test('a session opens with what opens it, and ends', async (t) => {
  for (const hop of [gateway, plain]) {
    const { loop } = scenarios.session.createScript(hop, 0);
    t.match(loop[0], { session: 'opens', body: /"method":"initialize"/ });
    t.match(loop.at(-1), { session: 'carries', method: 'DELETE' });
  }
});

t.test('calls of one connection carry its number, and neighbours call different backends', async (t) => {
  const { createScript } = scenarios.call;
  const bodies = [4, 5].map((connection) => createScript(gateway, connection).loop[0]?.body ?? '');
  t.match(bodies[0], /"id":4,.*"name":"alpha-add"/);
  t.match(bodies[1], /"id":5,.*"name":"beta-add"/);
  t.equal(createScript(plain, 5).loop[0]?.path, '/beta/json');
});

t.test('event streams pass a plain hop as they are, and become one object in the gateway', async (t) => {
  const { createScript } = scenarios['call-sse'];
  const [toGateway, hop] = [gateway, plain].map((each) => createScript(each, 1).loop[0]?.expectedBody);
  t.match(toGateway, /^{"jsonrpc":"2.0","id":1,"result"/);
  t.equal(hop, `event: message\ndata: ${toGateway}\n\n`);
});
