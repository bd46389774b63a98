// The target of a request, found by the name, the URI or the task id in it: the backend, the bytes to send, and the check before they are
// sent. A target that is not allowed is answered like one that does not exist. Hot path.
import { capability, type ClientMessage, type Era, taskLocation, uriLocation } from '../mcp/index.js';
import { stringValue } from '../bytes/index.js';
import { limits, rpcErrors, type RpcError } from '../shared/index.js';
import {
  type CompiledBackend,
  type CompiledVirtualHost,
  routeBareTool,
  routeName,
  routeTask,
  type NameRoute,
} from '../user-config/index.js';
import {
  bareNameBody,
  bareUriBody,
  withEdit,
  withEdits,
  curateArguments,
  bareTaskEdit,
  routeUri,
  type UriRoute,
} from '../messages/index.js';
import type { NameKind } from '../exchange/index.js';
import type { GateRules } from './gate.js';
import type { OutgoingMessage } from '../http-client/index.js';

export type TargetMethod =
  | 'tools/call'
  | 'prompts/get'
  | 'resources/read'
  | 'resources/subscribe'
  | 'resources/unsubscribe'
  | 'completion/complete'
  | 'tasks/get'
  | 'tasks/result'
  | 'tasks/cancel'
  | 'tasks/update';

export interface Target {
  readonly backend: CompiledBackend;
  readonly outgoing: OutgoingMessage;
  /** What the request is about, as the backend calls it, if a header repeats it; else `''`. */
  readonly bareName: string;
  readonly gate: GateRules | undefined;
  /** Where the answer has URIs of the backend: bits of `uriLocation`. */
  readonly uriLocations: number;
  /** Where the answer has the backend's task ids: bits of `taskLocation`. */
  readonly taskLocations: number;
}

export interface TargetError {
  readonly error: RpcError;
  /** If no backend declares this capability (a bit of `capability`), the method does not exist; 0 for tools, which always exist. */
  readonly capability: number;
  readonly isUnknownTool?: boolean;
}

export interface TargetOutcome {
  readonly target: Target | TargetError;
  /** The name for logs and traces: a tool's or prompt's bare name, or the caller's text if nothing has that name; `''` for other things. */
  readonly name: string;
  readonly nameKind: NameKind;
}

/** The rules for relaying a method, except which of its params name the target (mcp/json-rpc.ts). */
interface MethodRules {
  readonly eras: Era | 'both';
  /** The kind of thing that a name in the params belongs to: its allow-list applies. URIs have an allow-list of their own. */
  readonly names: 'tools' | 'prompts' | 'tasks';
  /** The error for a request without a name, URI or task id. */
  readonly missingText: string;
  /** The error for a name, URI or task id that nothing has. */
  readonly notFound: (text: string, isUri: boolean) => RpcError;
  /** The capability without which the method does not exist; 0 for tools, which always exist. */
  readonly capability: number;
  /** Where the answer has the backend's URIs (bits of `uriLocation`), and its task ids (bits of `taskLocation`). */
  readonly uriLocations: number;
  readonly taskLocations: number;
  /**
   * Whether a modern request repeats in `mcp-name` what it is about (M12). With `may`, not all clients send it, but backends always get it.
   * Independent of `loggedAs`: a URI is in headers but not in logs.
   */
  readonly nameInHead: 'must' | 'may' | 'no';
  /** The kind of the name in logs and traces; `''` if it is not logged. */
  readonly loggedAs: NameKind;
  /** Whether a backend may answer that input is required (M22), and the request is made again with the input. */
  readonly mayAskForInput: boolean;
}

const TOOL: MethodRules = {
  eras: 'both',
  names: 'tools',
  missingText: 'name must be a string',
  notFound: rpcErrors.unknownTool,
  capability: 0,
  uriLocations: uriLocation.content,
  taskLocations: taskLocation.related,
  nameInHead: 'must',
  loggedAs: 'tool',
  mayAskForInput: true,
};
const PROMPT: MethodRules = {
  ...TOOL,
  names: 'prompts',
  notFound: rpcErrors.unknownPrompt,
  capability: capability.prompts,
  uriLocations: uriLocation.messages,
  loggedAs: 'prompt',
};
const RESOURCE: MethodRules = {
  ...PROMPT,
  missingText: 'uri must be a string',
  notFound: rpcErrors.resourceNotFound,
  capability: capability.resources,
  uriLocations: uriLocation.contents | uriLocation.error,
  loggedAs: '',
};
/** Subscriptions need only `resources`, since many servers accept them without declaring `subscribe`, and the others refuse them. */
const SUBSCRIPTION: MethodRules = {
  ...RESOURCE,
  eras: 'legacy',
  uriLocations: uriLocation.error,
  nameInHead: 'no',
  mayAskForInput: false,
};
const TASK: MethodRules = {
  eras: 'both',
  names: 'tasks',
  missingText: 'taskId must be a string',
  notFound: rpcErrors.unknownTask,
  capability: capability.tasks,
  uriLocations: 0,
  taskLocations: taskLocation.own | taskLocation.related,
  nameInHead: 'may',
  loggedAs: '',
  mayAskForInput: false,
};

