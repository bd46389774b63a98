// What a client may be asked for according to what it declares; and that a caller is told of a server's capabilities as the server declares
// them.
import t from 'tap';
import { capabilitiesJson, capability, readClientCapabilities, TASKS_EXTENSION } from '../../src/mcp/capabilities.js';
import { readDiscoverResult, readInitializeResult } from '../../src/mcp/initialize-result.js';

const NOTHING = {
  ...{ sampling: false, roots: false, elicitationForm: false, elicitationUrl: false },
  ...{ tasks: false, tasksCancel: false },
};

t.test('a client may be asked for what it declares, and for nothing else', async (t) => {
  for (const [declared, offered] of [
    ['{}', {}],
    ['{"sampling":{}}', { sampling: true }],
    ['{"roots":{"listChanged":true}}', { roots: true }],
    ['{"elicitation":{}}', { elicitationForm: true }],
    ['{"elicitation":{"form":{}}}', { elicitationForm: true }],
    ['{"elicitation":{"url":{}}}', { elicitationUrl: true }],
    ['{"elicitation":{"url":{},"form":{}}}', { elicitationForm: true, elicitationUrl: true }],
    ['{"tasks":{}}', { tasks: true }],
    ['{"tasks":{"cancel":{}}}', { tasks: true, tasksCancel: true }],
    ['{"tasks":{"list":{},"requests":{"sampling":{}}}}', { tasks: true }],
    ['{"x":{"sampling":{}},"cancel":{},"form":{},"url":{}}', {}],
    ['{"sampling":true,"roots":null,"elicitation":[],"tasks":"yes"}', {}],
    ['{"sampling":{},"roots":{},"sampling":{}}', { roots: true }],
  ] as const) {
    t.same(readClientCapabilities(Buffer.from(declared)), { ...NOTHING, ...offered }, declared);
  }
});

t.test('a caller is told of each capability of a server as a server declares it, alone and with others', async (t) => {
  const { tasksExtension, ...known } = capability;
  const parents = { toolsListChanged: 'tools', promptsListChanged: 'prompts', resourcesListChanged: 'resources' };
  const within: Readonly<Record<string, keyof typeof known>> = {
    ...(parents as Readonly<Record<string, keyof typeof known>>),
    ...{ resourcesSubscribe: 'resources', tasksList: 'tasks', tasksCancel: 'tasks', tasksOfToolCalls: 'tasks' },
  };
  const all = Object.values(known).reduce((bits, bit) => bits | bit, 0);
  const read = (json: string): number | undefined =>
    readInitializeResult(Buffer.from(`{"protocolVersion":"2025-11-25","capabilities":${json}}`))?.capabilities;
  for (const [name, bit] of Object.entries(known)) {
    const parent = within[name];
    const bits = bit | (parent === undefined ? 0 : known[parent]);
    t.equal(read(capabilitiesJson(bits, '')), bits, name);
    t.equal(read(capabilitiesJson(all & ~bit, '')), all & ~bit & ~orphans(bit), `all but ${name}`);
  }
  t.equal(read(capabilitiesJson(all, '')), all);
  t.equal(capabilitiesJson(0, ''), '{}');
  t.equal(read(capabilitiesJson(all | tasksExtension, '')), all, 'the extension does not exist for sessions');

  /** What counts only within it. */
  function orphans(bit: number): number {
    return Object.entries(within).reduce((bits, [name, parent]) => {
      return known[parent] === bit ? bits | known[name as keyof typeof known] : bits;
    }, 0);
  }
});

t.test('extensions and experimental capabilities are told beside the others, each in its place', async (t) => {
  const { tools, tasksExtension } = capability;
  for (const [bits, extensions, experimental, told] of [
    [0, '', '{"x":{}}', { experimental: { x: {} } }],
    [tools, '{"a/b":{"c":1}}', '', { tools: {}, extensions: { 'a/b': { c: 1 } } }],
    [tasksExtension, '', '', { extensions: { [TASKS_EXTENSION]: {} } }],
    [
      tools | tasksExtension,
      '{"a/b":{}}',
      '{"x":{}}',
      { tools: {}, extensions: { [TASKS_EXTENSION]: {}, 'a/b': {} }, experimental: { x: {} } },
    ],
  ] as const) {
    const json = capabilitiesJson(bits, extensions, experimental);
    t.same(JSON.parse(json), told, json);
    const discovered = readDiscoverResult(Buffer.from(`{"supportedVersions":[],"capabilities":${json}}`));
    t.equal(discovered?.capabilities, bits);
  }
  t.same(JSON.parse(capabilitiesJson(tools, '{"a/b":{}}')), { tools: {}, extensions: { 'a/b': {} } });
});

t.test('what a server offers of tasks may be an object or true', async (t) => {
  const { tasks, tasksList, tasksCancel, tasksOfToolCalls } = capability;
  for (const [declared, bits] of [
    ['{}', tasks],
    ['{"list":true,"cancel":{}}', tasks | tasksList | tasksCancel],
    ['{"list":false,"cancel":null,"requests":{"tools":{"call":true}}}', tasks | tasksOfToolCalls],
    ['{"requests":{"tools":{}}}', tasks],
    ['true', 0],
  ] as const) {
    const result = `{"protocolVersion":"2025-11-25","capabilities":{"tasks":${declared}}}`;
    t.equal(readInitializeResult(Buffer.from(result))?.capabilities, bits, declared);
  }
});
