// What callers have compared with much: queries with the texts of tools, URIs with the templates of an allow-list, the names of a call's
// arguments with those that a config fixes. The cost of one such request must not grow with the product of both.
import { EventReader } from '../../support/event-reader.js';
import { inParallel } from '../../support/in-parallel.js';
import type { McpBackend } from '../../support/mcp-backend.js';
import { answerText, McpCaller, type McpSession } from '../../support/mcp-caller.js';
import { ask, callTool } from '../../support/modern-caller.js';
import type { EventStreamBody } from '../../support/raw-backend.js';
import { until } from '../../support/until.js';
import { expect, tally, type Experiment } from '../experiment.js';
import type { Stage } from '../stage.js';
import { say } from './asking.js';
import { ANSWER_MS_MAX as HEALTH_MS_MAX, Api, HealthWatch } from './control-plane.js';

const KIB = 1_024;
const MIB = KIB * KIB;
const LANES = 8;
/** Far more than any of these takes, also on a busy machine: without bounds, one takes as long by itself. */
const ANSWER_MS_MAX = 20_000;

/** So that the lists of the victim go through the thread in which tools are searched. */
const LISTS_IN_THREAD = { toolBytes: 100 * KIB } as const;

export const wordyQueries: Experiment = {
  name: 'wordy-queries',
  report: 'X1',
  gateway: { kind: 'own' },
  victim: LISTS_IN_THREAD,
  expected: 'queries of 1,000 characters, over hundreds of tools with 4 KiB of similar words: each is answered in time',
  harmless: (stage) => search(stage, () => 'a tool'),
  run: (stage) => search(stage, (turn, kind) => queries[kind](turn)),
};

async function search(stage: Stage, queryOf: (turn: number, kind: keyof typeof queries) => string): Promise<string> {
  const outcomes: string[] = [];
  for (const kind of Object.keys(queries) as (keyof typeof queries)[]) {
    const caller = await stage.caller({});
    await caller.configure(
      { one: { url: (await stage.backend({ tools: toolsOf(kind) })).url } },
      { exposure: 'search' },
    );
    const session = await caller.openSession();
    const seen = await answered(stage.scaled(100, 20), (turn) =>
      session.call('find_tools', JSON.stringify({ query: queryOf(turn, kind) })),
    );
    outcomes.push(`${kind}: ${seen}`);
  }
  return outcomes.join('; ');
}

export const wordyQueriesAtControlPlane: Experiment = {
  name: 'control-plane-wordy-queries',
  report: 'X1',
  expected: `the same at /mcp?exposure=search of the control plane, with other requests there answered within ${HEALTH_MS_MAX / 1_000} s`,
  harmless: (stage) => searchAtControlPlane(stage, () => 'a tool'),
  run: (stage) => searchAtControlPlane(stage, (turn, kind) => queries[kind](turn)),
};

async function searchAtControlPlane(
  stage: Stage,
  queryOf: (turn: number, kind: keyof typeof queries) => string,
): Promise<string> {
  const api = await Api.startAlone(stage);
  const kinds = Object.keys(queries) as (keyof typeof queries)[];
  for (const kind of kinds) {
    const { url } = await stage.backend({ tools: toolsOf(kind).slice(0, 200) });
    const registered = await api.send('POST', '/servers', { name: kind, url });
    expect(registered.status === 201, `registered: ${registered.status} ${registered.text.slice(0, 200)}`);
  }
  const caller = new McpCaller(api.origin, '/mcp?exposure=search', api.token);
  const session = await caller.openSession();
  stage.watch(api.pid);
  const watch = new HealthWatch(api);
  const seen = await answered(stage.scaled(100, 20), (turn) =>
    session.call('find_tools', JSON.stringify({ query: queryOf(turn, kinds[turn % kinds.length]!) })),
  );
  const others = await watch.end();
  expect(watch.longestMs < HEALTH_MS_MAX && watch.failures === 0, `${seen}; ${others}`);
  return `${seen}; ${others}`;
}

