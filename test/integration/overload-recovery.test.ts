// A worker that was overloaded with requests recovers fully once they have ended: the memory that they used is free again.
import { readFileSync } from 'node:fs';
import t from 'tap';
import { backendFor, startDeployment } from '../support/deployment.js';
import { inParallel } from '../support/in-parallel.js';
import { encodeRequest, RawConnection } from '../support/raw-http.js';
import { INITIALIZE_PARAMS } from '../support/mcp-caller.js';
import { until } from '../support/until.js';

const MIB = 1_048_576;
const SUBJECTS = 4;
const SESSIONS_EACH = 2;
const CALLS_EACH = 900;
const ARGUMENTS = `{"pad":"${'p'.repeat(15_000)}"}`;

function residentMib(pid: number): number {
  return Math.round(
    (Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024) / MIB,
  );
}

t.test('a worker with little memory recovers after a flood of bodies of 15 KB', async (t) => {
  let finish = (): void => undefined;
  const finished = new Promise<void>((resolve) => (finish = resolve));
  t.teardown(() => finish());
  const slow = await backendFor(t, {
    onCall: async () => {
      await finished;
      return { content: [] };
    },
  });
  const deployment = await startDeployment(t, { workerCount: 1, options: ['--worker-memory', '192MiB'] });
  const victim = await deployment.caller({ one: { url: slow.url } });
  const [pid] = deployment.gateway.workerPids();
  if (pid === undefined) throw new Error('no worker');
  t.comment(`${residentMib(pid)} MiB at first`);
  const callers = await Promise.all(
    [...Array(SUBJECTS).keys()].map(() => deployment.caller({ one: { url: slow.url } })),
  );
  const sessions = await Promise.all(
    callers.flatMap((caller) =>
      [...Array(SESSIONS_EACH).keys()].map(async () => ({ caller, session: await caller.openSession() })),
    ),
  );
  const connections: RawConnection[] = [];
  t.teardown(() => connections.forEach((connection) => connection.close()));
  const attempts = [...Array(CALLS_EACH).keys()].flatMap((_, id) => sessions.map((each) => ({ ...each, id })));
  await inParallel(attempts, 64, async ({ caller, session, id }) => {
    const connection = await RawConnection.open(caller.origin);
    connections.push(connection);
    const params = `{"name":"one-echo","arguments":${ARGUMENTS}}`;
    const body = `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":${params}}`;
    connection.write(encodeRequest(caller.origin, caller.request({ session: session.id, body })));
  });
  const refused = (): boolean => deployment.gateway.logs.some((line) => String(line['msg']).includes('overloaded'));
  await until(refused, 'overload');
  t.comment(`${residentMib(pid)} MiB at most`);
  finish();
  for (const connection of connections) connection.close();
  const isOver = (): boolean =>
    deployment.gateway.logs.some((line) => String(line['msg']).includes('overload is over'));
  await until(isOver, 'the end of it');
  const body = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":${INITIALIZE_PARAMS}}`;
  const { status } = await victim.send({ body });
  t.equal(status, 200, `a session is opened again, with ${residentMib(pid)} MiB`);
});
