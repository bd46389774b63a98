// Large calls and responses of many callers at once, some of whom read slowly or disconnect. Their memory is reused as soon as they
// are done, so every byte is compared: no caller may ever see another caller's data.
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { backendFor, startDeployment } from '../support/deployment.js';
import { inParallel } from '../support/in-parallel.js';
import { memberText } from '../support/json-text.js';
import type { McpSession } from '../support/mcp-caller.js';
import { Random } from '../support/random.js';
import { encodeRequest, RawConnection } from '../support/raw-http.js';
import { LARGE_MEMORY_FROM_BYTES } from '../../src/fair/large-memory.js';

const SESSIONS = 12;
const CALLS = 240;
const AT_ONCE = 24;

/** The text of a call: no part of it occurs in any other call's text. */
function textOf(call: number, bytes: number): string {
  const row = `call ${call} of ${bytes}; `;
  return row.repeat(Math.ceil(bytes / row.length));
}

t.test('large bodies keep every byte while other callers are served', async (t) => {
  const whole = await backendFor(t);
  const chunked = await backendFor(t, { framing: 'chunked' });
  const late = await backendFor(t, { onCall: () => sleep(20) });
  const deployment = await startDeployment(t, { workerCount: 2 });
  const urls = { whole: { url: whole.url }, chunked: { url: chunked.url }, late: { url: late.url } };
  const caller = await deployment.caller(urls);
  const sessions: McpSession[] = [];
  for (let each = 0; each < SESSIONS; each += 1) sessions.push(await caller.openSession());

  const random = new Random(11);
  const plans = Array.from({ length: CALLS }, (_, call) => ({
    call,
    session: sessions[call % SESSIONS]!,
    backend: random.pick(['whole', 'chunked', 'late']),
    text: textOf(call, random.pick([100, 30_000, LARGE_MEMORY_FROM_BYTES, 200_000, 250_000, 3_500_000])),
    manner: random.pick(['reads', 'reads', 'reads', 'reads slowly', 'goes away']),
    patienceMs: random.below(60),
  }));
  const wrong: string[] = [];
  await inParallel(plans, AT_ONCE, async ({ call, session, backend, text, manner, patienceMs }) => {
    const params = JSON.stringify({ name: `${backend}-echo`, arguments: { text } });
    const body = `{"jsonrpc":"2.0","id":${call},"method":"tools/call","params":${params}}`;
    const connection = await RawConnection.open(caller.origin);
    connection.write(encodeRequest(caller.origin, caller.request({ session: session.id, body })));
    if (manner !== 'reads') connection.pause();
    if (manner !== 'reads') await sleep(patienceMs);
    if (manner !== 'goes away') {
      connection.resume();
      const answer = await connection.readAnswer();
      const echoed = `"structuredContent":${JSON.stringify({ text })}`;
      const isRight = answer.status === 200 && answer.text.includes(echoed) && answer.text.includes(`"id":${call}`);
      if (!isRight) wrong.push(`answer ${call} from ${backend}: ${answer.text.slice(0, 200)}`);
    }
    connection.close();
  });
  t.same(wrong, []);

  const received = [whole, chunked, late].flatMap(({ calls }) => calls);
  for (const { argumentsText = '' } of received) {
    const text = memberText(argumentsText, 'text') ?? '';
    const call = Number(/^"call (\d+) /.exec(text)?.[1]);
    if (text !== JSON.stringify(plans[call]?.text)) wrong.push(`call ${call} at its backend: ${text.slice(0, 200)}`);
  }
  t.same(wrong, []);
  t.ok(received.length > CALLS / 2, `${received.length} calls`);
});
