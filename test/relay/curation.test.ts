// Random curated configs with random lists and calls, compared byte for byte with the texts that they were made of, and with a walk
// over what `JSON.parse` makes of them.
import t from 'tap';
import { listKinds, type ListKindName } from '../../src/mcp/list-kinds.js';
import { readListAnswer } from '../../src/mcp/list-page.js';
import { readClientMessage, type ClientMessage } from '../../src/mcp/json-rpc.js';
import { readLargeClientMessage } from '../../src/mcp/large-messages.js';
import { mergeLists } from '../../src/lists/merge.js';
import { readTarget, type TargetError, type Target, type TargetMethod } from '../../src/calls/targets.js';
import type { OutgoingMessage } from '../../src/http-client/http-upstream.js';
import type { CompiledVirtualHost } from '../../src/user-config/compiled-config.js';
import { limits } from '../../src/shared/limits.js';
import { fuzzInputs } from '../support/fuzz-inputs.js';
import { printable } from '../support/printable.js';
import { Random } from '../support/random.js';
import { escapedToken, randomJson, randomStringToken } from '../support/random-json.js';
import { virtualHostOf } from './virtual-host.js';

const INPUTS = fuzzInputs(600);

interface Entry {
  name?: string;
  title?: string;
  description?: string;
  hidden?: boolean;
  hidden_arguments?: string[];
  fixed_arguments?: Record<string, unknown>;
}
interface Backend {
  prefix?: string;
  allowed_tool_names?: string[];
  tools?: Record<string, Entry>;
  prompts?: Record<string, Entry>;
}
type Backends = Record<string, Backend>;

const NAMES = ['a', 'b', 'c-a', 'é', 'x'];
const ARGUMENTS = ['v', 'w', 'path', 'é', 'kS'];

function hostOf(backends: Backends): CompiledVirtualHost {
  return virtualHostOf(backends as unknown as Parameters<typeof virtualHostOf>[0]);
}

function sentText({ body, leftOut, putIn = Buffer.alloc(0) }: OutgoingMessage): string {
  const { start, end } = leftOut ?? { start: 0, end: 0 };
  return Buffer.concat([body.subarray(0, start), putIn, body.subarray(end)]).toString();
}

function targetOf(backends: Backends, text: string, method: TargetMethod = 'tools/call'): Target | TargetError {
  const body = Buffer.from(text);
  return readTarget(method, hostOf(backends), body, readClientMessage(body) as ClientMessage).target;
}

/** What the backend gets, or the message of the error. */
function sent(backends: Backends, text: string, method?: TargetMethod): string {
  const target = targetOf(backends, text, method);
  return 'error' in target ? target.error.message : sentText(target.outgoing);
}

/** The target of a message that is too large to be read at once. */
async function largeTarget(backends: Backends, text: string, method: TargetMethod): Promise<Target | TargetError> {
  const body = Buffer.from(text);
  return new Promise((resolve) => {
    readLargeClientMessage('s', body, (message) => {
      resolve(readTarget(method, hostOf(backends), body, message as ClientMessage).target);
    });
  });
}

function call(params: string): string {
  return `{"jsonrpc":"2.0","id":1.0,"method":"tools/call","params":${params}}`;
}

function listed(backends: Backends, lists: Readonly<Record<string, readonly string[]>>, name: ListKindName = 'tools') {
  const rules = hostOf(backends);
  const kind = listKinds[name];
  const parts = Object.entries(lists).map(([backend, items]) => {
    const text = `{"jsonrpc":"2.0","id":1,"result":{"${kind.member}":[${items.join()}]}}`;
    const answer = readListAnswer(Buffer.from(text), Buffer.from('1'), kind);
    if (answer.kind !== 'page') throw new Error(`not a page: ${text}`);
    return { backend: rules.backends.get(backend)!, pages: [answer.page] };
  });
  const frame = { head: '', framing: 'message' } as const;
  const { bytes, unreachableNames: unreachable } = mergeLists({ kind, rules, parts, unavailable: [], frame });
  const text = bytes.toString();
  return { text: text.slice(text.indexOf('[') + 1, text.lastIndexOf(']')), unreachable };
}

