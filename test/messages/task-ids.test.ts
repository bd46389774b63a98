// Ids of tasks in messages of backends and of callers: prefixed with the backend's name at the places that MCP names, with every
// other byte as it came; what goes down and comes up again is unchanged.
import t from 'tap';
import { readBackendMessage, readClientMessage, type BackendMessage } from '../../src/mcp/json-rpc.js';
import { readLargeBackendMessage } from '../../src/mcp/large-messages.js';
import { taskLocation } from '../../src/mcp/value-finder.js';
import { withEdit } from '../../src/messages/rewriting.js';
import { partsOf } from '../../src/bytes/edits.js';
import { callersParts } from '../../src/messages/rewriting.js';
import { bareTaskEdit, belongsToTask, callersTaskEdits, type TaskOwnership } from '../../src/messages/task-ids.js';
import { limits } from '../../src/shared/limits.js';
import { printable } from '../support/printable.js';
import { Random } from '../support/random.js';
import { randomJson } from '../support/random-json.js';
import { virtualHostOf } from '../relay/virtual-host.js';

const { created, own, related } = taskLocation;
const KEY = 'io.modelcontextprotocol/related-task';
const NAME = 'x"ü-1';
/** The client's own tasks; the id of one looks as if it were a task of the backend. */
const CLIENTS: readonly string[] = ['client', `${NAME}-clients`];
const FORM: TaskOwnership = {
  backendName: NAME,
  isClientsTask: (id) => CLIENTS.includes(id),
  isReachable: (id) => id !== 'y-1',
};
const PREFIX = 'x\\"ü-1-';
const backend = virtualHostOf({ [NAME]: {} }).backends.get(NAME)!;

function down(bytes: Buffer, message: BackendMessage | undefined, locations: number): string {
  if (message === undefined) throw new Error('not a message');
  const edits = callersTaskEdits(bytes, message, locations, FORM);
  return edits === undefined ? 'unreachable' : Buffer.concat(partsOf(bytes, edits)).toString();
}

/** What the caller gets for a message, which must be the same in both ways of reading. */
async function rewrite(text: string, locations: number): Promise<string> {
  const bytes = Buffer.from(text);
  const atOnce = down(bytes, readBackendMessage(bytes), locations);
  const inSlices = await new Promise<string>((resolve) => {
    readLargeBackendMessage('alice', bytes, (message) => resolve(down(bytes, message, locations)), true);
  });
  if (atOnce !== inSlices) throw new Error(`the ways differ: ${printable(text)}`);
  return atOnce;
}

/** What the backend gets for a caller's message. */
function up(text: string): string {
  const body = Buffer.from(text);
  const message = readClientMessage(body);
  if (typeof message === 'string' || message.kind === 'batch') throw new Error(text);
  const { leftOut, putIn = Buffer.alloc(0) } = withEdit({ body }, bareTaskEdit(body, message, backend, FORM));
  if (leftOut === undefined) return text;
  return Buffer.concat([body.subarray(0, leftOut.start), putIn, body.subarray(leftOut.end)]).toString();
}

t.test('task ids are prefixed at the places that MCP names, and nowhere else', async (t) => {
  const rows: [locations: number, text: string, isRewritten: boolean][] = [
    [created, '"id":1,"result":{"task":{"taskId":"@t"}}', true],
    [own | related, '"id":1,"result":{"task":{"taskId":"t"}}', false],
    [own, '"id":1,"result":{"taskId" : "@t\\u0041","task":{"taskId":"t"},"x":{"taskId":"t"}}', true],
    [own, '"id":1,"result":{"t\\u0061skI\\u0064":"@t"}', true],
    [own, '"id":1,"result":{"\\u0074askId":"@t","taskid":"t","taskId":7}', true],
    [own, '"id":1,"result":{"taskId":"@t","taskId":"@u"}', true],
    [created, '"id":1,"result":{"taskId":"t"}', false],
    [related, `"id":1,"result":{"_meta":{"${KEY}":{"a":[1.0],"taskId":"@t"}}}`, true],
    [related, '"id":1,"result":{"_meta":{"io.modelcontextprotocol\\/related-task":{"taskId":"@t"}}}', true],
    [related, `"id":1,"result":{"_meta":{"${KEY}":{"x":{"taskId":"t"}},"taskId":"t"},"${KEY}":{"taskId":"t"}}`, false],
    [related, `"id":1,"result":{"content":[{"_meta":{"${KEY}":{"taskId":"t"}}}]}`, false],
    [related, `"id":1,"error":{"code":1,"message":"","data":{"_meta":{"${KEY}":{"taskId":"t"}}}}`, false],
    [related, `"method":"m","params":{"taskId":"t","_meta":{"${KEY}":{"taskId":"@t"}}}`, true],
    [own, `"method":"m","params":{"taskId":"@t","_meta":{"${KEY}":{"taskId":"t"}}}`, true],
    [related, `"id":1,"method":"m","params":{"_meta":{"${KEY}":{"taskId":"client"}}}`, false],
    [own, '"method":"m","params":{"taskId":"@client"}', true],
  ];
  for (const [locations, marked, isRewritten] of rows) {
    const text = `{"jsonrpc":"2.0",${marked}}`;
    t.equal(marked.includes('@'), isRewritten);
    t.equal(await rewrite(text.replaceAll('@', ''), locations), text.replaceAll('@', PREFIX), text);
  }
});

