import t from 'tap';
import { readClientMessage, type ClientMessage } from '../../src/mcp/json-rpc.js';
import type { ModernEnvelope } from '../../src/mcp/modern-envelope.js';
import { envelopeFault } from '../../src/modern/modern-rules.js';
import { limits } from '../../src/shared/limits.js';
import { bodyOf } from './modern-request.js';

const KEY = 'io.modelcontextprotocol/';

function faultOf(meta: Readonly<Record<string, unknown>>): string | undefined {
  const body = Buffer.from(bodyOf('tools/list', { meta }));
  const { envelope } = readClientMessage(body) as ClientMessage & { readonly envelope: ModernEnvelope };
  return envelopeFault(body, envelope);
}

/** An object whose JSON has so many bytes. */
function objectOf(bytes: number): object {
  return { x: 'x'.repeat(bytes - '{"x":""}'.length) };
}

t.test('what a client says of itself may be as long as its limit, and no longer', async (t) => {
  t.equal(faultOf({}), undefined);
  for (const [member, max] of [
    ['clientInfo', limits.clientMemberBytesMax],
    ['clientCapabilities', limits.clientMemberBytesMax],
  ] as const) {
    t.equal(faultOf({ [`${KEY}${member}`]: objectOf(max) }), undefined, member);
    t.equal(
      faultOf({ [`${KEY}${member}`]: objectOf(max + 1) }),
      `${KEY}${member} must not be longer than ${max} bytes`,
    );
  }
});

t.test('what a client says of itself is an object, and its level one of the eight', async (t) => {
  for (const wrong of [[], 'x', 1, null])
    t.equal(faultOf({ [`${KEY}clientInfo`]: wrong }), `${KEY}clientInfo must be an object`);
  for (const level of ['debug', 'emergency']) t.equal(faultOf({ [`${KEY}logLevel`]: level }), undefined, level);
  for (const level of ['', 'Debug', 1, null, `debug${' '.repeat(200)}`])
    t.match(faultOf({ [`${KEY}logLevel`]: level }), /logLevel must be one of the eight levels/, String(level));
});
