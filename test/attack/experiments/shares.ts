// One subject that takes all it can get: sessions, connections, memory.
import { connect } from 'node:net';
import { inParallel } from '../../support/in-parallel.js';
import { answerText } from '../../support/mcp-caller.js';
import { encodeRequest, type HttpAnswer } from '../../support/raw-http.js';
import { expect, tally, Unexpected, type Experiment } from '../experiment.js';
import { startHeadFirstBackend } from '../head-first-backend.js';
import type { Stage } from '../stage.js';

const MIB = 1_048_576;
const LANES = 8;
const REFUSAL_CHARS_MAX = 120;

export const sessionFlood: Experiment = {
  name: 'session-flood',
  control: { options: ['--max-sessions-per-subject', '200000'], noticedBy: 'experiment' },
  expected: 'one subject is refused further sessions with 429 and a time to try again; others open theirs',
  async run(stage) {
    const caller = await stage.caller({});
    const answers: string[] = [];
    await openMany(stage, caller, stage.scaled(200_000, 6_000), undefined, (answer) => {
      const retryAfter = answer.header('retry-after') === undefined ? ' without retry-after' : '';
      answers.push(answer.status === 200 ? '200' : `${answer.status}${retryAfter}`);
    });
    const seen = tally(answers);
    expect(answers.includes('429') && answers.every((answer) => answer === '200' || answer === '429'), seen);
    return seen;
  },
};

export const fatSessions: Experiment = {
  name: 'fat-sessions',
  control: {
    options: ['--max-session-bytes', '1GiB', '--max-session-bytes-per-subject', '1GiB'],
    noticedBy: 'experiment',
  },
  expected:
    'sessions with 15 KiB of clientInfo and 30 KiB of instructions: who opens them has its own share used up (429), and never what all have (503)',
  async run(stage) {
    const backend = await stage.backend({ initializeExtras: { instructions: 'i'.repeat(30_000) } });
    const clientInfo = `{"name":"${'c'.repeat(15_000)}","version":"1"}`;
    const params = `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":${clientInfo}}`;
    // A subject's share is a quarter of the whole: more subjects would leave no room for anyone's new sessions, as documented.
    const subjects = stage.scaled(3, 1);
    const count = stage.scaled(2_500, 500 * stage.deployment.workerCount);
    const before = stage.residentBytes;
    const answers: string[] = [];
    for (let subject = 0; subject < subjects; subject++) {
      const caller = await stage.caller({ one: { url: backend.url } });
      await openMany(stage, caller, count, params, ({ status, text }) => {
        // The text of a refusal says whose share was exhausted, or that the worker was too busy.
        answers.push(status === 200 ? '200' : `${status} ${text.slice(0, REFUSAL_CHARS_MAX)}`);
      });
    }
    const seen = `${tally(answers)}; ${Math.round((stage.residentBytes - before) / MIB)} MiB more`;
    const refusedCount = answers.filter((answer) => answer.startsWith('429')).length;
    expect(refusedCount > 0 && answers.every((answer) => answer === '200' || answer.startsWith('429')), seen);
    return seen;
  },
};

/** Opens sessions over a few kept connections, each as soon as the previous one was answered. */
async function openMany(
  stage: Stage,
  caller: Awaited<ReturnType<Stage['caller']>>,
  count: number,
  params: string | undefined,
  onAnswer: (answer: HttpAnswer) => void,
): Promise<void> {
  const lanes = await Promise.all(Array.from({ length: LANES }, () => stage.kept(caller)));
  await inParallel(lanes, LANES, async (lane) => {
    for (let turn = 0; turn < count / LANES; turn++)
      onAnswer(await lane.initialize(params === undefined ? {} : { params }));
  });
}

export const allConnections: Experiment = {
  name: 'all-connections',
  control: {
    options: ['--upstream-connections', '64', '--upstream-connections-per-subject', '64'],
    noticedBy: 'victim',
  },
  expected:
    "calls that hang at the victim's own backend leave connections to it; who asks for more than a share is told",
  async run(stage) {
    const caller = await stage.caller({ shared: { url: stage.victim.backendUrl } });
    const sessions = await Promise.all(Array.from({ length: stage.scaled(3, 2) }, () => caller.openSession()));
    // Calls whose callers have disconnected continue; they end with their sessions.
    stage.scope.teardown(() => Promise.all(sessions.map((session) => session.delete())));
    const answers: string[] = [];
    const calls = sessions.flatMap((session) =>
      Array.from({ length: stage.scaled(1_000, 600) }, (_, id) => ({ session, id })),
    );
    await inParallel(calls, 32, async ({ session, id }) => {
      const body = `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"shared-hang","arguments":{}}}`;
      const connection = await stage.write(caller.request({ session: session.id, body }));
      void connection.readAnswer().then(
        (answer) => answers.push(`${answer.status} ${/"message":"([^"]*)"/.exec(answer.text)?.[1] ?? ''}`),
        () => undefined,
      );
    });
    // Time for the victim to be disturbed, and to open sessions meanwhile.
    await new Promise((resolve) => setTimeout(resolve, stage.scaled(8_000, 2_000)));
    return `${calls.length} hanging calls; answered at once: ${tally(answers)}`;
  },
};