const METHODS: Readonly<Record<TargetMethod, MethodRules>> = {
  'tools/call': TOOL,
  'prompts/get': PROMPT,
  'resources/read': RESOURCE,
  'resources/subscribe': SUBSCRIPTION,
  'resources/unsubscribe': SUBSCRIPTION,
  'completion/complete': {
    ...PROMPT,
    missingText: 'ref must be of type ref/prompt with a name, or ref/resource with a uri',
    notFound: (text, isUri) => (isUri ? rpcErrors.unknownResource(text) : rpcErrors.unknownPrompt(text)),
    capability: capability.completions,
    uriLocations: 0,
    nameInHead: 'no',
    loggedAs: '',
    mayAskForInput: false,
  },
  'tasks/get': TASK,
  // The result is that of the call that has become the task.
  'tasks/result': { ...TASK, eras: 'legacy', uriLocations: uriLocation.content, taskLocations: taskLocation.related },
  'tasks/cancel': { ...TASK, capability: capability.tasksCancel },
  // Only for tasks of MCP 2026-07-28.
  'tasks/update': {
    ...TASK,
    eras: 'modern',
    capability: capability.tasksExtension,
    taskLocations: taskLocation.related,
  },
};

/** Tasks of MCP 2026-07-28, an extension: the state of a task contains its result. */
const EXTENSION_TASK = { capability: capability.tasksExtension, uriLocations: uriLocation.ofTask } as const;
const EXTENSION_METHODS: Readonly<Partial<Record<TargetMethod, MethodRules>>> = {
  'tasks/get': { ...METHODS['tasks/get'], ...EXTENSION_TASK },
  'tasks/cancel': { ...METHODS['tasks/cancel'], ...EXTENSION_TASK },
};

function rulesOf(method: TargetMethod, { envelope }: ClientMessage): MethodRules {
  return (envelope === undefined ? undefined : EXTENSION_METHODS[method]) ?? METHODS[method];
}

const RULES_BY_METHOD: ReadonlyMap<string, MethodRules> = new Map(Object.entries(METHODS));

const OTHER_METHODS: ReadonlyMap<string, MethodRules['eras']> = new Map([
  ['initialize', 'legacy'],
  ['ping', 'legacy'],
  ['logging/setLevel', 'legacy'],
  ['tools/list', 'both'],
  ['prompts/list', 'both'],
  ['resources/list', 'both'],
  ['resources/templates/list', 'both'],
  ['tasks/list', 'legacy'],
  ['server/discover', 'modern'],
  ['subscriptions/listen', 'modern'],
]);

/** All known methods. Tests compare other lists of methods with this one. */
export const knownMethods: readonly string[] = [...RULES_BY_METHOD.keys(), ...OTHER_METHODS.keys()];

/** Whether a method exists in an era. Any other method is unknown, unless a backend declares it. */
export function isMethodOf(era: Era, method: string): boolean {
  const eras = RULES_BY_METHOD.get(method)?.eras ?? OTHER_METHODS.get(method);
  return eras === era || eras === 'both';
}

export function isTargetMethod(method: string): method is TargetMethod {
  return RULES_BY_METHOD.has(method);
}

/** Whether a request of a client of this era goes to one backend. Hot path. */
export function isTargetMethodOf(era: Era, method: string): method is TargetMethod {
  const eras = RULES_BY_METHOD.get(method)?.eras;
  return eras === era || eras === 'both';
}

export function mayAskForInput(method: string): boolean {
  return RULES_BY_METHOD.get(method)?.mayAskForInput === true;
}

export function isTaskMethod(method: string): boolean {
  return RULES_BY_METHOD.get(method)?.names === 'tasks';
}

export function nameKindOf(method: string): NameKind {
  return RULES_BY_METHOD.get(method)?.loggedAs ?? '';
}

export function nameInHead(method: string): MethodRules['nameInHead'] {
  return isTargetMethodOf('modern', method) ? METHODS[method].nameInHead : 'no';
}

/** How many times longer than its limit a name's token may be: an escaped character may take six bytes, and there may be a prefix. */
const NAME_TOKEN_BYTES_FACTOR = 8;

/** Finds the backends whose MCP Apps use a tool name or `ui:` URI: pages of apps write names and URIs of their server without a prefix. */
interface AppNames {
  backendsOfApp(virtualHost: CompiledVirtualHost, name: string): readonly CompiledBackend[];
}