t.test('a task whose prefixed id would lead to another backend is not passed on', async (t) => {
  const rows: [location: number, members: string][] = [
    [created, '"id":1,"result":{"task":{"taskId":"y\\u002d1"}}'],
    [own, '"id":1,"result":{"taskId":"y-1"}'],
    [own, '"method":"m","params":{"taskId":"y-1"}'],
    [related, `"id":1,"result":{"_meta":{"${KEY}":{"taskId":"y-1"}}}`],
  ];
  for (const [place, members] of rows) {
    const text = `{"jsonrpc":"2.0",${members}}`;
    t.equal(await rewrite(text, place), 'unreachable', text);
    t.equal(await rewrite(text, 0), text, 'where no id of the backend’s stands');
  }
});

t.test('a message says whether it belongs to a task', async (t) => {
  const says = (params: string): boolean => {
    const bytes = Buffer.from(`{"jsonrpc":"2.0","method":"m","params":${params}}`);
    return belongsToTask(bytes, readBackendMessage(bytes)!);
  };
  t.ok(says(`{"_meta":{"${KEY}":{"taskId":"t"}}}`));
  for (const params of ['{}', '{"taskId":"t"}', `{"_meta":{"${KEY}":{}}}`, `{"_meta":{"x":{"taskId":"t"}}}`])
    t.notOk(says(params), params);
});

t.test('a large message may have more values beside its task than can be recorded', async (t) => {
  const rows = Array.from({ length: limits.jsonNodesMax }, () => '{"taskId":1}').join();
  const text = `{"jsonrpc":"2.0","id":1,"result":{"structuredContent":[${rows}],"_meta":{"${KEY}":{"taskId":"@t"}}}}`;
  const bytes = Buffer.from(text.replace('@', ''));
  const told = await new Promise<string>((resolve) => {
    readLargeBackendMessage('alice', bytes, (message) => resolve(down(bytes, message, related)), true);
  });
  t.ok(told === text.replace('@', PREFIX), 'its id has the prefix, and nothing else has changed');
  const untold = await new Promise<unknown>((resolve) => {
    readLargeBackendMessage('alice', bytes, (message) => resolve(message?.taskIds));
  });
  t.same(untold, [], 'of a backend without tasks they are not looked for');
});

t.test('up: only the ids of the backend’s own tasks lose their prefix', async (t) => {
  const text = (id: string): string => `{"jsonrpc":"2.0","method":"m","params":{"_meta":{"${KEY}":{"taskId":${id}}}}}`;
  t.equal(up(text(`"${PREFIX}t"`)), text('"t"'));
  t.equal(up(text('"\\u0078\\"\\u00fc-1-t\\u0041"')), text('"tA"'), 'the name as escapes');
  t.equal(up(text(`"${PREFIX}t\\u0041"`)), text('"t\\u0041"'), 'the id as it came');
  t.equal(up(text(`"${PREFIX}"`)), text('""'));
  for (const id of ['"t"', '"client"', `"${PREFIX}clients"`, '"x\\"ü-1"', '7', '{}'])
    t.equal(up(text(id)), text(id), id);
});

t.test('random messages go down as marked, and come up again unchanged', async (t) => {
  const random = new Random(41);
  const id = (): string => random.pick(['t', '', 'x-1', '\\u0041', 'a\\"é🚂', `${PREFIX}t`, '786512e2-9e0d']);
  const noise = (): string =>
    random.pick([
      () => `"n${random.below(9)}":${randomJson(random, 3)}`,
      () => `"taskId":"${id()}"`,
      () => `"x":{"_meta":{"${KEY}":{"taskId":"${id()}"}}}`,
    ])();
  const members = (...own: string[]): string => {
    const all = [...own, ...Array.from({ length: random.below(3) }, noise)];
    return `{${all.sort(() => (random.chance(0.5) ? 1 : -1)).join(random.pick([',', ' , ']))}}`;
  };
  /** Without the random noise, which could add a second `taskId`. */
  const task = (): string => `{"a":${randomJson(random, 2)},"taskId":"\u0001${id()}"}`;
  let count = 0;
  for (let round = 0; round < 3_000; round += 1) {
    const key = random.pick([KEY, KEY.replace('/', '\\/'), KEY.replace('o', '\\u006f')]);
    const meta = members(`"${key}":${task()}`, '"progressToken":5');
    const result = members(`"_meta":${meta}`);
    const marked = random.pick([
      `{"jsonrpc":"2.0","id":7,"result":${result}}`,
      `{"params":${result},"method":"elicitation/create","id":"a","jsonrpc":"2.0"}`,
    ]);
    const original = marked.replace('\u0001', '');
    const expected = marked.replace('\u0001', PREFIX);
    const told = await rewrite(original, related);
    if (told !== expected) t.equal(told, expected, printable(original));
    // A message in which a parser could find two such members is refused, so it cannot come up again.
    if (readClientMessage(Buffer.from(told)) === 'not-json-rpc') continue;
    const back = up(told);
    if (back !== original) t.equal(back, original, printable(told));
    count += 1;
  }
  t.ok(count > 2_000, `${count} messages`);
});

t.test('of a backend without tasks nothing is taken for the id of one', async (t) => {
  const bytes = Buffer.from('{"jsonrpc":"2.0","id":1,"result":{"task":{"taskId":"t"}}}');
  const message = readBackendMessage(bytes)!;
  const parts = (form?: TaskOwnership): unknown =>
    callersParts(bytes, message, { bytes: Buffer.from('1'), start: 0, end: 1 }, 'b', 0, created, form);
  t.equal(parts(), undefined, 'it stays as it came');
  t.type(parts(FORM), Array);
});