t.test('a fixed argument is put into the bytes of the call, whatever their form', async (t) => {
  const backends = { b: { tools: { echo: { name: 'say', fixed_arguments: { v: 7, w: 'ü"' } } } } };
  const fixed = '"v":7,"w":"ü\\""';
  for (const [params, expected] of [
    ['{"name":"b-say","arguments":{"n":1.0,"n":2 }}', `{"name":"echo","arguments":{${fixed},"n":1.0,"n":2 }}`],
    ['{"arguments":{ "n":1.0 },"name" : "b-say"}', `{"arguments":{ "n":1.0 ,${fixed}},"name" : "echo"}`],
    ['{"arguments":{},"name" : "b-say"}', `{"arguments":{${fixed}},"name" : "echo"}`],
    ['{"name":"b-say","arguments":{}}', `{"name":"echo","arguments":{${fixed}}}`],
    ['{"name":"b-say","arguments":{ }}', `{"name":"echo","arguments":{${fixed} }}`],
    ['{"name":"b-say","arguments":null}', `{"name":"echo","arguments":{${fixed}}}`],
    ['{ "name":"b-say" ,"x":{}}', `{ "name":"echo","arguments":{${fixed}} ,"x":{}}`],
    ['{"name":"b-s\\u0061y","ar\\u0067uments":{"a":1}}', `{"name":"echo","ar\\u0067uments":{${fixed},"a":1}}`],
  ] as const)
    t.equal(sent(backends, call(params)), call(expected), params);
  const [before, after] = ['{"name":"b-say","arguments":{', '"x":""}}'];
  const pad = 'x'.repeat(limits.readAtOnceBytesMax - call(before + after).length);
  const longest = call(`${before}"x":"${pad}"}}`);
  t.equal(longest.length, limits.readAtOnceBytesMax);
  t.ok(sent(backends, longest).includes(`"arguments":{${fixed},"x":"xx`), 'one that is just read at once');
});

t.test('name, arguments and related task change together, in any order', async (t) => {
  const backends = { docs: { tools: { read: { fixed_arguments: { root: '/h' } } } } };
  const task = (id: string): string => `"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"${id}"}}`;
  for (const [given, before, behind] of [
    ['{"path":"x"}', '{"path":"x","root":"/h"}', '{"root":"/h","path":"x"}'],
    ['null', '{"root":"/h"}', '{"root":"/h"}'],
  ] as const) {
    const name = ['"name":"docs-read"', '"name":"read"'] as const;
    const meta = [task('docs-7'), task('7')] as const;
    const early = [`"arguments":${given}`, `"arguments":${before}`] as const;
    const late = [`"arguments":${given}`, `"arguments":${behind}`] as const;
    for (const members of [
      [name, late, meta],
      [name, meta, late],
      [meta, name, late],
      [meta, early, name],
      [early, meta, name],
      [early, name, meta],
    ]) {
      const [asked, expected] = [0, 1].map((side) => call(`{${members.map((member) => member[side]).join()}}`));
      t.equal(sent(backends, asked!), expected, asked!);
    }
  }
});

t.test('an argument that is fixed or hidden is refused, in any spelling', async (t) => {
  const tools = { echo: { fixed_arguments: { task: 1 }, hidden_arguments: ['É'] } };
  const given = (args: string): string => sent({ b: { tools } }, call(`{"name":"b-echo","arguments":${args}}`));
  for (const name of ['task', 'Task', 'TASK', 'ta\\u0073k', 'taſk', 'tas\u212a', 'É', 'é'])
    t.match(given(`{"n":1,"${name}":2}`), /^Argument not accepted: /, name);
  for (const args of ['[]', '1', '"task"', 'true']) t.match(given(args), /^Invalid arguments of tools\/call/, args);
  const twice = call('{"name":"b-echo","arguments":{},"Arguments":{"task":2}}');
  t.match(sent({ b: { tools } }, twice), /^Invalid arguments of tools\/call/);
  t.equal(
    given('{"n":{"task":2}}'),
    call('{"name":"echo","arguments":{"task":1,"n":{"task":2}}}'),
    'deeper it is another',
  );
});