/** Finds the target. @param apps asked for names and `ui:` URIs without a backend's prefix. */
export function readTarget(
  method: TargetMethod,
  virtualHost: CompiledVirtualHost,
  body: Buffer,
  message: ClientMessage,
  apps?: AppNames,
): TargetOutcome {
  const { nameStart, nameEnd, isUri } = message;
  const rules = rulesOf(method, message);
  if (nameStart === -1) return outcomeWithoutTarget(rules, rpcErrors.nameMissing(method, rules.missingText), '');
  const bytesMax = isUri ? limits.uriBytesMax : limits.toolNameBytesMax;
  if (nameEnd - nameStart > NAME_TOKEN_BYTES_FACTOR * bytesMax) {
    const text = `${body.toString('utf8', nameStart + 1, nameStart + 1 + bytesMax)}…`;
    return outcomeWithoutTarget(rules, rules.notFound(text, isUri), text, true);
  }
  const text = stringValue(body, nameStart, nameEnd);
  const { names } = rules;
  const byName = isUri ? routeUri(virtualHost, text) : nameRoute(names, virtualHost, text);
  const byApps =
    byName === undefined && apps !== undefined
      ? routesByApp(rules, apps.backendsOfApp(virtualHost, text), text, isUri)
      : NO_ROUTES;
  if (byApps.length > 1) {
    const owners = byApps.map(({ backend }) => backend.name).join(', ');
    return outcomeWithoutTarget(rules, rpcErrors.appNameAmbiguous(text, owners), text, true);
  }
  const route = byName ?? byApps[0];
  // This is the same limit as for URIs in lists, which have no prefix.
  if (route === undefined || ('bareUri' in route && route.bareUri.length > limits.uriBytesMax))
    return outcomeWithoutTarget(rules, rules.notFound(text, isUri), text, true);
  const { backend } = route;
  const bare = 'bareUri' in route ? route.bareUri : route.bareName;
  const outgoing = buildOutgoing(body, message, route);
  if ('code' in outgoing) return outcomeWithoutTarget(rules, outgoing, bare);
  const { nameInHead: inHead, loggedAs: nameKind, uriLocations, capability } = rules;
  const uri = isUri ? bare : undefined;
  const gate = names === 'tools' ? undefined : { method, capability, uri, notFound: rules.notFound(text, isUri) };
  // Unless the call asks for a task, a member `task` of its result is the tool's own.
  const created = gate === undefined && message.asksForTask ? taskLocation.created : 0;
  const taskLocations = rules.taskLocations | created;
  const target = { backend, outgoing, bareName: inHead === 'no' ? '' : bare, gate, uriLocations, taskLocations };
  return { target, name: nameKind === '' ? '' : bare, nameKind };
}

/** The outcome for a request without a target. @param isUnknown whether nothing has the name. */
function outcomeWithoutTarget(rules: MethodRules, error: RpcError, text: string, isUnknown = false): TargetOutcome {
  const { capability, loggedAs: nameKind, names } = rules;
  const isUnknownTool = isUnknown && names === 'tools';
  return { target: { error, capability, isUnknownTool }, name: nameKind === '' ? '' : text, nameKind };
}

function nameRoute(names: MethodRules['names'], virtualHost: CompiledVirtualHost, text: string): NameRoute | undefined {
  return names === 'tasks' ? routeTask(virtualHost, text) : routeName(virtualHost, names, text);
}

const NO_ROUTES: readonly (NameRoute | UriRoute)[] = [];

function routesByApp(
  { names }: MethodRules,
  owners: readonly CompiledBackend[],
  text: string,
  isUri: boolean,
): readonly (NameRoute | UriRoute)[] {
  if (isUri && text.startsWith('ui://'))
    return owners.map((backend) => ({ backend, bareUri: text, cutStart: 0, cutEnd: 0 }));
  return isUri || names !== 'tools' ? NO_ROUTES : owners.flatMap((backend) => routeBareTool(backend, text) ?? []);
}

/** The message with the backend's own name, and the arguments that the config fixes. */
function buildOutgoing(body: Buffer, message: ClientMessage, route: NameRoute | UriRoute): OutgoingMessage | RpcError {
  const task = message.relatedTaskStart === -1 ? undefined : bareTaskEdit(body, message, route.backend);
  const renamed = 'bareUri' in route ? bareUriBody(body, message, route) : bareNameBody(body, message, route);
  if ('bareUri' in route || route.curated === undefined) return task === undefined ? renamed : withEdit(renamed, task);
  const fixedArguments = curateArguments(body, message, route.curated);
  if (fixedArguments !== undefined && 'code' in fixedArguments) return fixedArguments;
  // Applied together with the name, as the three may lie in any order.
  const edits = [fixedArguments, task].filter((edit) => edit !== undefined);
  return withEdits(renamed, edits);
}
