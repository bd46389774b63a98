// A worker is killed under load, without a session directory. The only losses are the inevitable ones: connections to that worker,
// and sessions that it owned. Callers keep their connections here, so that it is known which worker each of them talks to.
import t, { type Test } from 'tap';
import { ownerOf } from '../../src/worker/session-id.js';
import { backendFor, startDeployment, type ConfiguredCaller } from '../support/deployment.js';
import type { LogLine } from '../support/gateway.js';
import { KeptCaller } from '../support/kept-caller.js';
import { answerText, rpc, type McpSession } from '../support/mcp-caller.js';
import type { HttpAnswer } from '../support/raw-http.js';
import { until } from '../support/until.js';

const OPTIONS = ['--log-level', 'debug', '--session-directory', 'none'];
const WORKERS = 4;
const VICTIM = 2;
const LINES_PER_SLOT = 3;
const LINES_MAX = 200;
/** How many responses every line gets before the kill, and again after the slot is back. */
const ANSWERS = 20;

/** A kept connection and the session opened over it: both belong to the same worker. */
interface Line {
  readonly slot: number;
  readonly caller: KeptCaller;
  readonly session: McpSession;
}

/** Opens connections until every worker has enough of them. */
async function openLines(t: Test, caller: ConfiguredCaller): Promise<Line[]> {
  const lines: Line[] = [];
  const isReached = (slot: number): boolean => lines.filter((line) => line.slot === slot).length >= LINES_PER_SLOT;
  while (![...Array(WORKERS).keys()].every(isReached)) {
    if (lines.length === LINES_MAX) throw new Error(`${LINES_MAX} connections did not reach every worker`);
    const kept = await KeptCaller.connect(caller);
    t.teardown(() => kept.close());
    const session = await kept.openSession();
    lines.push({ slot: ownerOf(session.id, WORKERS), caller: kept, session });
  }
  return lines;
}

/** Calls over one connection, in one session after the other, until told to end. */
class Load {
  readonly #line: Line;
  readonly #sessions: readonly McpSession[];
  readonly #onAnswer: (answer: HttpAnswer, session: McpSession, id: number) => void;
  readonly ended: Promise<void>;
  static #lastId = 0;
  answers = 0;
  isEnding = false;

  constructor(
    line: Line,
    sessions: readonly McpSession[],
    onAnswer: (answer: HttpAnswer, session: McpSession, id: number) => void,
  ) {
    this.#line = line;
    this.#sessions = sessions;
    this.#onAnswer = onAnswer;
    this.ended = this.#run();
  }

  async #run(): Promise<void> {
    while (!this.isEnding) {
      const session = this.#sessions[this.answers % this.#sessions.length]!;
      const id = ++Load.#lastId;
      const answer = await this.#line.caller.use(session).call('one-echo', `{"id":${id}}`, { id: String(id) });
      this.answers++;
      this.#onAnswer(answer, session, id);
    }
  }
}

function isOwnAnswer(answer: HttpAnswer, id: number): boolean {
  if (answer.status !== 200) return false;
  const message = rpc(answer);
  const { structuredContent } = (message.result ?? {}) as { structuredContent?: { id?: unknown } };
  return message.id === id && structuredContent?.id === id;
}

function isListening(slot: number): (line: LogLine) => boolean {
  return (line) => line['msg'] === 'worker listening' && line['slot'] === slot;
}

