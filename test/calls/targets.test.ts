// What `readTarget` makes of a request: the backend, the bytes to send, what must hold first, and where URIs are in the answer.
import t from 'tap';
import { capability } from '../../src/mcp/capabilities.js';
import { KNOWN_METHODS, readClientMessage, type ClientMessage } from '../../src/mcp/json-rpc.js';
import { uriLocation } from '../../src/mcp/value-finder.js';
import { COUNTED_METHODS } from '../../src/metrics/request-figures.js';
import {
  isTargetMethod,
  isTargetMethodOf,
  isTaskMethod,
  knownMethods,
  mayAskForInput,
  nameInHead,
  nameKindOf,
  readTarget,
  type TargetError,
  type Target,
  type TargetMethod,
} from '../../src/calls/targets.js';
import { limits } from '../../src/shared/limits.js';
import type { RpcError } from '../../src/shared/rpc-errors.js';
import { backendOf, virtualHostOf } from '../relay/virtual-host.js';

const host = virtualHostOf({ b: {}, tight: { allowed_prompt_names: ['p'], allowed_tool_names: ['t'] } });

function read(method: TargetMethod, params: string): Target | TargetError {
  const body = Buffer.from(`{"jsonrpc":"2.0","id":1,"method":"${method}","params":${params}}`);
  return readTarget(method, host, body, readClientMessage(body) as ClientMessage).target;
}

function found(method: TargetMethod, params: string): Target & { readonly text: string } {
  const target = read(method, params);
  if ('error' in target) throw new Error(target.error.message);
  const { body, leftOut, putIn } = target.outgoing;
  const { start, end } = leftOut ?? { start: 0, end: 0 };
  const parts = [body.subarray(0, start), putIn ?? Buffer.alloc(0), body.subarray(end)];
  return { ...target, text: Buffer.concat(parts).toString() };
}

function errorOf(method: TargetMethod, params: string): RpcError {
  const target = read(method, params);
  if (!('error' in target)) throw new Error('there is a target');
  return target.error;
}

t.test('each method has its needed capability, the URI for the gate, and the URI places of its answer', async (t) => {
  const uri = '{"uri":"b+x:1"}';
  const rows: readonly (readonly [TargetMethod, string, number, string | undefined, number])[] = [
    ['prompts/get', '{"name":"b-p"}', capability.prompts, undefined, uriLocation.messages],
    ['resources/read', uri, capability.resources, 'x:1', uriLocation.contents | uriLocation.error],
    ['resources/subscribe', uri, capability.resources, 'x:1', uriLocation.error],
    ['resources/unsubscribe', uri, capability.resources, 'x:1', uriLocation.error],
    ['completion/complete', '{"ref":{"type":"ref/resource","uri":"b+x:1"}}', capability.completions, 'x:1', 0],
    ['completion/complete', '{"ref":{"type":"ref/prompt","name":"b-p"}}', capability.completions, undefined, 0],
  ];
  for (const [method, params, needed, gateUri, uriLocations] of rows) {
    const target = found(method, params);
    t.match(target.gate, { method, capability: needed, uri: gateUri }, method);
    t.equal(target.gate?.uri, gateUri, method);
    t.equal(target.uriLocations, uriLocations, method);
    t.equal(target.backend.name, 'b', method);
    t.ok(target.text.includes(params.replace('b+', '').replace('b-', '')), method);
  }
  const call = found('tools/call', '{"name":"b-t","arguments":{"uri":"b+x:1"}}');
  t.equal(call.gate, undefined);
  t.equal(call.uriLocations, uriLocation.content);
  t.ok(call.text.includes('{"name":"t","arguments":{"uri":"b+x:1"}}'));
});