/** Queries that are dear in different ways, and by name the texts of tools for which they are. */
const queries = {
  similar: (turn: number) => wordsOf(turn, 1_000),
  repeated: (turn: number) => Array.from({ length: 24 }, (_, at) => `aaaaa${letter(at + turn)}`).join(' '),
  long: (turn: number) => Array.from({ length: 24 }, (_, at) => `${letter(at + turn)}${'a'.repeat(39)}`).join(' '),
  short: (turn: number) => Array.from({ length: 24 }, (_, at) => letter(at + turn)).join(' '),
} as const;

const texts: Readonly<Record<keyof typeof queries, (tool: number) => string>> = {
  similar: (tool) => wordsOf(tool, 2_000),
  repeated: () => 'a'.repeat(2_000),
  long: () => 'a'.repeat(2_000),
  short: (tool) => Array.from({ length: 1_000 }, (_, at) => letter(at + tool)).join(' '),
};

function toolsOf(kind: keyof typeof queries): Readonly<Record<string, unknown>>[] {
  return Array.from({ length: 600 }, (_, tool) => {
    const text = texts[kind](tool);
    return { name: `tool${tool}`, title: text, description: text, inputSchema: { type: 'object' } };
  });
}

function letter(number: number): string {
  return String.fromCharCode('b'.charCodeAt(0) + (number % 25));
}

/** Templates that the URIs below begin like, with as many variables as count, or as much text between them. */
const templates: readonly ((at: number) => string)[] = [
  (at) => `file:///{a}x{b}x{c}x{d}y${at}`,
  (at) => `file:///${'{x}b'.repeat(31)}{y}/${at}`,
  (at) => `file:///{x}${'b'.repeat(240)}{y}/${at}`,
];

export const longUris: Experiment = {
  name: 'long-uris',
  report: 'X4',
  expected:
    'URIs of 16 KiB, in every request with a URI, past an allow-list of 500 templates: each is answered in time',
  harmless: (stage) => readPast(stage, (piece) => `file:///${piece}`),
  run: (stage) => readPast(stage, (piece) => `file:///${piece.repeat(16_000)}`.slice(0, 16_000)),
};

/** Every kind of request with a URI. */
const uriRequests: readonly ((session: McpSession, uri: string) => Promise<Answer>)[] = [
  (session, uri) => request(session, 'resources/read', `"uri":"${uri}"`),
  (session, uri) => request(session, 'resources/subscribe', `"uri":"${uri}"`),
  (session, uri) =>
    request(
      session,
      'completion/complete',
      `"ref":{"type":"ref/resource","uri":"${uri}"},"argument":{"name":"a","value":""}`,
    ),
  // A header repeats the URI, which may be as long as half of a head.
  (session, uri) => ask(session.caller, 'resources/read', { params: `"uri":"${uri.slice(0, 8_000)}"` }),
  (session, uri) => {
    const uris = Array.from({ length: 7 }, (_, at) => `"${uri}${at}"`).join();
    return ask(session.caller, 'subscriptions/listen', {
      params: `"notifications":{"resourceSubscriptions":[${uris}]}`,
    });
  },
];

async function readPast(stage: Stage, uriOf: (piece: string) => string): Promise<string> {
  const { backend } = await updatingBackend(stage);
  const session = await (
    await stage.caller({ one: { url: backend.url, allowed_resource_names: ALLOWED } })
  ).openSession();
  return answered(stage.scaled(2_000, 400), (turn) =>
    uriRequests[turn % uriRequests.length]!(session, `one+${uriOf(PIECES[turn % PIECES.length]!)}`),
  );
}

function request(session: McpSession, method: string, params: string): Promise<Answer> {
  return session.send(`{"jsonrpc":"2.0","id":7,"method":"${method}","params":{${params}}}`);
}

export const ungrantedUpdates: Experiment = {
  name: 'ungranted-updates',
  report: 'X6',
  expected:
    'updates of resources that the allow-list grants to nobody, as fast as they go: none arrives, and one behind them does',
  harmless: (stage) => update(stage, () => GRANTED, 100),
  run: (stage) =>
    update(stage, (at) => (at % 50 === 0 ? `file:///${'b'.repeat(16_000)}${at}` : `file:///axbxcxdz${at}`), 0),
};