t.test('fixed and hidden arguments apply to prompts and their completions as well', async (t) => {
  const backends = { b: { prompts: { greet: { name: 'hello', fixed_arguments: { lang: 'de' } } } } };
  const get = '{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"b-hello"}}';
  t.equal(
    sent(backends, get, 'prompts/get'),
    '{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"greet","arguments":{"lang":"de"}}}',
  );
  const complete = (name: string, argument: string): string =>
    `{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"${name}"},"argument":{"name":"${argument}","value":"x"}}}`;
  t.equal(sent(backends, complete('b-hello', 'who'), 'completion/complete'), complete('greet', 'who'));
  t.match(sent(backends, complete('b-hello', 'lang'), 'completion/complete'), 'Argument not accepted: lang');
  t.match(sent(backends, complete('b-greet', 'who'), 'completion/complete'), 'Unknown prompt: b-greet');
});

t.test('the other arguments that a completion mentions are checked against the config too', async (t) => {
  const greet = { name: 'hello', fixed_arguments: { lang: 'de' }, hidden_arguments: ['mood'] };
  const backends = { b: { prompts: { greet, closed: { hidden_arguments: ['mood'] } } } };
  const complete = (name: string, before: string, behind: string): string =>
    `{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{${before}"ref":{"type":"ref/prompt","name":"${name}"},"argument":{"name":"who","value":"x"}${behind}}}`;
  const asked = (context: string, name = 'hello'): string =>
    sent(backends, complete(`b-${name}`, '', `,"context":${context}`), 'completion/complete');
  const given = (context: string): string => complete('greet', '', `,"context":${context}`);
  for (const [context, expected] of [
    ['{"arguments":{"a":"1" }}', '{"arguments":{"lang":"de","a":"1" }}'],
    ['{"arguments":{}, "n":1.0}', '{"arguments":{"lang":"de"}, "n":1.0}'],
    ['{"arguments":null}', '{"arguments":{"lang":"de"}}'],
    ['{"n":1.0}', '{"arguments":{"lang":"de"},"n":1.0}'],
    ['{ }', '{"arguments":{"lang":"de"} }'],
    ['null', 'null'],
    ['{"arguments":{"a":{"lang":1}}}', '{"arguments":{"lang":"de","a":{"lang":1}}}'],
  ] as const)
    t.equal(asked(context), given(expected), context);
  const first = complete('b-hello', '"context":{"arguments":{"a":"1"}},', '');
  t.equal(
    sent(backends, first, 'completion/complete'),
    complete('greet', '"context":{"arguments":{"a":"1","lang":"de"}},', ''),
  );
  t.equal(
    sent(backends, complete('b-hello', '', ''), 'completion/complete'),
    complete('greet', '', ''),
    'none is made',
  );
  const other = complete('b-closed', '', ',"context":{"arguments":{"a":"1"}}');
  t.equal(sent(backends, other, 'completion/complete'), other.replace('b-', ''), 'nothing is fixed');
  for (const name of ['lang', 'LANG', 'l\\u0061ng', 'mood'])
    t.match(asked(`{"arguments":{"a":"1","${name}":"x"}}`), /^Argument not accepted: /, name);
  t.match(asked('{"arguments":{"mood":"x"}}', 'closed'), 'Argument not accepted: mood');
  for (const context of ['{"arguments":[]}', '{"arguments":{},"Arguments":{"lang":"x"}}'])
    t.match(asked(context), /^Invalid arguments of completion\/complete/, context);
  for (const context of ['[]', '7', '{},"context":{"arguments":{"lang":"x"}}'])
    t.match(asked(context), /^Invalid context of completion\/complete/, context);
  const long = complete('b-hello', '', `,"context":{"arguments":{"a":"${'x'.repeat(limits.readAtOnceBytesMax)}"}}`);
  const target = await largeTarget(backends, long, 'completion/complete');
  t.match(target, { error: { message: /^Invalid context of completion\/complete: .* 128 KiB/ } });
});

