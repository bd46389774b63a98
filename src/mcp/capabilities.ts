// Capabilities. Those of a client say what backends may request of it. Those of servers are bits: a session keeps the bits of each backend,
// and declares their union to its client.
import type { Buffer } from 'node:buffer';
import { MEMBER_ABSENT, findMember, JsonScanner, jsonKind } from '../bytes/index.js';
import { getOrMake } from '../shared/index.js';

/** The requests that a client accepts. Read once per session, when a backend first sends its client a request. */
export interface ClientCapabilities {
  readonly sampling: boolean;
  readonly roots: boolean;
  /** The two modes of elicitation; an empty declaration means forms. */
  readonly elicitationForm: boolean;
  readonly elicitationUrl: boolean;
  /** Whether the client's own tasks can be queried, and (`tasksCancel`) cancelled. */
  readonly tasks: boolean;
  readonly tasksCancel: boolean;
}

const CAPABILITIES_DEPTH = 2;

const scanner = new JsonScanner();

/** Reads a client's capabilities. @param capabilities an object, as JSON. A capability named twice counts as absent. */
export function readClientCapabilities(capabilities: Buffer): ClientCapabilities {
  scanner.scan(capabilities, CAPABILITIES_DEPTH);
  const has = (node: number, name: string): boolean => objectIn(capabilities, node, name) !== MEMBER_ABSENT;
  const elicitation = objectIn(capabilities, 0, 'elicitation');
  const elicitationUrl = elicitation !== MEMBER_ABSENT && has(elicitation, 'url');
  const tasks = objectIn(capabilities, 0, 'tasks');
  return {
    sampling: has(0, 'sampling'),
    roots: has(0, 'roots'),
    elicitationForm: elicitation !== MEMBER_ABSENT && (has(elicitation, 'form') || !elicitationUrl),
    elicitationUrl,
    tasks: tasks !== MEMBER_ABSENT,
    tasksCancel: tasks !== MEMBER_ABSENT && has(tasks, 'cancel'),
  };
}

function objectIn(capabilities: Buffer, node: number, name: string): number {
  const member = findMember(scanner, capabilities, node, name);
  return member >= 0 && scanner.kind(member) === jsonKind.object ? member : MEMBER_ABSENT;
}

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
  /** The tasks extension of MCP 2026-07-28, different from the tasks of 2025-11-25. */
  tasksExtension: 8192,
} as const;

export const TASKS_EXTENSION = 'io.modelcontextprotocol/tasks';

/** The capabilities of tasks as in MCP 2025-11-25. */
export const TASK_CAPABILITIES =
  capability.tasks | capability.tasksList | capability.tasksCancel | capability.tasksOfToolCalls;

export const LIST_CHANGES =
  capability.toolsListChanged | capability.promptsListChanged | capability.resourcesListChanged;

/**
 * The capabilities that a backend is assumed to have until it has declared its own. These are rather too many: a client to which no prompts
 * are declared never asks for any, even if a backend turns out to have some. If no backend has any, the client gets an empty list.
 */
export const PRESUMED_CAPABILITIES =
  capability.tools |
  capability.prompts |
  capability.resources |
  capability.completions |
  capability.logging |
  LIST_CHANGES;

/** The capabilities of tasks in either revision. The tasks of both have ids. */
export const ANY_TASK_CAPABILITY = TASK_CAPABILITIES | capability.tasksExtension;

/** A member of the capabilities; `flags` are the booleans in it. Not for `tasks`, which contains objects instead (`describeTasks`). */
interface CapabilityMember {
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

/** Extensions not relayed as such: tasks, which have a bit instead, and two about authorization, which is the gateway's own task. */
export const EXTENSIONS_NOT_FORWARDED: ReadonlySet<string> = new Set([
  TASKS_EXTENSION,
  'io.modelcontextprotocol/oauth-client-credentials',
  'io.modelcontextprotocol/enterprise-managed-authorization',
]);

/** A member of `capabilities.experimental` or of `capabilities.extensions`, which may have methods of its own (session/initialize.ts). */
export interface ExtraCapability {
  readonly name: string;
  readonly isExtension?: boolean | undefined;
  /** The value as the backend wrote it: a JSON object. */
  readonly value: string;
}

/** The capabilities that are declared to clients, besides `tasksExtension`. */
const DECLARED_TO_CLIENTS =
  capability.tools |
  capability.prompts |
  capability.resources |
  capability.completions |
  capability.logging |
  LIST_CHANGES |
  capability.resourcesSubscribe |
  TASK_CAPABILITIES;

const jsonByBits = new Map<number, string>();

/**
 * The capabilities as JSON, for the result of `initialize`; serialized once for each combination of bits that occurs.
 * @param extensions like `experimental`, a JSON object; `''` for none.
 */
export function capabilitiesJson(bits: number, extensions: string, experimental = ''): string {
  const hasTasks = (bits & capability.tasksExtension) !== 0;
  const others = extensions === '' ? [] : [extensions.slice(1, -1)];
  const members = hasTasks ? [`"${TASKS_EXTENSION}":{}`, ...others] : others;
  let json = bitsJson(bits & ~capability.tasksExtension);
  if (members.length > 0) json = addMember(json, 'extensions', `{${members.join()}}`);
  return experimental === '' ? json : addMember(json, 'experimental', experimental);
}

function addMember(object: string, name: string, value: string): string {
  return `${object.slice(0, -1)}${object === '{}' ? '' : ','}"${name}":${value}}`;
}

function bitsJson(bits: number): string {
  const relayed = bits & DECLARED_TO_CLIENTS;
  return getOrMake(jsonByBits, relayed, () => JSON.stringify(describeCapabilities(relayed)));
}

function describeCapabilities(relayed: number): Record<string, object> {
  const members: Record<string, object> = {};
  for (const { name, bit, flags } of capabilityMembers) {
    if ((relayed & bit) === 0) continue;
    const set = flags.filter((flag) => (relayed & flag.bit) !== 0);
    members[name] = Object.fromEntries(set.map((flag) => [flag.name, true]));
  }
  if ((relayed & capability.tasks) !== 0) members.tasks = describeTasks(relayed);
  return members;
}

/** The capabilities of tasks: each part that is offered is an empty object. */
function describeTasks(relayed: number): object {
  return {
    ...((relayed & capability.tasksList) !== 0 && { list: {} }),
    ...((relayed & capability.tasksCancel) !== 0 && { cancel: {} }),
    ...((relayed & capability.tasksOfToolCalls) !== 0 && { requests: { tools: { call: {} } } }),
  };
}