async function update(stage: Stage, uriOf: (at: number) => string, passed: number): Promise<string> {
  const count = passed === 0 ? stage.scaled(200_000, 20_000) : passed;
  const { backend, streams } = await updatingBackend(stage);
  const allowed_resource_names = [...ALLOWED, GRANTED, LAST];
  const session = await (await stage.caller({ one: { url: backend.url, allowed_resource_names } })).openSession();
  await request(session, 'resources/subscribe', `"uri":"one+${GRANTED}"`);
  const reader = await EventReader.open(session.caller, {
    session: session.id,
    method: 'GET',
    accept: 'text/event-stream',
  });
  stage.scope.teardown(() => reader.close());
  await until(() => streams.length > 0, "the backend's stream");
  const beganMs = performance.now();
  const said = say(streams[0]!, count, (at) => updated(uriOf(at))).then(() => streams[0]!.event(updated(LAST)));
  let heard = 0;
  for (let event = await reader.next(); event !== undefined && !event.includes(LAST); event = await reader.next())
    heard += 1;
  await said;
  await session.delete();
  const seen = `${count} updates in ${Math.round(performance.now() - beganMs)} ms, ${heard} heard before the last`;
  expect(heard === passed, seen);
  return seen;
}

const ALLOWED = Array.from({ length: 500 }, (_, at) => templates[at % templates.length]!(at));
const PIECES = ['x', 'b', '/..x', '%2e', 'xb'] as const;
const GRANTED = 'note://granted';
const LAST = 'note://last';

async function updatingBackend(
  stage: Stage,
): Promise<{ readonly backend: McpBackend; readonly streams: EventStreamBody[] }> {
  const streams: EventStreamBody[] = [];
  const backend = await stage.backend({
    withSessions: true,
    capabilities: { resources: { subscribe: true }, completions: {} },
    methods: {
      'resources/list': () => ({ resources: [] }),
      'resources/templates/list': () => ({ resourceTemplates: [] }),
      'resources/subscribe': () => ({}),
    },
    onRequest: (received) => {
      if (received.method === 'GET') streams.push(received.eventStream());
      return received.method === 'GET';
    },
  });
  return { backend, streams };
}

function updated(uri: string): string {
  return `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"${uri}"}}`;
}

export const dottedUris: Experiment = {
  name: 'dotted-uris',
  report: 'X7',
  expected: 'URIs whose variable leads out of what a template allows, in many spellings: no backend is asked for one',
  harmless: (stage) => readDotted(stage, ['a', 'b/at/c'], 147),
  run: (stage) => readDotted(stage, dottedEndings(), 1),
};

async function readDotted(stage: Stage, endings: readonly string[], times: number): Promise<string> {
  const read: string[] = [];
  const note = (params: string | undefined, result: object): object => {
    read.push(params ?? '');
    return result;
  };
  const backend = await stage.backend({
    capabilities: { resources: { subscribe: true } },
    methods: {
      'resources/list': () => ({ resources: [] }),
      'resources/templates/list': () => ({ resourceTemplates: [] }),
      'resources/subscribe': (params) => note(params, {}),
      'resources/read': (params) => note(params, { contents: [] }),
    },
  });
  const allowed_resource_names = ['file:///public/{name}', 'file:///public/{name}/at/{place}'];
  const session = await (await stage.caller({ one: { url: backend.url, allowed_resource_names } })).openSession();
  const all = Array.from({ length: times * stage.scaled(10, 2) }, () => endings).flat();
  const seen = await answered(all.length, (turn) =>
    turn % 3 === 0
      ? ask(session.caller, 'resources/read', { params: `"uri":"one+file:///public/${all[turn]}"` })
      : request(
          session,
          turn % 3 === 1 ? 'resources/read' : 'resources/subscribe',
          `"uri":"one+file:///public/${all[turn]}"`,
        ),
  );
  expect(times > 1 || read.length === 0, `${seen}; ${read.length} reached the backend: ${read.slice(0, 3).join(' ')}`);
  return seen;
}