export const stalledReaders: Experiment = {
  name: 'stalled-readers',
  expected: 'answers of 60 MiB to callers that do not read: the worker stays within its memory',
  async run(stage) {
    const result = Buffer.from(`{"content":[{"type":"text","text":"${'x'.repeat(60 * MIB)}"}]}`);
    const backend = await stage.backend({
      onCall: (call) => {
        const id = /"id": *(\d+)/.exec(call.request.text)?.[1];
        const before = Buffer.from(`{"jsonrpc":"2.0","id":${id},"result":`);
        const request = call.takeOver();
        const length = before.length + result.length + 1;
        request.head({ headers: { 'content-type': 'application/json', 'content-length': String(length) } });
        for (const part of [before, result, '}']) request.bytes(part);
      },
    });
    const session = await (await stage.caller({ large: { url: backend.url } })).openSession();
    stage.scope.teardown(() => session.delete());
    const before = stage.residentBytes;
    let answered = 0;
    const count = stage.scaled(40, 14);
    for (let id = 0; id < count; id++) {
      const params = '{"name":"large-echo","arguments":{}}';
      const body = `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":${params}}`;
      const connection = await stage.write(session.caller.request({ session: session.id, body }));
      void connection.readHead().then(
        () => {
          answered++;
          connection.pause();
        },
        () => undefined,
      );
    }
    await new Promise((resolve) => setTimeout(resolve, stage.scaled(15_000, 6_000)));
    return `${count} calls, ${answered} begun to be answered, ${Math.round((stage.residentBytes - before) / MIB)} MiB more`;
  },
};

export const largeCalls: Experiment = {
  name: 'large-calls',
  expected: 'calls of 4 MiB to a backend that takes none of them: the worker stays within its memory',
  async run(stage) {
    const url = await startHeadFirstBackend(stage.scope, (connection) => connection.pause());
    const session = await (await stage.caller({ slow: { url } })).openSession();
    stage.scope.teardown(() => session.delete());
    const count = stage.scaled(300, 150);
    const before = stage.residentBytes;
    const answers: string[] = [];
    const args = JSON.stringify({ text: 'x'.repeat(4 * MIB - 1_000) });
    await inParallel([...Array(count).keys()], 16, async (id) => {
      const body = `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"slow-echo","arguments":${args}}}`;
      const connection = await stage.write(session.caller.request({ session: session.id, body }));
      void connection.readAnswer().then(
        (answer) => answers.push(`${answer.status} ${/"(?:message|error)":"([^"]*)"/.exec(answer.text)?.[1] ?? ''}`),
        () => undefined,
      );
    });
    await new Promise((resolve) => setTimeout(resolve, stage.scaled(8_000, 2_000)));
    const more = Math.round((stage.residentBytes - before) / MIB);
    return `${count} calls, ${more} MiB more; answered at once: ${tally(answers)}`;
  },
};

export const slowReader: Experiment = {
  name: 'slow-reader',
  control: { options: ['--slow-reader-timeout', '2s'], noticedBy: 'experiment' },
  isOnceInShort: true,
  expected: 'a reader that stops for 13 s and then goes on slowly gets every byte',
  async run(stage) {
    const text = 'y'.repeat(stage.scaled(12, 6) * MIB);
    const backend = await stage.backend({ onCall: () => ({ content: [{ type: 'text', text }] }) });
    const session = await (await stage.caller({ large: { url: backend.url } })).openSession();
    const body = '{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"large-echo","arguments":{}}}';
    const received = await readSlowly(
      stage,
      encodeRequest(stage.origin, session.caller.request({ session: session.id, body })),
    );
    const expectedBytes =
      text.length + '{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":""}]}}'.length;
    const seen = `${received} of ${expectedBytes} bytes`;
    expect(received === expectedBytes, seen);
    return seen;
  },
};

/** Pauses for long, then reads a response piece by piece. @returns the bytes that arrive before the connection ends. */
async function readSlowly(stage: Stage, request: Buffer): Promise<number> {
  const { hostname, port } = new URL(stage.origin);
  const socket = connect({ host: hostname, port: Number(port) });
  stage.scope.teardown(() => socket.destroy());
  socket.on('error', () => undefined);
  socket.write(request);
  let head = '';
  let bodyBytes = 0;
  let length = Infinity;
  const bytesPerSecond = stage.scaled(100_000, 1_000_000);
  const stopMs = 13_000;
  let hasStopped = false;
  return new Promise((resolve, reject) => {
    socket.on('close', () => resolve(bodyBytes));
    socket.on('data', (chunk: Buffer) => {
      if (length === Infinity) {
        head += chunk.toString('latin1');
        const headEnd = head.indexOf('\r\n\r\n');
        if (headEnd === -1) return;
        length = Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1]);
        if (!Number.isInteger(length)) reject(new Unexpected(`no length: ${head.slice(0, headEnd)}`));
        bodyBytes = head.length - headEnd - 4;
      } else bodyBytes += chunk.length;
      if (bodyBytes >= length) return resolve(bodyBytes);
      socket.pause();
      setTimeout(() => socket.resume(), hasStopped ? (1_000 * chunk.length) / bytesPerSecond : stopMs);
      hasStopped = true;
    });
  });
}

export const listFlood: Experiment = {
  name: 'list-flood',
  expected: 'lists of 8 MiB by one subject leave the calls of another alone',
  async run(stage) {
    const description = 'd'.repeat(4_000);
    const tools = Array.from({ length: 2_000 }, (_, n) => ({
      name: `t${n}`,
      description,
      inputSchema: { type: 'object' },
    }));
    const backend = await stage.backend({ tools });
    const session = await (await stage.caller({ fat: { url: backend.url } })).openSession();
    const answers: string[] = [];
    await inParallel([...Array(stage.scaled(60, 12)).keys()], 6, async () => {
      const text = answerText(await session.list());
      answers.push(text.includes('"t1999"') || text.includes('fat-t1999') ? 'whole' : text.slice(0, 120));
    });
    const seen = tally(answers);
    expect(
      answers.every((answer) => answer === 'whole'),
      seen,
    );
    return seen;
  },
};