t.test('a killed worker is replaced, and the sessions of the others lose nothing', async (t) => {
  const backend = await backendFor(t, { withSessions: true });
  const deployment = await startDeployment(t, { workerCount: WORKERS, options: OPTIONS });
  const { gateway } = deployment;
  const caller = await deployment.caller({ one: { url: backend.url } });
  const lines = await openLines(t, caller);
  const surviving = lines.filter(({ slot }) => slot !== VICTIM);
  const lost = lines.filter(({ slot }) => slot === VICTIM);
  const pidsBefore = gateway.workerPids();
  const victimPid = (await gateway.waitForLog(isListening(VICTIM)))['workerPid'] as number;

  // Over every surviving connection: sessions of its own worker, and sessions one hop away.
  const failures: string[] = [];
  const survivingSessions = surviving.map(({ session }) => session);
  const loads = surviving.map(
    (line) =>
      new Load(line, survivingSessions, (answer, session, id) => {
        if (isOwnAnswer(answer, id)) return;
        const way = `worker ${line.slot} → worker ${ownerOf(session.id, WORKERS)}`;
        failures.push(`${way}: ${answer.status} ${answer.text}`);
      }),
  );
  // The doomed sessions, over connections to surviving workers. The responses may be refusals, but every request must get one.
  const refusalsOfLost = new Set<number>();
  const visitors = surviving.slice(0, 3).map(() => KeptCaller.connect(caller));
  const hopping: Load[] = [];
  for (const visitor of await Promise.all(visitors)) {
    t.teardown(() => visitor.close());
    const session = await visitor.openSession();
    const slot = ownerOf(session.id, WORKERS);
    if (slot === VICTIM) continue;
    const doomed = lost.map((line) => line.session);
    const load = new Load({ slot, caller: visitor, session }, doomed, (answer, _session, id) => {
      if (!isOwnAnswer(answer, id)) refusalsOfLost.add(answer.status);
    });
    hopping.push(load);
  }
  // And over the doomed connections, which end when the worker does, if not before.
  const cut = lost.map(async ({ caller: kept, session }) => {
    for (;;) await kept.use(session).call('one-echo');
  });
  const cutOff = Promise.allSettled(cut);

  const everyone = [...loads, ...hopping];
  const answered = async (count: number): Promise<void> => {
    const goals = everyone.map((load) => ({ load, goal: load.answers + count }));
    await until(() => goals.every(({ load, goal }) => load.answers >= goal), `${count} answers on each connection`);
  };
  await answered(ANSWERS);
  t.same(failures, [], 'nothing fails before');
  t.same([...refusalsOfLost], []);

  const logsBefore = gateway.logs.length;
  process.kill(victimPid, 'SIGKILL');
  await until(() => gateway.logs.slice(logsBefore).some(isListening(VICTIM)), 'the worker that takes its place');
  await answered(ANSWERS);
  for (const load of everyone) load.isEnding = true;
  await Promise.all(everyone.map(({ ended }) => ended));

  t.same(failures, [], 'no request in a session of a surviving worker, over a connection to one, failed');
  for (const { status, reason } of (await cutOff) as { status: string; reason?: unknown }[]) {
    t.equal(status, 'rejected', 'connections to the killed worker ended');
    t.match(String(reason), /the connection ended/);
  }
  t.strictSame(
    [...refusalsOfLost].filter((status) => status !== 404 && status !== 503),
    [],
  );

  const pidsAfter = gateway.workerPids();
  t.equal(pidsAfter.length, WORKERS);
  t.same(
    pidsBefore.filter((pid) => !pidsAfter.includes(pid)),
    [victimPid],
    'no other worker was lost',
  );
  await t.test("the killed worker's sessions are gone: 404, whichever worker is asked", async (t) => {
    for (const { session } of lost) {
      for (const line of surviving) t.equal((await line.caller.use(session).call('one-echo')).status, 404);
      t.equal((await caller.send({ session: session.id, method: 'DELETE' })).status, 404);
    }
  });
  await t.test('a new session of the replaced worker works, from every worker', async (t) => {
    let session: McpSession | undefined;
    await until(async () => {
      session = await caller.openSession();
      return ownerOf(session.id, WORKERS) === VICTIM;
    }, 'a session that the new worker owns');
    if (session === undefined) throw new Error('no session');
    for (const [id, line] of surviving.entries()) {
      const answer = await line.caller.use(session).call('one-echo', `{"id":${id}}`, { id: String(id) });
      t.ok(isOwnAnswer(answer, id), answerText(answer));
    }
  });
  t.equal(gateway.logs.filter(({ msg }) => msg === 'worker died; replacing it').length, 1);
  t.equal(gateway.errorOutput, '');
});

t.test('after workers were killed one after the other, the gateway serves as before', async (t) => {
  const backend = await backendFor(t, { answerAs: 'event-stream', framing: 'chunked' });
  const deployment = await startDeployment(t, { workerCount: WORKERS });
  const { gateway } = deployment;
  const caller = await deployment.caller({ one: { url: backend.url } });
  for (const pid of gateway.workerPids()) {
    process.kill(pid, 'SIGKILL');
    await until(() => {
      const pids = gateway.workerPids();
      return pids.length === WORKERS && !pids.includes(pid);
    }, 'the next process of the slot');
  }
  const replaced = (): number => gateway.logs.filter(({ msg }) => msg === 'worker listening').length;
  await until(() => replaced() === WORKERS, 'every new worker to listen');
  const owners = new Set<number>();
  await until(async () => {
    const session = await caller.openSession();
    owners.add(ownerOf(session.id, WORKERS));
    const answers = await Promise.all(
      [1, 2, 3, 4].map((id) => session.call('one-echo', `{"id":${id}}`, { id: String(id) })),
    );
    for (const [index, answer] of answers.entries()) t.ok(isOwnAnswer(answer, index + 1), answerText(answer));
    return owners.size === WORKERS;
  }, 'sessions of all four workers');
});

t.test('a worker that hangs is replaced, and its slot serves again', async (t) => {
  const backend = await backendFor(t);
  const options = ['--worker-hang-timeout', '2s', '--log-level', 'debug'];
  const deployment = await startDeployment(t, { workerCount: 2, options });
  const { gateway } = deployment;
  const caller = await deployment.caller({ one: { url: backend.url } });
  const hung = (await gateway.waitForLog(isListening(1)))['workerPid'] as number;
  process.kill(hung, 'SIGSTOP');
  t.match(await gateway.waitForLog(({ msg }) => msg === 'worker hangs: killed'), { slot: 1, workerPid: hung });
  await until(() => gateway.logs.filter(isListening(1)).length === 2, 'the worker that takes its place');
  await until(async () => {
    const session = await caller.openSession();
    t.ok(isOwnAnswer(await session.call('one-echo', '{"id":1}', { id: '1' }), 1));
    return ownerOf(session.id, 2) === 1;
  }, 'a session of the new worker');
  t.equal(gateway.logs.filter(({ msg }) => msg === 'worker hangs: killed').length, 1, 'the other one was left alone');
});
