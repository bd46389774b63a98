// One subject fills the worker's memory as far as its shares allow, beside a victim with a steady load: large requests that are
// never answered, large responses and streams that are never read, large sessions. The attacker is told which share is full, the
// worker uses no more memory than that, and the victim notices nothing.
import t from 'tap';
import { residentBytesOf } from '../../bench/process-usage.js';
import { Scope } from '../attack/scope.js';
import { checkRefusals, flood, UnansweredCalls } from '../support/attacker.js';
import { checkBeside, startScene, type Scene } from '../support/beside.js';
import { backendFor } from '../support/deployment.js';
import type { McpBackendOptions } from '../support/mcp-backend.js';
import { until } from '../support/until.js';

const MIB = 1_048_576;
const BYTES_IN_FLIGHT = ['--max-bytes-in-flight', '64MiB', '--max-bytes-in-flight-per-subject', '32MiB'];
/** The responses that are left unread at the same time, and the size of each. */
const UNREAD = { count: 32, mib: 12 };

/** The largest memory of the gateway's workers during the action. */
async function mostMemory({ deployment: { gateway } }: Scene, action: () => Promise<unknown>): Promise<number> {
  let most = 0;
  const look = (): void => void (most = Math.max(most, residentBytesOf(gateway.workerPids())));
  const timer = setInterval(look, 50);
  try {
    await action();
    look();
  } finally {
    clearInterval(timer);
  }
  return most;
}

/** What the attacker leaves unread: large responses, or streams of large events. */
const unread: Readonly<Record<string, NonNullable<McpBackendOptions['onCall']>>> = {
  'large answers that nobody reads': () => ({ content: [{ type: 'text', text: 'x'.repeat(UNREAD.mib * MIB) }] }),
  'streams of large events that nobody reads': async (call) => {
    const request = call.takeOver();
    const stream = request.eventStream();
    const params = { progressToken: 1, progress: 1, message: 'x'.repeat(2 * MIB) };
    for (let sent = 0; sent < UNREAD.mib && !request.connection.destroyed; sent += 2) {
      await stream.event({ jsonrpc: '2.0', method: 'notifications/progress', params });
    }
  },
};

t.test('answers and sessions', async (t) => {
  const scene = await startScene(t, [
    ...['--max-session-bytes', '8MiB', '--max-session-bytes-per-subject', '1MiB'],
    // A response that waits for room is refused before `--slow-answer` would send its head.
    ...['--slow-answer', '30s'],
    ...BYTES_IN_FLIGHT,
  ]);
  const { gateway } = scene.deployment;

  for (const [what, onCall] of Object.entries(unread)) {
    await t.test(`bytes in flight: ${what}`, async (t) => {
      const held = new Scope();
      t.teardown(() => held.end());
      const before = residentBytesOf(gateway.workerPids());
      const most = await mostMemory(scene, () =>
        checkBeside(t, scene, async () => {
          const calls = await leaveUnread(scene, held, onCall);
          if (what.startsWith('large')) await until(() => told(calls) > 0, 'the first that there is no room for');
          t.ok(calls.unreadCount > 0, `${calls.unreadCount} answers are held for who does not read them`);
        }),
      );
      const moreMib = Math.round((most - before) / MIB);
      const askedMib = UNREAD.count * UNREAD.mib;
      t.ok(moreMib < askedMib / 2, `${moreMib} MiB more, of the ${askedMib} that were asked for`);
    });
  }

  await t.test('sessions: by the memory that they take', async (t) => {
    const clientInfo = `{"name":"${'c'.repeat(15_000)}","version":"1"}`;
    const params = `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":${clientInfo}}`;
    await checkBeside(t, scene, async () => {
      const caller = await scene.deployment.caller();
      const answers = await flood(caller, 600, (lane) => lane.initialize({ params }));
      const opened = answers.filter(({ status }) => status === 200).length;
      t.ok(opened > 0 && opened <= 1_048_576 / 15_000, `${opened} fat sessions in 1 MiB`);
      checkRefusals(t, answers, [429]);
    });
  });
});

async function leaveUnread(
  scene: Scene,
  scope: Scope,
  onCall: NonNullable<McpBackendOptions['onCall']>,
): Promise<UnansweredCalls> {
  const backend = await backendFor(scope, { onCall });
  const session = await (await scene.deployment.caller({ large: { url: backend.url } })).openSession();
  const calls = new UnansweredCalls(scope);
  await calls.send([session], UNREAD.count, 'large-echo');
  await until(() => backend.calls.length === UNREAD.count, 'all calls at the backend');
  return calls;
}

/** How many calls were refused because the subject's share is full. */
function told({ answers }: UnansweredCalls): number {
  return answers.filter(({ text }) => text.includes('response too large for your share of memory')).length;
}

t.test('bytes in flight: large requests that nobody answers', async (t) => {
  const scene = await startScene(t, BYTES_IN_FLIGHT);
  const before = residentBytesOf(scene.deployment.gateway.workerPids());
  const args = JSON.stringify({ text: 'x'.repeat(3 * MIB) });
  const most = await mostMemory(scene, () =>
    checkBeside(t, scene, async (scope) => {
      const hung = await backendFor(scope, { onCall: (call) => void call.takeOver() });
      const session = await (await scene.deployment.caller({ hung: { url: hung.url } })).openSession();
      const calls = new UnansweredCalls(scope);
      await calls.send([session], 100, 'hung-echo', args);
      await until(() => calls.answers.length >= 90, 'the refusals');
      t.ok(hung.calls.length <= 10, `${hung.calls.length} requests of 3 MiB in 32 MiB`);
      checkRefusals(t, calls.answers, [429]);
    }),
  );
  t.ok(most - before < 150 * MIB, `${Math.round((most - before) / MIB)} MiB more, of the 300 that were sent`);
});
