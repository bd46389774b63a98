// One subject takes all that a share lets it have, at full force, beside a victim with a steady load: the attacker is told
// which share is full and when to try again, and the victim notices nothing. Shares are small here, so that they are full at
// once. Attackers of one scene are subjects of their own and come one after the other.
import t, { type Test } from 'tap';
import { residentBytesOf } from '../../bench/process-usage.js';
import { checkBeside, startScene, type Scene } from '../support/beside.js';
import { backendFor, type ConfiguredCaller } from '../support/deployment.js';
import { inParallel } from '../support/in-parallel.js';
import { KeptCaller } from '../support/kept-caller.js';
import { answerText, type McpSession } from '../support/mcp-caller.js';
import { encodeRequest, RawConnection, type HttpAnswer } from '../support/raw-http.js';
import type { McpBackendOptions } from '../support/mcp-backend.js';
import { startNameServer } from '../support/name-server.js';
import { until } from '../support/until.js';

const LANES = 8;
const MIB = 1_048_576;
const BYTES_IN_FLIGHT = ['--max-bytes-in-flight', '64MiB', '--max-bytes-in-flight-per-subject', '32MiB'];
/** Answers that nobody reads, at once. */
const UNREAD = 32;

/** The attacker's requests over a few kept connections, each as soon as the one before was answered. */
async function flood(
  caller: ConfiguredCaller,
  count: number,
  request: (lane: KeptCaller) => Promise<HttpAnswer>,
): Promise<HttpAnswer[]> {
  const lanes = await Promise.all(Array.from({ length: LANES }, () => KeptCaller.connect(caller)));
  const answers: HttpAnswer[] = [];
  await inParallel(lanes, LANES, async (lane) => {
    for (let turn = 0; turn < count / LANES; turn++) answers.push(await request(lane));
    lane.close();
  });
  return answers;
}

/** A call that is sent and not waited for; its answer, when there is one. */
async function sendCall(
  t: Test,
  session: McpSession,
  tool: string,
  id: number,
  args = '{}',
): Promise<() => HttpAnswer | undefined> {
  const { caller } = session;
  const connection = await RawConnection.open(caller.origin, 60_000);
  t.teardown(() => connection.close());
  const params = `{"name":"${tool}","arguments":${args}}`;
  const body = `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":${params}}`;
  connection.write(encodeRequest(caller.origin, caller.request({ session: session.id, body })));
  let answer: HttpAnswer | undefined;
  void connection.readAnswer().then(
    (whole) => (answer = whole),
    () => undefined, // Closed with the test.
  );
  return () => answer;
}