t.test('a large call is treated like a small one, and little of it is copied', async (t) => {
  const backends = { b: { tools: { echo: { fixed_arguments: { v: 7 } } } } };
  const filler = `"f":"${'x'.repeat(3 * 1024 * 1024)}"`;
  for (const [params, expected] of [
    [`{"name":"b-echo","arguments":{${filler}}}`, `{"name":"echo","arguments":{"v":7,${filler}}}`],
    [`{"arguments":{${filler}},"name":"b-echo"}`, `{"arguments":{${filler},"v":7},"name":"echo"}`],
    [`{"_meta":{${filler}},"name":"b-echo"}`, `{"_meta":{${filler}},"name":"echo","arguments":{"v":7}}`],
    [`{"name":"b-echo","_meta":{${filler}}}`, `{"name":"echo","arguments":{"v":7},"_meta":{${filler}}}`],
    [`{"name":"b-echo","arguments":{${filler},"V":1}}`, undefined],
  ] as const) {
    const target = await largeTarget(backends, call(params), 'tools/call');
    const result = 'error' in target ? target.error.message : sentText(target.outgoing);
    const isExpected = result === (expected === undefined ? 'Argument not accepted: V' : call(expected));
    t.ok(isExpected, `${result.length} bytes`);
    if (!('error' in target)) t.ok(target.outgoing.putIn!.length < 100, `${target.outgoing.putIn!.length} bytes anew`);
  }
});

