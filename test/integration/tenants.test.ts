// One subject takes everything that its share allows, at full force, beside a victim with a steady load: the attacker is told which
// share is full and when to try again, and the victim notices nothing. Shares are small here, so that they are full quickly; each
// scene shows that its share was. `tenants-bytes` tests shares counted in bytes, `tenants-totals` what many subjects take together,
// `tenants-connections` what no share counts: connections, heads, hops.
import t from 'tap';
import { checkRefusals, flood, UnansweredCalls } from '../support/attacker.js';
import { checkBeside, startScene } from '../support/beside.js';
import { backendFor } from '../support/deployment.js';
import { inParallel } from '../support/in-parallel.js';
import { answerText } from '../support/mcp-caller.js';
import { startNameServer } from '../support/name-server.js';
import { until } from '../support/until.js';

t.test('requests and sessions', async (t) => {
  const scene = await startScene(t, [
    ...['--max-sessions', '400', '--max-sessions-per-subject', '50'],
    ...['--max-requests-in-flight', '300', '--max-requests-in-flight-per-subject', '40'],
  ]);

  await t.test('sessions: by count', async (t) => {
    await checkBeside(t, scene, async () => {
      const caller = await scene.deployment.caller();
      const answers = await flood(caller, 800, (lane) => lane.initialize());
      const opened = answers.filter(({ status }) => status === 200).length;
      t.equal(opened, 50, 'the attacker has as many as its share');
      checkRefusals(t, answers, [429]);
    });
  });

  await t.test('requests in flight', async (t) => {
    await checkBeside(t, scene, async (scope) => {
      const hung = await backendFor(scope, { onCall: (call) => void call.takeOver() });
      const session = await (await scene.deployment.caller({ hung: { url: hung.url } })).openSession();
      const calls = new UnansweredCalls(scope);
      await calls.send([session], 400, 'hung-echo');
      await until(() => calls.answers.length >= 360, 'the refusals');
      t.equal(hung.calls.length, 40, 'the attacker has as many in flight as its share');
      checkRefusals(t, calls.answers, [429]);
    });
  });
});

t.test('list work: lists of megabytes, beside a victim with large ones', async (t) => {
  const options = ['--max-list-bytes', '64MiB', '--max-list-bytes-per-subject', '4MiB'];
  const scene = await startScene(t, options, { toolBytes: 150_000 });
  const description = 'd'.repeat(4_000);
  const tools = Array.from({ length: 300 }, (_, n) => ({
    name: `t${n}`,
    description,
    inputSchema: { type: 'object' },
  }));
  await checkBeside(t, scene, async (scope) => {
    const backend = await backendFor(scope, { tools });
    const session = await (await scene.deployment.caller({ fat: { url: backend.url } })).openSession();
    const seen = { whole: 0, refused: 0, other: 0 };
    await inParallel([...Array(90).keys()], 12, async () => {
      const text = answerText(await session.list());
      const isRefused = text.includes('list too large for your share of memory: wait for others to finish');
      seen[text.includes('"fat-t299"') ? 'whole' : isRefused ? 'refused' : 'other'] += 1;
    });
    t.ok(seen.whole > 0 && seen.refused > 0 && seen.other === 0, `the attacker's lists: ${JSON.stringify(seen)}`);
  });
});

t.test('connections to a backend that both use', async (t) => {
  const options = [
    ...['--upstream-connections', '24', '--upstream-connections-per-subject', '6'],
    ...['--max-requests-in-flight-per-subject', '300'],
  ];
  const scene = await startScene(t, options, { callsSlowly: true });
  const beside = await checkBeside(t, scene, async (scope) => {
    const caller = await scene.deployment.caller({ shared: { url: scene.victim.backendUrl } });
    const sessions = await Promise.all([caller.openSession(), caller.openSession()]);
    // Calls continue after their callers have disconnected, and end with their sessions.
    scope.teardown(() => Promise.all(sessions.map((session) => session.delete())));
    const calls = new UnansweredCalls(scope);
    await calls.send(sessions, 600, 'shared-hang');
    await until(() => calls.answers.length === 300, 'the refusals');
    checkRefusals(t, calls.answers, [429]);
  });
  t.equal(beside.hangingMost, 6, 'the attacker has as many connections as its share');
});

t.test('look-ups of names', async (t) => {
  const SHARE = 8;
  /** How long, at least, the gateway waits for a silent name server. */
  const LOOK_UP_MS = 2_000;
  const names = Array.from({ length: 200 }, (_, n) => `silent-${n}.test`);
  const nameServer = await startNameServer(Object.fromEntries(names.map((name) => [name, 'silent'])));
  t.teardown(() => nameServer.close());
  // The TTL expires as soon as the gateway allows: the victim needs a look-up every second.
  nameServer.records['victim.test'] = { addresses: ['127.0.0.1'], ttl: 0 };
  const options = ['--name-servers', nameServer.address, '--name-look-ups', '256'];
  const shares = ['--name-look-ups-per-subject', String(SHARE)];
  const scene = await startScene(t, [...options, ...shares], { backendHost: 'victim.test' });
  let turn = 0;
  await checkBeside(t, scene, async () => {
    turn += 1;
    const beganMs = performance.now();
    const askedBefore = nameServer.queries.length;
    const backends = Object.fromEntries(names.map((name, n) => [`b${n}`, { url: `http://${turn}-${name}:9/mcp` }]));
    for (const name of names) nameServer.records[`${turn}-${name}`] = 'silent';
    const caller = await scene.deployment.caller(backends);
    for (const answer of await flood(caller, 24, (lane) => lane.initialize())) t.equal(answer.status, 200);
    const asked = nameServer.queries.slice(askedBefore).map(({ name }) => name);
    const silent = new Set(asked.filter((name) => name.startsWith(`${turn}-`)));
    const atMost = SHARE * (1 + Math.ceil((performance.now() - beganMs) / LOOK_UP_MS));
    t.ok(silent.size >= SHARE && silent.size <= atMost, `${silent.size} names were asked for, ${atMost} at most`);
    t.ok(asked.includes('victim.test'), "the victim's name was looked up beside them");
  });
});
