// What a backend may ask and send, during a call and unsolicited, and what becomes of it when nobody reads it.
import { limits } from '../../../src/shared/limits.js';
import { EventReader } from '../../support/event-reader.js';
import type { McpBackend } from '../../support/mcp-backend.js';
import { BOTH_FORMS, INITIALIZE_PARAMS, rpc, type McpSession } from '../../support/mcp-caller.js';
import type { EventStreamBody } from '../../support/raw-backend.js';
import { until } from '../../support/until.js';
import { expect, tally, type Experiment } from '../experiment.js';
import type { Stage } from '../stage.js';

const MIB = 1_048_576;
const TASKS = { list: {}, cancel: {}, requests: { tools: { call: {} } } };
const CAPABILITIES = { tools: { listChanged: true }, logging: {}, tasks: TASKS };
const OFFERS = '{"sampling":{},"roots":{},"elicitation":{"form":{},"url":{}},"tasks":{"list":{},"cancel":{}}}';
/** The params of a client with every capability. */
export const PARAMS = INITIALIZE_PARAMS.replace('"capabilities":{}', `"capabilities":${OFFERS}`);
const CHANGED = '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}';
/** How many messages go out in one write. */
const AT_ONCE = 1_000;
/** Requests within one call, and as many task notifications. */
const ASKS = 10_000;

const KINDS = ['sampling/createMessage', 'elicitation/create', 'roots/list', 'tasks/get', 'tasks/list', 'tools/call'];

function ask(number: number): string {
  const id = [`${number}`, `"${number}"`, `"1:asking:${number}"`, '0', '""', `"${'é'.repeat(500)}"`][number % 6];
  const mode = number % 4 === 0 ? ',"mode":"url"' : '';
  const params = `{"taskId":"asking-${number}","task":{},"messages":[]${mode},"_meta":{"progressToken":${number}}}`;
  return `{"jsonrpc":"2.0","id":${id},"method":"${KINDS[number % KINDS.length]}","params":${params}}`;
}

function status(number: number): string {
  const params = `{"taskId":"of-somebody-else-${number}","status":"working"}`;
  return `{"jsonrpc":"2.0","method":"notifications/tasks/status","params":${params}}`;
}

export async function say(stream: EventStreamBody, count: number, make: (number: number) => string): Promise<void> {
  for (let number = 0; number < count; number += AT_ONCE) {
    const events = Array.from(
      { length: Math.min(AT_ONCE, count - number) },
      (_, at) => `data: ${make(number + at)}\n\n`,
    );
    await stream.bytes(events.join(''));
  }
}

/** A backend that sends what it likes on the client's GET stream and within calls. */
export class AskingBackend {
  readonly backend: McpBackend;
  readonly streams: EventStreamBody[] = [];

  private constructor(backend: McpBackend) {
    this.backend = backend;
  }

  static async start(stage: Stage, onCall: (stream: EventStreamBody) => Promise<void>): Promise<AskingBackend> {
    const backend = await stage.backend({
      capabilities: CAPABILITIES,
      withSessions: true,
      onCall: async (call) => {
        const stream = call.takeOver().eventStream();
        await onCall(stream);
        stream.end();
      },
      onRequest: (request) => {
        if (request.method !== 'GET') return false;
        asking.streams.push(request.eventStream());
        return true;
      },
    });
    const asking = new AskingBackend(backend);
    return asking;
  }

  async openSession(stage: Stage): Promise<McpSession> {
    return (await stage.caller({ asking: { url: this.backend.url } })).openSession({ params: PARAMS });
  }
}

async function listen(session: McpSession): Promise<EventReader> {
  return EventReader.open(session.caller, { session: session.id, method: 'GET', accept: 'text/event-stream' });
}

export const manyAsks: Experiment = {
  name: 'many-asks',
  isOnceInShort: true,
  expected: 'a call whose backend asks 10,000 things and says a million: the client is asked a few, and the call ends',
  async run(stage) {
    const changes = stage.scaled(1_000_000, 10_000);
    const asking = await startManyAsks(stage, changes);
    return hearManyAsks(await asking.openSession(stage), changes);
  },
};

/** @param changes how many change notifications it sends within a call as well. */
export async function startManyAsks(stage: Stage, changes: number): Promise<AskingBackend> {
  return AskingBackend.start(stage, async (stream) => {
    await say(stream, ASKS, ask);
    await say(stream, ASKS, status);
    await say(stream, changes, () => CHANGED);
    await stream.event('{"jsonrpc":"2.0","id":7,"result":{"content":[]}}');
  });
}

