// In tests, reusable memory is overwritten with invalid bytes as soon as it is returned: here by loading the module that `npm test` loads
// into every process.
import t from 'tap';
import { LargeMemory } from '../../src/fair/large-memory.js';
import { LIST_PART_BYTES } from '../../src/upstream/rpc/unparsed-answer.js';

import { plainRequest } from '../../src/http-client/http-upstream.js';
import { Names } from '../../src/http-client/names/names.js';
import { Http1Upstream } from '../../src/http-client/http1-upstream.js';
import { POISON } from '../support/poison.js';
import { startRawBackend } from '../support/raw-backend.js';

const MIB = 1024 * 1024;

function isPoisoned(memory: Uint8Array): boolean {
  return memory.every((byte) => byte === POISON);
}

t.test('large memory is overwritten, kept or not; memory that was not lent stays as it is', async (t) => {
  for (const spareBytesMax of [8 * MIB, 0]) {
    const memory = new LargeMemory(spareBytesMax);
    const body = memory.take(MIB).fill(1);
    const kept = body.subarray(10, 20);
    memory.giveBack(body);
    t.ok(isPoisoned(body));
    t.ok(isPoisoned(kept), 'whoever still reads a part of it reads nonsense');
    const foreign = Buffer.alloc(MIB, 1);
    memory.giveBack(foreign);
    t.notOk(foreign.includes(POISON));
  }
});

t.test('parts of lists, which come back from a thread', async (t) => {
  const memory = new LargeMemory();
  const part = memory.take(LIST_PART_BYTES);
  t.equal(part.length, LIST_PART_BYTES);
  const { buffer } = structuredClone(part, { transfer: [part.buffer as ArrayBuffer] });
  const back = new Uint8Array(buffer).fill(1);
  memory.giveBack(back, true);
  t.ok(isPoisoned(back));
  t.equal(memory.take(LIST_PART_BYTES).buffer, buffer, 'and used again');
});

t.test('bytes read from a backend are overwritten once they were passed on', async (t) => {
  const backend = await startRawBackend((request) => request.json({ large: 'x'.repeat(1_000) }));
  t.teardown(() => backend.close());
  const upstream = new Http1Upstream({ connectTimeoutMs: 5_000, names: new Names() });
  t.teardown(() => upstream.close());
  const chunks: Buffer[] = [];
  await new Promise<void>((resolve, reject) => {
    const { url, origin } = backend;
    const { hostname, port } = new URL(url);
    const target = { origin, hostname, port: Number(port), path: '/mcp', isTls: false };
    upstream.dispatch(plainRequest('alice', target, 'POST', [], Buffer.from('{}')), {
      onHead: () => undefined,
      onData: (chunk) => void chunks.push(chunk),
      onEnd: resolve,
      onFault: reject,
    });
  });
  await new Promise((resolve) => setImmediate(resolve));
  t.not(chunks.length, 0);
  for (const chunk of chunks) t.ok(isPoisoned(chunk), 'a chunk that is kept without being copied');
});