t.test('a task is asked about by what its era has for tasks', async (t) => {
  const meta = '"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}';
  for (const [method, inSessions] of [
    ['tasks/get', capability.tasks],
    ['tasks/cancel', capability.tasksCancel],
  ] as const) {
    const legacy = found(method, '{"taskId":"b-t"}');
    t.equal(legacy.gate?.capability, inSessions, method);
    t.equal(legacy.uriLocations & uriLocation.ofTask, 0, method);
    const modern = found(method, `{"taskId":"b-t",${meta}}`);
    t.equal(modern.gate?.capability, capability.tasksExtension, method);
    t.equal(modern.uriLocations, uriLocation.ofTask, 'the state of a task contains its result');
  }
});

t.test('a missing target gives an error in words, and the capability that it would need', async (t) => {
  t.match(errorOf('tools/call', '{"name":"c-t"}'), { code: -32602, message: 'Unknown tool: c-t' });
  t.match(errorOf('prompts/get', '{"name":"c-p"}'), { code: -32602, message: /prompt.*c-p/i });
  for (const method of ['resources/read', 'resources/subscribe', 'resources/unsubscribe'] as const)
    t.match(errorOf(method, '{"uri":"c+x:1"}'), { code: -32002, data: { uri: 'c+x:1' } }, method);
  t.match(errorOf('completion/complete', '{"ref":{"type":"ref/resource","uri":"c+x:1"}}'), { code: -32602 });
  t.match(errorOf('completion/complete', '{"ref":{"type":"ref/prompt","name":"c-p"}}'), { code: -32602 });
  t.equal((read('prompts/get', '{"name":"c-p"}') as TargetError).capability, capability.prompts);
  t.equal((read('tools/call', '{"name":"c-t"}') as TargetError).capability, 0);
  for (const [method, words] of [
    ['prompts/get', /name must be a string/],
    ['resources/read', /uri must be a string/],
    ['completion/complete', /ref must be/],
  ] as const) {
    t.match(errorOf(method, '{}'), { code: -32602, message: words }, method);
  }
});

t.test('what an app calls its own server by is found without a prefix, for tools and pages alone', async (t) => {
  const both = virtualHostOf({ b: {}, c: {} });
  const reading = (method: TargetMethod, params: string, owners: readonly string[]): Target | TargetError => {
    const body = Buffer.from(`{"jsonrpc":"2.0","id":1,"method":"${method}","params":${params}}`);
    const apps = { backendsOfApp: () => owners.map((name) => backendOf(both, name)) };
    return readTarget(method, both, body, readClientMessage(body) as ClientMessage, apps).target;
  };
  for (const [method, params] of [
    ['tools/call', '{"name":"look"}'],
    ['resources/read', '{"uri":"ui://page"}'],
  ] as const) {
    t.match(reading(method, params, ['b']), { backend: { name: 'b' } }, method);
    t.match(reading(method, params, ['b', 'c']), { error: { message: /b, c/ } }, 'nobody knows whose it is');
    t.hasProp(reading(method, params, []), 'error');
  }
  for (const [method, params] of [
    ['prompts/get', '{"name":"look"}'],
    ['tasks/get', '{"taskId":"look"}'],
    ['resources/read', '{"uri":"file:///page"}'],
  ] as const)
    t.hasProp(reading(method, params, ['b']), 'error', method);
});

t.test('allow-lists of prompts apply to prompts, those of tools to tools', async (t) => {
  t.equal(found('prompts/get', '{"name":"tight-p"}').backend.name, 'tight');
  t.match(errorOf('prompts/get', '{"name":"tight-t"}'), { code: -32602 });
  t.equal(found('tools/call', '{"name":"tight-t"}').backend.name, 'tight');
  t.match(errorOf('tools/call', '{"name":"tight-p"}'), { code: -32602 });
});