t.test('as many names of arguments are compared as there is time for; longer ones need no comparison', async (t) => {
  const backends = { b: { tools: { x: { fixed_arguments: { v: 7 }, hidden_arguments: ['path'] } } } };
  const call = (names: readonly string[]): string => {
    const args = names.map((name) => `"${name}":0`).join();
    return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"b-x","arguments":{${args}}}}`;
  };
  const outcome = async (names: readonly string[]): Promise<string> => {
    const target = await largeTarget(backends, call(names), 'tools/call');
    return 'error' in target ? target.error.message : 'sent';
  };
  const names = (count: number, length: number): string[] =>
    Array.from({ length: count }, (_, number) => number.toString(36).padStart(length, '_'));
  const most = limits.argumentsExaminedMax;
  t.equal(await outcome(names(most, 24)), 'sent');
  t.equal(await outcome(names(most + 1, 24)), 'Too many arguments to examine: send fewer');
  t.equal(await outcome(names(3 * most, 25)), 'sent', 'no spelling of `path` is as long');
  t.equal(await outcome([...names(3 * most, 25), '\\u0070\\u0041\\u0074\\u0048']), 'Argument not accepted: pAtH');
  const complete = (name: string): string =>
    `{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"b-p"},"argument":{"name":"${name}","value":""}}}`;
  const prompts = { b: { prompts: { p: { hidden_arguments: ['path'] } } } };
  t.equal(sent(prompts, complete('\\u0050ath'), 'completion/complete'), 'Argument not accepted: Path');
  t.match(sent(prompts, complete('y'.repeat(25)), 'completion/complete'), /"name":"y{25}"/);
});

t.test('a listed tool keeps every byte that the config does not change', async (t) => {
  const echo = {
    name: 'say',
    title: 'Say "it"',
    description: 'Says it.',
    fixed_arguments: { v: 7 },
    hidden_arguments: ['w'],
  };
  const backends = { b: { prefix: 'p', tools: { echo } } };
  const tool = (name: string, description: string, title: string, schema: string): string =>
    `{ ${title}"n":1.0,${description} "name" : ${name} ,"inputSchema":{"x":[ 1.50 ],"type":"object",${schema}},"outputSchema":{"type":"object","properties":{"v":{}},"required":["v"]}}`;
  const before = tool(
    '"ec\\u0068o"',
    '"description":"old",',
    '',
    '"properties":{ "v":{"type":"n"} , "a":{ } , "W":1 },"required":["w", "a" ,"v"]',
  );
  const after = tool('"p-say"', '"description":"Says it.",', '', '"properties":{ "a":{ } },"required":["a"]').replace(
    '{',
    '{"title":"Say \\"it\\"",',
  );
  const other =
    '{"inputSchema":{"type":"object","properties":{"v":{"const":1.0}},"required":["v"]},"name":"\\u006fther"}';
  t.equal(listed(backends, { b: [before, other] }).text, `${other.replace('"\\u006f', '"p-\\u006f')},${after}`);
});

t.test('a tool that cannot be shown is reported by name', async (t) => {
  const tool = (name: string): string => `{"name":"${name}","inputSchema":{"type":"object"}}`;
  const backends = { b: { prefix: '', tools: { a: { name: 'z' }, h: { hidden: true } } }, c: {} };
  const { text, unreachable } = listed(backends, { b: ['a', 'z', 'h', 'H', 'c-x', 'ok'].map(tool), c: [tool('x')] });
  t.equal(text, ['c-x', 'ok', 'z'].map(tool).join());
  t.same(
    unreachable,
    ['z', 'H', 'c-x'],
    'a name that is given to another, one too like a hidden one, and one that another prefix takes',
  );
});

t.test('hidden arguments of prompts are not listed', async (t) => {
  const backends = { b: { prompts: { greet: { hidden_arguments: ['lang'], description: 'New' } } } };
  const prompt = '{"name":"greet","arguments":[{"name":"lang","required":true}, {"name":"who"} ]}';
  t.equal(
    listed(backends, { b: [prompt] }, 'prompts').text,
    '{"description":"New","name":"b-greet","arguments":[{"name":"who"} ]}',
  );
});

/** A random config, with a literal reading of its rules. */
class Scene {
  readonly backends: Backends = {};
  readonly #random: Random;

  constructor(random: Random) {
    this.#random = random;
    const prefixes = ['', 'p', 'p-c', 'long'].sort(() => random.fraction() - 0.5);
    for (const name of ['m', 'm-a', 'n'].slice(0, 1 + random.below(3))) {
      this.backends[name] = {
        ...(random.chance(0.6) && { prefix: prefixes.pop()! }),
        ...(random.chance(0.3) && { allowed_tool_names: this.#some(NAMES) }),
        ...(random.chance(0.8) && { tools: this.#entries() }),
      };
    }
  }

  /** Where the rules lead a name; `undefined` when there is no such tool. */
  route(fullName: string): { readonly backend: string; readonly bareName: string; readonly entry?: Entry } | undefined {
    const fitting = Object.keys(this.backends)
      .map((backend) => ({ backend, prefix: this.prefixOf(backend) }))
      .filter(({ prefix }) => fullName.startsWith(prefix))
      .sort((one, other) => other.prefix.length - one.prefix.length);
    const [found] = fitting;
    if (found === undefined) return undefined;
    const name = fullName.slice(found.prefix.length);
    const { tools = {}, allowed_tool_names: allowed = [] } = this.backends[found.backend]!;
    const renamed = Object.entries(tools).find(
      ([bare, entry]) => entry.hidden !== true && (entry.name ?? bare) === name,
    );
    if (renamed === undefined && name in tools) return undefined;
    const bareName = renamed?.[0] ?? name;
    if (allowed.length > 0 && !allowed.includes(bareName)) return undefined;
    return { backend: found.backend, bareName, ...(renamed && { entry: renamed[1] }) };
  }

  /** The name that callers would use for a tool; it need not lead to that tool. */
  fullName(backend: string, bareName: string): string {
    return this.prefixOf(backend) + (this.backends[backend]!.tools?.[bareName]?.name ?? bareName);
  }

  prefixOf(backend: string): string {
    const { prefix = backend } = this.backends[backend]!;
    return prefix === '' ? '' : `${prefix}-`;
  }

  #entries(): Record<string, Entry> {
    const random = this.#random;
    const free = [...NAMES, 'new', 'p-x', 'm-b'].sort(() => random.fraction() - 0.5);
    const entries: Record<string, Entry> = {};
    for (const bareName of this.#some(NAMES)) {
      const fixed = this.#some(ARGUMENTS).map((name) => [name, random.pick([7, 'é', null, { a: [1.5] }])]);
      entries[bareName] = {
        name: free.pop()!,
        ...(random.chance(0.2) && { hidden: true }),
        ...(random.chance(0.4) && { title: 'T\n' }),
        ...(random.chance(0.4) && { description: 'D"' }),
        ...(random.chance(0.5) && { fixed_arguments: Object.fromEntries(fixed) as Record<string, unknown> }),
        ...(random.chance(0.5) && { hidden_arguments: this.#some(ARGUMENTS) }),
      };
    }
    return entries;
  }

  #some(from: readonly string[]): string[] {
    return from.filter(() => this.#random.chance(0.4));
  }
}

function isClosed(entry: Entry | undefined, name: string): boolean {
  const closed = [...Object.keys(entry?.fixed_arguments ?? {}), ...(entry?.hidden_arguments ?? [])];
  return closed.some((each) => each.toLowerCase() === name.toLowerCase());
}

/** A JSON string of the text, plain or with escapes. */
function token(random: Random, text: string): string {
  return random.chance(0.8) ? JSON.stringify(text) : escapedToken(random, text);
}

/** The members of a call's params, as JSON; `given` and `fixed` without the braces of the arguments. */
interface CallMembers {
  readonly name: string;
  readonly form: 'object' | 'null' | 'absent';
  readonly given: string;
  readonly fixed: string;
  readonly task: string | undefined;
}

/** @param order of the members. */
function paramsText(order: readonly string[], { name, form, given, fixed, task }: CallMembers): string {
  const isNameBehind = order.indexOf('arguments') < order.indexOf('name');
  const inside = (isNameBehind ? [given, fixed] : [fixed, given]).filter((text) => text !== '').join();
  const texts: Record<string, string | undefined> = {
    name: `"name" : ${name}${form === 'absent' && fixed !== '' ? `,"arguments":{${fixed}}` : ''}`,
    arguments:
      form === 'absent' ? undefined : `"arguments": ${form === 'null' && fixed === '' ? 'null' : `{${inside}}`}`,
    task: task && `"_meta":{ "io.modelcontextprotocol/related-task" :{"taskId":${task} } }`,
  };
  const members = order.map((member) => texts[member]).filter((text) => text !== undefined);
  return `{${members.join(' , ')}}`;
}

/** The task id that a backend of this name gets. */
function bareTask(task: string, backend: string): string {
  const id = JSON.parse(task) as string;
  if (!id.startsWith(`${backend}-`)) return task;
  // A prefix without escapes is cut off, and the rest keeps its form.
  return task.startsWith(`"${backend}-`)
    ? `"${task.slice(backend.length + 2)}`
    : JSON.stringify(id.slice(backend.length + 1));
}