/** Calls such a backend, named `asking`. @returns the outcome, checked to be the expected one. */
export async function hearManyAsks(session: McpSession, changes: number): Promise<string> {
  const body = '{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"asking-echo"}}';
  const stream = await EventReader.open(session.caller, { session: session.id, accept: BOTH_FORMS, body });
  const counts = new Map<string, number>();
  let last = '';
  for (let event = await stream.next(); event !== undefined; event = await stream.next()) {
    const method = /"method":"([^"]+)"/.exec(event)?.[1] ?? 'answer';
    counts.set(method, (counts.get(method) ?? 0) + 1);
    last = event;
  }
  const asked = KINDS.reduce((sum, kind) => sum + (counts.get(kind) ?? 0), 0);
  const seen = [...counts].map(([method, count]) => `${method} ×${count}`).join(', ');
  expect(asked === limits.backendRequestsOpenMax && last === '{"jsonrpc":"2.0","id":7,"result":{"content":[]}}', seen);
  expect(counts.get('notifications/tasks/status') === ASKS, seen);
  expect(counts.get('notifications/tools/list_changed') === changes, seen);
  await session.delete();
  return seen;
}

export const forgedAnswers: Experiment = {
  name: 'forged-answers',
  isOnceInShort: true,
  expected:
    'answers to what nobody has asked are none: the call that they come on ends without one, and nothing else ends',
  async run(stage) {
    const asking = await AskingBackend.start(stage, async (stream) => {
      await stream.event('{"jsonrpc":"2.0","id":8,"result":{"content":[]}}').catch(() => undefined);
    });
    const session = await asking.openSession(stage);
    const reader = await listen(session);
    await until(() => asking.streams.length > 0, "the backend's stream");
    const answers = ['8', String(2 ** 30 + 1), 'null'].map((id) => `{"jsonrpc":"2.0","id":${id},"result":{}}`);
    await say(asking.streams[0]!, 3 * AT_ONCE, (number) => answers[number % 3]!);
    const outcomes: string[] = [];
    for (let turn = 0; turn < 10; turn += 1) outcomes.push(rpc(await session.call('asking-echo')).error?.message ?? '');
    await say(asking.streams[0]!, 1, () => CHANGED);
    const heard = await reader.next();
    reader.close();
    const seen = `${tally(outcomes)}; on GET ${heard}`;
    expect(outcomes.every((outcome) => outcome.endsWith('stream ended without a response')) && heard === CHANGED, seen);
    await session.delete();
    return seen;
  },
};

export const unreadStreams: Experiment = {
  name: 'unread-streams',
  isOnceInShort: true,
  expected: 'clients that take nothing of their GET streams: backends talk on, less than 200 MiB more memory',
  async run(stage) {
    const asking = await startTalking(stage);
    return leaveUnread(stage, asking, {
      openSession: () => asking.openSession(stage),
      memory: () => stage.residentBytes,
    });
  },
};

export async function startTalking(stage: Stage): Promise<AskingBackend> {
  return AskingBackend.start(stage, async (stream) => {
    await stream.event('{"jsonrpc":"2.0","id":7,"result":{"content":[]}}');
  });
}

/** The process that holds the sessions with the backend, named `asking`. */
export interface UnreadHome {
  readonly openSession: () => Promise<McpSession>;
  /** In bytes, of the process that holds most memory. */
  readonly memory: () => number;
}

/** Opens session streams that nobody reads, and has the backend send on them. @returns the outcome, checked to be the expected one. */
export async function leaveUnread(stage: Stage, asking: AskingBackend, home: UnreadHome): Promise<string> {
  const sessions = stage.scaled(40, 6);
  const bytesEach = stage.scaled(64, 16) * MIB;
  const before = home.memory();
  const earlier = asking.streams.length;
  const opened: McpSession[] = [];
  for (let number = 0; number < sessions; number += 1) {
    const session = await home.openSession();
    const reader = await listen(session);
    reader.pause();
    stage.scope.teardown(() => reader.close());
    opened.push(session);
  }
  await until(() => asking.streams.length === earlier + sessions, "the backend's streams");
  const data = 'x'.repeat(60_000);
  const message = `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"${data}"}}`;
  for (let saidBytes = 0; saidBytes < bytesEach; saidBytes += 10 * message.length)
    await Promise.all(asking.streams.slice(earlier).map((stream) => say(stream, 10, () => message)));
  const outcomes = await Promise.all(opened.map(async (session) => rpc(await session.call('asking-echo')).result));
  const answered = outcomes.filter((result) => result !== undefined).length;
  const more = home.memory() - before;
  const seen = `${sessions} readers, ${(sessions * bytesEach) / MIB} MiB said, ${Math.round(more / MIB)} MiB more, ${answered} calls answered`;
  expect(more < 200 * MIB && answered === sessions, seen);
  // The events that are kept for their streams count as session bytes, and would be there for the experiments that follow.
  await Promise.all(opened.map(async (session) => session.delete()));
  return seen;
}