t.test('the length of URIs and of names is bounded', async (t) => {
  // The bound is on the URI without its prefix, as in lists.
  const uriOf = (length: number): string => `b+${'x'.repeat(length)}`;
  const longest = uriOf(limits.uriBytesMax);
  t.equal(found('resources/read', `{"uri":"${longest}"}`).gate?.uri, longest.slice(2));
  t.match(errorOf('resources/read', `{"uri":"${uriOf(limits.uriBytesMax + 1)}"}`), { code: -32002 });
  const endless = `{"name":"b-${'x'.repeat(9 * limits.toolNameBytesMax)}"}`;
  t.match(errorOf('prompts/get', endless), { code: -32602, message: /x…/ });
});

interface Row {
  /** The member of `EVERYTHING` that the method is about. */
  readonly about: string;
  readonly eras: 'both' | 'legacy' | 'modern';
  readonly nameInHead: 'must' | 'may' | 'no';
  readonly loggedAs: 'tool' | 'prompt' | '';
  readonly mayAskForInput: boolean;
  readonly isOfTask: boolean;
}

const EVERYTHING = '{"uri":"b+x:1","name":"b-p","taskId":"b-t","ref":{"type":"ref/prompt","name":"b-r"}}';

t.test('every method has a row here, and the member that it is about is named in mcp/json-rpc.ts', async (t) => {
  const unnamed = { loggedAs: '', mayAskForInput: false, isOfTask: false } as const;
  const ofTask = { ...unnamed, about: '"b-t"', isOfTask: true, eras: 'both', nameInHead: 'may' } as const;
  const rows: Readonly<Record<TargetMethod, Row>> = {
    'tools/call': {
      about: '"b-p"',
      eras: 'both',
      nameInHead: 'must',
      loggedAs: 'tool',
      mayAskForInput: true,
      isOfTask: false,
    },
    'prompts/get': {
      about: '"b-p"',
      eras: 'both',
      nameInHead: 'must',
      loggedAs: 'prompt',
      mayAskForInput: true,
      isOfTask: false,
    },
    'resources/read': { ...unnamed, about: '"b+x:1"', eras: 'both', nameInHead: 'must', mayAskForInput: true },
    'resources/subscribe': { ...unnamed, about: '"b+x:1"', eras: 'legacy', nameInHead: 'no' },
    'resources/unsubscribe': { ...unnamed, about: '"b+x:1"', eras: 'legacy', nameInHead: 'no' },
    'completion/complete': { ...unnamed, about: '"b-r"', eras: 'both', nameInHead: 'no' },
    'tasks/get': ofTask,
    'tasks/result': { ...ofTask, eras: 'legacy', nameInHead: 'no' },
    'tasks/cancel': ofTask,
    'tasks/update': { ...ofTask, eras: 'modern' },
  };
  t.same(knownMethods.filter(isTargetMethod).sort(), Object.keys(rows).sort());
  for (const [name, row] of Object.entries(rows)) {
    const method = name as TargetMethod;
    const body = Buffer.from(`{"jsonrpc":"2.0","id":1,"method":"${method}","params":${EVERYTHING}}`);
    const { nameStart, nameEnd } = readClientMessage(body) as ClientMessage;
    const inSession = isTargetMethodOf('legacy', method);
    const seen: Row = {
      about: body.toString('utf8', nameStart, nameEnd),
      eras: inSession && isTargetMethodOf('modern', method) ? 'both' : inSession ? 'legacy' : 'modern',
      nameInHead: nameInHead(method),
      loggedAs: nameKindOf(method),
      mayAskForInput: mayAskForInput(method),
      isOfTask: isTaskMethod(method),
    };
    t.same(seen, row, method);
    t.not(found(method, EVERYTHING).taskLocations, 0, `${method}: its answer may say which task it belongs to`);
  }
});

t.test('every method has a known name that costs no decoding, and a label of its own in the metrics', async (t) => {
  const [known, labels]: readonly (readonly string[])[] = [KNOWN_METHODS, COUNTED_METHODS];
  for (const method of knownMethods) {
    t.ok(known?.includes(method), `${method} in mcp/json-rpc.ts`);
    t.ok(labels?.includes(method), `${method} in metrics/request-figures.ts`);
  }
});