t.test('random calls are sent as the rules say', async (t) => {
  const random = new Random(1311);
  const counts = { unknown: 0, refused: 0, fixed: 0, 'fixed, with a task': 0, plain: 0 };
  for (let round = 0; round < INPUTS; round += 1) {
    const scene = new Scene(random);
    const backend = random.pick(Object.keys(scene.backends));
    const bareNames = random.chance(0.5) ? NAMES : Object.keys(scene.backends[backend]!.tools ?? {}).concat('x');
    const name = random.chance(0.9)
      ? scene.fullName(backend, random.pick(bareNames))
      : random.pick(['p-x', 'm-a-b', 'q']);
    const form = random.pick(['object', 'object', 'object', 'null', 'absent'] as const);
    const members = ARGUMENTS.filter(() => random.chance(0.15)).concat(random.chance(0.5) ? ['other'] : []);
    const spelt =
      form === 'object' ? members.map((member) => (random.chance(0.2) ? member.toUpperCase() : member)) : [];
    const given = spelt.map((member) => `${token(random, member)} :${randomJson(random, 2)}`).join(',');
    const nameToken = token(random, name);
    const taskId = random.pick([`${backend}-7`, `${backend}-é-`, 'q-7']);
    const task = random.chance(0.7) ? token(random, taskId) : undefined;
    const order = ['name', 'arguments', 'task'].sort(() => random.fraction() - 0.5);
    const body = call(paramsText(order, { name: nameToken, form, given, fixed: '', task }));
    const result = sent(scene.backends, body);
    const route = scene.route(name);
    const fixed = JSON.stringify(route?.entry?.fixed_arguments ?? {}).slice(1, -1);
    const refused = spelt.find((member) => isClosed(route?.entry, member));
    const bareToken = route && (nameToken.includes('\\') ? JSON.stringify(route.bareName) : `"${route.bareName}"`);
    const taskThere = task && route && bareTask(task, route.backend);
    const expected =
      route === undefined
        ? `Unknown tool: ${name}`
        : refused !== undefined
          ? `Argument not accepted: ${refused}`
          : call(paramsText(order, { name: bareToken!, form, given, fixed, task: taskThere }));
    if (route === undefined) counts.unknown += 1;
    else if (refused !== undefined) counts.refused += 1;
    else if (fixed === '') counts.plain += 1;
    else counts[taskThere === task ? 'fixed' : 'fixed, with a task'] += 1;
    if (result !== expected) t.equal(result, expected, printable(`${JSON.stringify(scene.backends)} ${body}`));
    if (route !== undefined && refused === undefined) {
      const { params: walked } = JSON.parse(result) as { params: { name: string; arguments?: object | null } };
      const { params: before } = JSON.parse(body) as { params: { arguments?: object | null } };
      const { name: bareName, arguments: values = {} } = walked;
      t.same([bareName, values ?? {}], [route.bareName, { ...before.arguments, ...route.entry?.fixed_arguments }]);
    }
  }
  for (const [what, count] of Object.entries(counts)) t.ok(count > INPUTS / 30, `${count} ${what}`);
});

