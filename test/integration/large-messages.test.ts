// Messages as large as the limits allow, and larger, from callers and from backends: other callers of the same worker are hardly affected.
import t from 'tap';
import { backendFor, startDeployment } from '../support/deployment.js';
import { KeptCaller } from '../support/kept-caller.js';
import { rpc, type McpSession } from '../support/mcp-caller.js';
import { startRawBackend, type RawHandler } from '../support/raw-backend.js';

const MIB = 1024 * 1024;

/** Calls a small tool repeatedly until the work is done. @returns the duration of the slowest call, ms. */
async function slowestBeside(session: McpSession, work: Promise<unknown>): Promise<number> {
  const kept = await KeptCaller.connect(session.caller);
  const own = kept.use(session);
  let isOver = false;
  const over = work.finally(() => {
    isOver = true;
  });
  let slowestMs = 0;
  while (!isOver) {
    const startedAtMs = performance.now();
    const answer = await own.call('small-echo', '{"text":"hello"}');
    if (rpc(answer).result === undefined) throw new Error(`the small call failed: ${answer.text}`);
    slowestMs = Math.max(slowestMs, performance.now() - startedAtMs);
  }
  kept.close();
  await over;
  return slowestMs;
}

/** `JSON.parse` would take most of a minute and 2 GiB for 57 MiB of this. */
const OBJECTS = Buffer.from('{},'.repeat(19 * MIB));
const FAT_RESULT = [
  Buffer.from(
    '{"jsonrpc":"2.0","id":"switchyard-initialize","result":{"protocolVersion":"2025-11-25","capabilities":{"x":[',
  ),
  OBJECTS,
  Buffer.from('{}]}}}'),
];

const fatAnswers: Readonly<Record<string, RawHandler>> = {
  'with its length': (request) => {
    const bytes = FAT_RESULT.reduce((sum, { length }) => sum + length, 0);
    request.head({}, { 'content-type': 'application/json', 'content-length': String(bytes) });
    for (const part of FAT_RESULT) request.bytes(part);
  },
  'in chunks': (request) => request.chunked(FAT_RESULT),
  'as an event': async (request) => {
    const stream = request.eventStream();
    await stream.bytes('data: ');
    for (const part of FAT_RESULT) await stream.bytes(part);
    await stream.bytes('\n\n');
  },
};

t.test("a backend's answer to initialize of 57 MiB is given up, and nobody else notices", async (t) => {
  const small = await backendFor(t);
  // Long enough timeouts for a busy machine: the response must be rejected for its size alone.
  const options = ['--initialize-patience', '60s', '--initialize-timeout', '60s'];
  const deployment = await startDeployment(t, { workerCount: 1, options });
  const victim = await (await deployment.caller({ small: { url: small.url } })).openSession();
  for (const [way, handler] of Object.entries(fatAnswers)) {
    const fat = await startRawBackend(handler);
    t.teardown(() => fat.close());
    const caller = await deployment.caller({ fat: { url: fat.url } });
    const opening = caller.initialize();
    const slowestMs = await slowestBeside(victim, opening);
    const { _meta: meta } = rpc(await opening).result as { _meta: Readonly<Record<string, unknown>> };
    t.same(meta['switchyard/unavailable'], [{ backend: 'fat', reason: 'response too large' }], way);
    // It was once 50 seconds; even a busy machine stays far below that now.
    t.ok(slowestMs < 15_000, `${way}: the slowest small call took ${Math.round(slowestMs)} ms`);
  }
});
