import t from 'tap';
import { NO_MIRROR } from '../../src/exchange/exchange.js';
import { mirrorIn, mirrorOfVersion } from '../../src/exchange/transport.js';
import { limits } from '../../src/shared/limits.js';

t.test('heads with only a protocol version share one mirror per version', async (t) => {
  t.equal(mirrorOfVersion(''), NO_MIRROR);
  const mirror = mirrorOfVersion('2025-11-25');
  t.same(mirror, { ...NO_MIRROR, protocolVersion: '2025-11-25' });
  t.equal(mirrorOfVersion('2025-11-25'), mirror, 'nothing is made for it again');
  t.equal(mirrorOfVersion('2025-06-18').protocolVersion, '2025-06-18');
});

t.test('parameters keep their order', async (t) => {
  const headers = ['accept', '*/*', 'mcp-method', 'tools/call', 'mcp-name', 'b-t', 'mcp-other', 'x'];
  t.same(mirrorIn([...headers, 'mcp-param-z', 'a b', 'mcp-param-a', ''], '2026-07-28'), {
    protocolVersion: '2026-07-28',
    method: 'tools/call',
    name: 'b-t',
    params: ['mcp-param-z', 'a b', 'mcp-param-a', ''],
  });
  t.same(mirrorIn(['accept', '*/*'], ''), NO_MIRROR);
});

t.test('a header that comes twice with different values matches neither of them', async (t) => {
  const headers = [
    'mcp-method',
    'a',
    'mcp-param-x',
    '1',
    'mcp-method',
    'b',
    'mcp-name',
    'n',
    'mcp-name',
    'n',
    'mcp-param-x',
    '2',
  ];
  t.same(mirrorIn(headers, ''), { protocolVersion: '', method: 'a, b', name: 'n', params: ['mcp-param-x', '1, 2'] });
});

t.test('mirrored parameters are bounded in number and in bytes', async (t) => {
  const many = (count: number): string[] => Array.from({ length: count }, (_, i) => [`mcp-param-${i}`, 'v']).flat();
  t.equal(mirrorIn(many(limits.mirroredParamsMax), '')?.params.length, 2 * limits.mirroredParamsMax);
  t.equal(mirrorIn(many(limits.mirroredParamsMax + 1), ''), undefined);
  const name = 'mcp-param-x';
  const room = limits.mirroredParamBytesMax - name.length;
  t.equal(mirrorIn([name, 'v'.repeat(room)], '')?.params[1]?.length, room);
  t.equal(mirrorIn([name, 'v'.repeat(room + 1)], ''), undefined);
  t.equal(mirrorIn([name, 'é'.repeat(room / 2 + 1)], ''), undefined, 'bytes, not characters');
  const repeated = Array.from({ length: limits.mirroredParamBytesMax }, () => [name, '']).flat();
  t.equal(mirrorIn(repeated, ''), undefined, 'one that is repeated counts each time');
});