t.test('random lists are shown as the rules say', async (t) => {
  const random = new Random(1312);
  let shownCount = 0;
  let changedCount = 0;
  for (let round = 0; round < INPUTS / 5; round += 1) {
    const scene = new Scene(random);
    const lists: Record<string, string[]> = {};
    const expected = new Map<string, { readonly text: string; readonly entry: Entry | undefined }>();
    for (const backend of Object.keys(scene.backends)) {
      lists[backend] = NAMES.filter(() => random.chance(0.7)).map((bareName) => {
        const properties = ARGUMENTS.filter(() => random.chance(0.5));
        const schema = `{"type":"object", "properties" : {${properties.map((each) => `${token(random, each)}:{"const": ${randomJson(random, 2)}}`).join(' ,')}} ,"required":[ ${properties.map((each) => token(random, each)).join(' , ')} ]}`;
        const members = [`"name":${token(random, bareName)}`, `"inputSchema":${schema}`];
        if (random.chance(0.5)) members.push(`"description":${randomStringToken(random)}`);
        if (random.chance(0.5)) members.push(`"n":${randomJson(random, 2)}`);
        const text = `{${members.sort(() => random.fraction() - 0.5).join(' , ')}}`;
        const fullName = scene.fullName(backend, bareName);
        const route = scene.route(fullName);
        if (route?.backend === backend && route.bareName === bareName)
          expected.set(fullName, { text, entry: route.entry });
        return text;
      });
    }
    const { text } = listed(scene.backends, lists);
    const shown = JSON.parse(`[${text}]`) as Record<string, unknown>[];
    const names = [...expected.keys()].sort();
    t.same(
      shown.map(({ name }) => name),
      names,
      printable(JSON.stringify(scene.backends)),
    );
    for (const item of shown) {
      const { text: original, entry } = expected.get(item['name'] as string)!;
      const walked = JSON.parse(original) as {
        inputSchema: { properties: Record<string, unknown>; required: string[] };
      };
      const { properties, required } = walked.inputSchema;
      shownCount += 1;
      if (entry === undefined) {
        t.same(item, { ...walked, name: item['name'] });
        continue;
      }
      changedCount += 1;
      t.same(
        item,
        {
          ...walked,
          name: item['name'],
          ...(entry.title !== undefined && { title: entry.title }),
          ...(entry.description !== undefined && { description: entry.description }),
          inputSchema: {
            ...walked.inputSchema,
            properties: Object.fromEntries(Object.entries(properties).filter(([each]) => !isClosed(entry, each))),
            required: required.filter((each) => !isClosed(entry, each)),
          },
        },
        printable(original),
      );
    }
  }
  t.ok(changedCount > INPUTS / 20 && shownCount > changedCount, `${changedCount} of ${shownCount} tools were changed`);
});