/** Of the gateway's workers, at its most while the action lasts. */
async function mostMemory(gateway: Scene['deployment']['gateway'], action: () => Promise<void>): Promise<number> {
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

/** Everything that was refused says when to try again. */
function checkRefusals(t: Test, refused: readonly HttpAnswer[], statuses: readonly number[]): void {
  t.ok(refused.length > 0, 'the attacker was refused');
  for (const answer of refused) {
    if (statuses.includes(answer.status) && Number(answer.header('retry-after')) > 0) continue;
    t.fail(`${answer.status}, retry-after ${answer.header('retry-after')}: ${answer.text}`);
  }
}

/** Who does not read: a large answer, or a stream that has no end. How much is asked for without being read, in MiB. */
const unread: Readonly<
  Record<string, { readonly askedMib: number; readonly onCall: NonNullable<McpBackendOptions['onCall']> }>
> = {
  'large answers that nobody reads': {
    askedMib: 12,
    onCall: () => ({ content: [{ type: 'text', text: 'x'.repeat(12 * MIB) }] }),
  },
  'streams that nobody reads': {
    askedMib: 12,
    onCall: async (call) => {
      const request = call.takeOver();
      const stream = request.eventStream();
      const params = { progressToken: 1, progress: 1, message: 'x'.repeat(65_536) };
      for (let sent = 0; sent < 12 * MIB && !request.connection.destroyed; sent += 65_536) {
        await stream.event({ jsonrpc: '2.0', method: 'notifications/progress', params });
      }
    },
  },
};

t.test('requests, sessions and lists', async (t) => {
  const scene = await startScene(t, [
    ...['--max-sessions', '400', '--max-sessions-per-subject', '50'],
    ...['--max-requests-in-flight', '300', '--max-requests-in-flight-per-subject', '40'],
  ]);

  await t.test('sessions: by count', async (t) => {
    const caller = await scene.deployment.caller();
    await checkBeside(t, scene, async () => {
      const answers = await flood(caller, 800, (lane) => lane.initialize());
      const opened = answers.filter(({ status }) => status === 200).length;
      t.equal(opened, 50, 'the attacker has as many as its share');
      checkRefusals(
        t,
        answers.filter(({ status }) => status !== 200),
        [429],
      );
    });
  });

  await t.test('requests in flight', async (t) => {
    const hung = await backendFor(t, { onCall: (call) => void call.takeOver() });
    const session = await (await scene.deployment.caller({ hung: { url: hung.url } })).openSession();
    await checkBeside(t, scene, async () => {
      const calls: (() => HttpAnswer | undefined)[] = [];
      await inParallel([...Array(400).keys()], LANES, async (id) => {
        calls.push(await sendCall(t, session, 'hung-echo', id));
      });
      await until(() => calls.filter((answer) => answer() !== undefined).length >= 360, 'the refusals');
      t.equal(hung.calls.length, 40, 'the attacker has as many in flight as its share');
      checkRefusals(
        t,
        calls.flatMap((answer) => answer() ?? []),
        [429],
      );
    });
  });

  await t.test('list work: lists of megabytes', async (t) => {
    const description = 'd'.repeat(4_000);
    const tools = Array.from({ length: 1_000 }, (_, n) => ({
      name: `t${n}`,
      description,
      inputSchema: { type: 'object' },
    }));
    const backend = await backendFor(t, { tools });
    const session = await (await scene.deployment.caller({ fat: { url: backend.url } })).openSession();
    await checkBeside(t, scene, async () => {
      await inParallel([...Array(12).keys()], 6, async () => {
        const text = answerText(await session.list());
        if (!text.includes('"fat-t999"') && !text.includes('switchyard/unavailable')) t.fail(text.slice(0, 200));
      });
    });
  });
});

t.test('bytes', async (t) => {
  const scene = await startScene(t, [
    ...['--max-session-bytes', '8MiB', '--max-session-bytes-per-subject', '1MiB'],
    ...BYTES_IN_FLIGHT,
  ]);
  const { gateway } = scene.deployment;

  for (const [what, { askedMib, onCall }] of Object.entries(unread)) {
    await t.test(`bytes in flight: ${what}`, async (t) => {
      t.teardown(() => {
        // Only now the connections are closed, and what was kept for them goes.
        scene.alone = undefined;
      });
      const backend = await backendFor(t, { onCall });
      const session = await (await scene.deployment.caller({ large: { url: backend.url } })).openSession();
      const before = residentBytesOf(gateway.workerPids());
      const most = await mostMemory(gateway, () =>
        checkBeside(t, scene, async () => {
          await inParallel([...Array(UNREAD).keys()], LANES, async (id) => {
            const connection = await RawConnection.open(gateway.origin);
            t.teardown(() => connection.close());
            const params = '{"name":"large-echo","arguments":{},"_meta":{"progressToken":1}}';
            const body = `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":${params}}`;
            connection.pause();
            connection.write(encodeRequest(gateway.origin, session.caller.request({ session: session.id, body })));
          });
          await until(() => backend.calls.length === UNREAD, 'all calls at the backend');
        }),
      );
      const moreMib = Math.round((most - before) / MIB);
      t.ok(moreMib < (UNREAD * askedMib) / 2, `${moreMib} MiB more, of the ${UNREAD * askedMib} that were asked for`);
    });
  }

  await t.test('sessions: by the memory that they take', async (t) => {
    const caller = await scene.deployment.caller();
    const clientInfo = `{"name":"${'c'.repeat(15_000)}","version":"1"}`;
    const params = `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":${clientInfo}}`;
    await checkBeside(t, scene, async () => {
      const answers = await flood(caller, 600, (lane) => lane.initialize({ params }));
      const opened = answers.filter(({ status }) => status === 200).length;
      t.ok(opened > 0 && opened <= 1_048_576 / 15_000, `${opened} fat sessions in 1 MiB`);
      checkRefusals(
        t,
        answers.filter(({ status }) => status !== 200),
        [429],
      );
    });
  });
});

t.test('bytes in flight: large requests that nobody answers', async (t) => {
  const scene = await startScene(t, BYTES_IN_FLIGHT);
  const { gateway } = scene.deployment;
  const hung = await backendFor(t, { onCall: (call) => void call.takeOver() });
  const session = await (await scene.deployment.caller({ hung: { url: hung.url } })).openSession();
  const args = JSON.stringify({ text: 'x'.repeat(3 * MIB) });
  const before = residentBytesOf(gateway.workerPids());
  const most = await mostMemory(gateway, () =>
    checkBeside(t, scene, async () => {
      const calls: (() => HttpAnswer | undefined)[] = [];
      await inParallel([...Array(100).keys()], LANES, async (id) => {
        calls.push(await sendCall(t, session, 'hung-echo', id, args));
      });
      await until(() => calls.filter((answer) => answer() !== undefined).length >= 90, 'the refusals');
      t.ok(hung.calls.length <= 10, `${hung.calls.length} requests of 3 MiB in 32 MiB`);
      checkRefusals(
        t,
        calls.flatMap((answer) => answer() ?? []),
        [429],
      );
    }),
  );
  t.ok(most - before < 150 * MIB, `${Math.round((most - before) / MIB)} MiB more, of the 300 that were sent`);
});

t.test('connections to a backend that both use', async (t) => {
  const options = ['--upstream-connections', '16', '--upstream-connections-per-subject', '4'];
  const scene = await startScene(t, options);
  const caller = await scene.deployment.caller({ shared: { url: scene.victim.backendUrl } });
  const sessions = await Promise.all([caller.openSession(), caller.openSession()]);
  await checkBeside(t, scene, async () => {
    await inParallel([...Array(600).keys()], LANES, async (id) => {
      await sendCall(t, sessions[id % 2]!, 'shared-hang', id);
    });
  });
});

t.test('look-ups of names', async (t) => {
  const names = Array.from({ length: 200 }, (_, n) => `silent-${n}.test`);
  const nameServer = await startNameServer(Object.fromEntries(names.map((name) => [name, 'silent'])));
  t.teardown(() => nameServer.close());
  // Out of date as soon as a gateway lets it: the victim needs a look-up every second.
  nameServer.records['victim.test'] = { addresses: ['127.0.0.1'], ttl: 0 };
  const scene = await startScene(t, ['--name-servers', nameServer.address], { backendHost: 'victim.test' });
  const backends = Object.fromEntries(names.map((name, n) => [`b${n}`, { url: `http://${name}:9/mcp` }]));
  const caller = await scene.deployment.caller(backends);
  const askedBefore = nameServer.countOf('victim.test');
  await checkBeside(t, scene, async () => {
    for (const answer of await flood(caller, 3 * LANES, (lane) => lane.initialize())) t.equal(answer.status, 200);
  });
  t.ok(nameServer.countOf('victim.test') > askedBefore, "the victim's name was looked up beside the others");
});
