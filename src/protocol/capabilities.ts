// What a server says that it can do, as bits: a session keeps them for each backend, and a caller gets the union.

export const capability = {
  tools: 1,
  prompts: 2,
  resources: 4,
  completions: 8,
  logging: 16,
  toolsListChanged: 32,
  promptsListChanged: 64,
  resourcesListChanged: 128,
  resourcesSubscribe: 256,
  tasks: 512,
  tasksList: 1024,
  tasksCancel: 2048,
  tasksOfToolCalls: 4096,
  /** Tasks as they are since MCP 2026-07-28: an extension, and another form than the tasks of before. */
  tasksExtension: 8192,
} as const;

/** The name of the extension, in the capabilities of both sides. */
export const TASKS_EXTENSION = 'io.modelcontextprotocol/tasks';

/** Whatever is about tasks as MCP 2025-11-25 has them. */
export const TASK_CAPABILITIES =
  capability.tasks | capability.tasksList | capability.tasksCancel | capability.tasksOfToolCalls;

/** That the backend says when a list of its is another. */
export const LIST_CHANGES =
  capability.toolsListChanged | capability.promptsListChanged | capability.resourcesListChanged;

/** Tasks of either form: both have ids. */
export const ANY_TASKS = TASK_CAPABILITIES | capability.tasksExtension;

/** A member of `capabilities`, and the members in it that count when they are true. Tasks have a form of their own. */
export interface CapabilityMember {
  readonly name: string;
  readonly bit: number;
  readonly flags: readonly { readonly name: string; readonly bit: number }[];
}

export const capabilityMembers: readonly CapabilityMember[] = [
  { name: 'tools', bit: capability.tools, flags: [{ name: 'listChanged', bit: capability.toolsListChanged }] },
  { name: 'prompts', bit: capability.prompts, flags: [{ name: 'listChanged', bit: capability.promptsListChanged }] },
  {
    name: 'resources',
    bit: capability.resources,
    flags: [
      { name: 'subscribe', bit: capability.resourcesSubscribe },
      { name: 'listChanged', bit: capability.resourcesListChanged },
    ],
  },
  { name: 'completions', bit: capability.completions, flags: [] },
  { name: 'logging', bit: capability.logging, flags: [] },
];

/** A member of `capabilities.experimental`: a method of its name is its backend's. */
export interface ExperimentalCapability {
  readonly name: string;
  /** As the backend wrote it: a JSON object. */
  readonly value: string;
}

/** Those that pass through the gateway: callers are told of no others. */
const RELAYED =
  capability.tools |
  capability.prompts |
  capability.resources |
  capability.completions |
  capability.logging |
  LIST_CHANGES |
  capability.resourcesSubscribe |
  TASK_CAPABILITIES |
  capability.tasksExtension;

const described = new Map<number, string>();

/** As a caller is told of them at `initialize`: JSON, written once for each union of capabilities that is met. */
export function capabilitiesJson(bits: number): string {
  const told = bits & RELAYED;
  let json = described.get(told);
  if (json === undefined) {
    json = JSON.stringify(describe(told));
    described.set(told, json);
  }
  return json;
}

function describe(told: number): Record<string, object> {
  const members: Record<string, object> = {};
  for (const { name, bit, flags } of capabilityMembers) {
    if ((told & bit) === 0) continue;
    const set = flags.filter((flag) => (told & flag.bit) !== 0);
    members[name] = Object.fromEntries(set.map((flag) => [flag.name, true]));
  }
  if ((told & capability.tasks) !== 0) members.tasks = describeTasks(told);
  if ((told & capability.tasksExtension) !== 0) members.extensions = { [TASKS_EXTENSION]: {} };
  return members;
}

/** What of tasks is offered are objects, empty so far. */
function describeTasks(told: number): object {
  return {
    ...((told & capability.tasksList) !== 0 && { list: {} }),
    ...((told & capability.tasksCancel) !== 0 && { cancel: {} }),
    ...((told & capability.tasksOfToolCalls) !== 0 && { requests: { tools: { call: {} } } }),
  };
}