function dottedEndings(): string[] {
  const separators = ['/', '\\\\', '%2f', '%2F', '%5c', '%5C', '%2f%2f'];
  return ['..', '.', '%2e%2e', '.%2e', '%2E.', '%2e'].flatMap((dots) =>
    separators.flatMap((separator) => [
      `${dots}${separator}secret`,
      `a${separator}${dots}`,
      `a${separator}${dots}${separator}b`,
      `${dots}${separator}x/at/y`,
      `x/at/${dots}`,
      `${dots}%3fq`,
      `a${separator}${dots}%23f`,
    ]),
  );
}

export const fixedArguments: Experiment = {
  name: 'fixed-arguments',
  report: 'X3',
  expected: 'calls of 3 MiB to a tool with an argument that the config fixes: each is answered in time',
  harmless: (stage) => callFixed(stage, 'plain'),
  run: (stage) => callFixed(stage, 'curated'),
};

/** Arguments that are dear to examine, of 3 MiB together. */
const largeArguments: readonly string[] = [
  // Almost as many as are examined.
  membersOf((at) => `"valux${at}":"${'0'.repeat(180)}"`),
  membersOf((at) => `"\\u0076\\u0061\\u006cux${at}":"${'0'.repeat(160)}"`),
  membersOf((at) => `"${'ß'.repeat(5)}${at}":"${'0'.repeat(180)}"`),
  `{"x":[${'1,'.repeat(100_000)}1],"y":"${'y'.repeat(2.5 * MIB)}"}`,
  `{"x":${'['.repeat(400)}${']'.repeat(400)},"y":"${'\\\\n'.repeat(MIB)}"}`,
];

function membersOf(member: (at: number) => string): string {
  return `{${Array.from({ length: (3 * MIB) / 200 }, (_, at) => member(at)).join(',')}}`;
}

async function callFixed(stage: Stage, tool: 'plain' | 'curated'): Promise<string> {
  const backend = await stage.backend({ tools: ['plain', 'curated'], onCall: () => ({ content: [] }) });
  const tools = { curated: { fixed_arguments: { value: 1 }, hidden_arguments: ['secret'] } };
  const caller = await stage.caller({ one: { url: backend.url, tools } });
  const session = await caller.openSession();
  const lanes = await Promise.all(Array.from({ length: LANES }, () => stage.kept(caller)));
  return answered(stage.scaled(200, 40), async (turn) => {
    const args = largeArguments[turn % largeArguments.length]!;
    if (turn % 3 === 0) return session.call(`one-${tool}`, args);
    if (turn % 3 === 1) return callTool(caller, `one-${tool}`, args);
    // A body whose length nobody is told.
    const body = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"one-${tool}","arguments":${args}}}`;
    const lane = lanes.pop() ?? (await stage.kept(caller));
    const answer = await lane.sendInChunks({ session: session.id, body }, 64 * KIB);
    lanes.push(lane);
    return answer;
  });
}

type Answer = Awaited<ReturnType<McpSession['send']>>;

/** Asks over a few connections at once, and returns what came and the longest time that one took. */
async function answered(count: number, ask: (turn: number) => Promise<Answer>): Promise<string> {
  const words: string[] = [];
  let longestMs = 0;
  await inParallel(
    Array.from({ length: count }, (_, turn) => turn),
    LANES,
    async (turn) => {
      const begin = performance.now();
      const answer = await ask(turn);
      longestMs = Math.max(longestMs, performance.now() - begin);
      words.push(wordOf(answer));
    },
  );
  const seen = `${tally(words)}; the longest after ${Math.round(longestMs)} ms`;
  expect(longestMs < ANSWER_MS_MAX, seen);
  return seen;
}

function wordOf(answer: Answer): string {
  if (answer.status !== 200) return `${answer.status} ${answer.text.slice(0, 60)}`;
  return /"error":.*/.exec(answerText(answer))?.[0].slice(0, 60) ?? '200';
}

/** Words that differ in a letter or two, and that nobody uses: a search that forgives misspellings compares each with each. */
function wordsOf(seed: number, bytes: number): string {
  const words: string[] = [];
  for (let at = 0, length = 0; length < bytes; at += 1) {
    const word = `transfer${((at * 7 + seed) % 997).toString(36)}operation${((at + seed) % 31).toString(36)}s`;
    words.push(word);
    length += word.length + 1;
  }
  return words.join(' ').slice(0, bytes);
}
