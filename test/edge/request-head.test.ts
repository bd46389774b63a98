// How uWebSockets.js delivers the headers that mirror a request's body, over a real socket.
import { once } from 'node:events';
import { connect } from 'node:net';
import t from 'tap';
import { NO_MIRROR } from '../../src/exchange/exchange.js';
import { limits } from '../../src/shared/limits.js';
import type { EdgeExchange } from '../../src/edge/edge-exchange.js';
import { startEdge } from './edge-server.js';

t.test('headers that mirror the body', async (t) => {
  const exchanges: EdgeExchange[] = [];
  const edge = await startEdge(t, (exchange) => {
    exchanges.push(exchange);
    exchange.respond(202, '', '');
  });
  const socket = connect(edge.port, '127.0.0.1');
  t.teardown(() => socket.destroy());
  const exchangeOf = async (...headers: string[]): Promise<EdgeExchange> => {
    socket.write(['POST / HTTP/1.1', 'host: a', 'content-length: 0', ...headers, '', ''].join('\r\n'));
    await once(socket, 'data');
    return exchanges.at(-1)!;
  };
  t.equal((await exchangeOf()).request.mirror, NO_MIRROR);
  const whole = await exchangeOf(
    'MCP-Protocol-Version: 2026-07-28',
    'mCP-mETHOD:tools/call',
    'Mcp-Name: \t b t \t ',
    'Mcp-Param-Region: \tEU  west ',
    'mcp-param-REGION: US',
  );
  t.same(whole.request.mirror, {
    protocolVersion: '2026-07-28',
    method: 'tools/call',
    name: 'b t',
    params: ['mcp-param-region', 'EU  west, US'],
  });
  const { mirror } = (await exchangeOf('mcp-protocol-version: 2025-11-25')).request;
  t.same(mirror, { ...NO_MIRROR, protocolVersion: '2025-11-25' }, 'nothing is left of the request before');
  const versions = ['mcp-protocol-version: 2025-11-25', 'mcp-protocol-version: 2026-07-28'];
  t.equal((await exchangeOf(...versions)).request.mirror.protocolVersion, '2025-11-25, 2026-07-28', 'two are neither');
  const many = Array.from({ length: limits.mirroredParamsMax + 1 }, (_, i) => `mcp-param-${i}: 1`);
  t.equal((await exchangeOf(...many)).head.isMirrorTooLarge, true);
  t.equal((await exchangeOf(...many.slice(1))).head.isMirrorTooLarge, false);
});
