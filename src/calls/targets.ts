// The target of a request, found by the name, the URI or the task id in it: the backend, the bytes that go there, and what must hold
// before they are sent. What is not allowed is answered like what does not exist. Hot path.
import type { UpstreamOptions } from '../config/index.js';
import { capability, type ClientMessage, type Era, taskPlace, uriPlace } from '../mcp/index.js';
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
  curatedArguments,
  bareTaskEdit,
  routeUri,
} from '../messages/index.js';
import type { NameKind } from '../exchange/index.js';
import type { GateRules } from './gate.js';
import type { OutgoingMessage } from '../http-client/index.js';

/**
 * Silence of a backend while a task's result is awaited, unless `--call-timeout` is longer. After it, the caller is answered -32603, and
 * may ask again.
 */
const TASK_RESULT_SILENCE_MS_MAX = 3_600_000;

/** The methods whose requests go to one backend. */
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
  /** What the request is about, as the backend calls it, if that is repeated in a header; `''` otherwise. */
  readonly bareName: string;
  /** `undefined` for tools, which have none. */
  readonly gate: GateRules | undefined;
  /** Bits of `uriPlace`: where in the answer URIs are the backend's. */
  readonly uriPlaces: number;
  /** Bits of `taskPlace`: where in the answer ids of tasks are the backend's. */
  readonly taskPlaces: number;
}

/** Why a request has no target. */
export interface NoTarget {
  readonly error: RpcError;
  /** A bit of `capability`: if no backend declares it, the method itself does not exist. Tools need none. */
  readonly capability: number;
  /** No tool has the name. */
  readonly isUnknownTool?: boolean;
}

export interface TargetReading {
  readonly target: Target | NoTarget;
  /** For logs and traces: the bare name of a tool or prompt, or the caller's name for it if there is none; `''` for everything else. */
  readonly name: string;
  /** What kind of name `name` is. */
  readonly nameKind: NameKind;
}

/** Everything the relay has to know of a method, except where its params say what it is about (mcp/request-subject.ts). */
interface MethodRules {
  /** The era of the clients that may use the method. */
  readonly eras: Era | 'both';
  /** What a name in its params is the name of, and which allow-list decides about it: URIs have one of their own. */
  readonly names: 'tools' | 'prompts' | 'tasks';
  /** The error text for a request that does not say what it is about. */
  readonly missing: string;
  readonly unknownName: (name: string) => RpcError;
  readonly unknownUri: (uri: string) => RpcError;
  /** The capability without which the method does not exist; 0: it always exists. */
  readonly capability: number;
  /** Where in the method's answer URIs and ids of tasks are the backend's. */
  readonly uriPlaces: number;
  readonly taskPlaces: number;
  /**
   * Whether `mcp-name` of a modern request repeats what it is about (M12): `may` where not all clients send it, though backends always
   * get it. Independent of `loggedAs`: a URI is in headers but not in logs.
   */
  readonly nameInHead: 'must' | 'may' | 'no';
  /** What kind of name it is in logs and traces; `''`: it is not there. */
  readonly loggedAs: NameKind;
  /** Whether a backend may answer that input is required (M22): such requests can be made again with the input. */
  readonly mayAskForInput: boolean;
}

const METHODS: Readonly<Record<TargetMethod, MethodRules>> = {
  'tools/call': {
    eras: 'both',
    names: 'tools',
    missing: 'name must be a string',
    unknownName: rpcErrors.unknownTool,
    unknownUri: rpcErrors.unknownResource,
    capability: 0,
    uriPlaces: uriPlace.content,
    taskPlaces: taskPlace.related,
    nameInHead: 'must',
    loggedAs: 'tool',
    mayAskForInput: true,
  },
  'prompts/get': {
    eras: 'both',
    names: 'prompts',
    missing: 'name must be a string',
    unknownName: rpcErrors.unknownPrompt,
    unknownUri: rpcErrors.unknownResource,
    capability: capability.prompts,
    uriPlaces: uriPlace.messages,
    taskPlaces: taskPlace.related,
    nameInHead: 'must',
    loggedAs: 'prompt',
    mayAskForInput: true,
  },
  'resources/read': {
    eras: 'both',
    names: 'prompts',
    missing: 'uri must be a string',
    unknownName: rpcErrors.unknownPrompt,
    unknownUri: rpcErrors.resourceNotFound,
    capability: capability.resources,
    uriPlaces: uriPlace.contents | uriPlace.error,
    taskPlaces: taskPlace.related,
    nameInHead: 'must',
    loggedAs: '',
    mayAskForInput: true,
  },
  // Needs `resources` only: many servers take subscriptions without declaring it. One that does not take them answers so itself.
  'resources/subscribe': {
    eras: 'legacy',
    names: 'prompts',
    missing: 'uri must be a string',
    unknownName: rpcErrors.unknownPrompt,
    unknownUri: rpcErrors.resourceNotFound,
    capability: capability.resources,
    uriPlaces: uriPlace.error,
    taskPlaces: taskPlace.related,
    nameInHead: 'no',
    loggedAs: '',
    mayAskForInput: false,
  },
  'resources/unsubscribe': {
    eras: 'legacy',
    names: 'prompts',
    missing: 'uri must be a string',
    unknownName: rpcErrors.unknownPrompt,
    unknownUri: rpcErrors.resourceNotFound,
    capability: capability.resources,
    uriPlaces: uriPlace.error,
    taskPlaces: taskPlace.related,
    nameInHead: 'no',
    loggedAs: '',
    mayAskForInput: false,
  },
  'completion/complete': {
    eras: 'both',
    names: 'prompts',
    missing: 'ref must be of type ref/prompt with a name, or ref/resource with a uri',
    unknownName: rpcErrors.unknownPrompt,
    unknownUri: rpcErrors.unknownResource,
    capability: capability.completions,
    uriPlaces: 0,
    taskPlaces: taskPlace.related,
    nameInHead: 'no',
    loggedAs: '',
    mayAskForInput: false,
  },
  'tasks/get': {
    eras: 'both',
    names: 'tasks',
    missing: 'taskId must be a string',
    unknownName: rpcErrors.unknownTask,
    unknownUri: rpcErrors.unknownResource,
    capability: capability.tasks,
    uriPlaces: 0,
    taskPlaces: taskPlace.own | taskPlace.related,
    nameInHead: 'may',
    loggedAs: '',
    mayAskForInput: false,
  },
  // The result is that of the call which has become the task.
  'tasks/result': {
    eras: 'legacy',
    names: 'tasks',
    missing: 'taskId must be a string',
    unknownName: rpcErrors.unknownTask,
    unknownUri: rpcErrors.unknownResource,
    capability: capability.tasks,
    uriPlaces: uriPlace.content,
    taskPlaces: taskPlace.related,
    nameInHead: 'may',
    loggedAs: '',
    mayAskForInput: false,
  },
  'tasks/cancel': {
    eras: 'both',
    names: 'tasks',
    missing: 'taskId must be a string',
    unknownName: rpcErrors.unknownTask,
    unknownUri: rpcErrors.unknownResource,
    capability: capability.tasksCancel,
    uriPlaces: 0,
    taskPlaces: taskPlace.own | taskPlace.related,
    nameInHead: 'may',
    loggedAs: '',
    mayAskForInput: false,
  },
  // Only for tasks of MCP 2026-07-28.
  'tasks/update': {
    eras: 'modern',
    names: 'tasks',
    missing: 'taskId must be a string',
    unknownName: rpcErrors.unknownTask,
    unknownUri: rpcErrors.unknownResource,
    capability: capability.tasksExtension,
    uriPlaces: 0,
    taskPlaces: taskPlace.related,
    nameInHead: 'may',
    loggedAs: '',
    mayAskForInput: false,
  },
};

/** Tasks of MCP 2026-07-28, an extension: the state of a task contains its result. */
const EXTENSION_TASK = { capability: capability.tasksExtension, uriPlaces: uriPlace.ofTask } as const;
const EXTENSION_METHODS: Readonly<Partial<Record<TargetMethod, MethodRules>>> = {
  'tasks/get': { ...METHODS['tasks/get'], ...EXTENSION_TASK },
  'tasks/cancel': { ...METHODS['tasks/cancel'], ...EXTENSION_TASK },
};

function rulesOf(method: TargetMethod, { envelope }: ClientMessage): MethodRules {
  return (envelope === undefined ? undefined : EXTENSION_METHODS[method]) ?? METHODS[method];
}

/** The rules by method name: one lookup per request. */
const RULES: ReadonlyMap<string, MethodRules> = new Map(Object.entries(METHODS));

/** For tests that compare lists elsewhere with them, and for what is made when the program starts. */
export const targetMethods: readonly string[] = [...RULES.keys()];

export function isTargetMethod(method: string): method is TargetMethod {
  return RULES.has(method);
}

/** Whether a legacy request goes to one backend. Hot path. */
export function isSessionTarget(method: string): method is TargetMethod {
  const rules = RULES.get(method);
  return rules !== undefined && rules.eras !== 'modern';
}

/** The same for a modern request. */
export function isModernTarget(method: string): method is TargetMethod {
  const rules = RULES.get(method);
  return rules !== undefined && rules.eras !== 'legacy';
}

export function mayAskForInput(method: string): boolean {
  return RULES.get(method)?.mayAskForInput === true;
}

export function isTaskMethod(method: string): boolean {
  return RULES.get(method)?.names === 'tasks';
}

/** As what kind of name the method's name is logged. */
export function nameKindOf(method: string): NameKind {
  return isTargetMethod(method) ? METHODS[method].loggedAs : '';
}

/** Whether `mcp-name` of a modern request repeats what it is about. */
export function nameInHead(method: string): MethodRules['nameInHead'] {
  return isModernTarget(method) ? METHODS[method].nameInHead : 'no';
}

/** How much longer than its bound a name's token may be: an escaped character may take six bytes, and there may be a prefix. */
const TOKEN_BYTES_TIMES = 8;

/** Finds the backends that list this: pages of apps do not know how the gateway calls what is their server's. */
export type AppNames = (name: string) => readonly CompiledBackend[];

/** @param apps asked for names and `ui:` URIs that have no backend's prefix. */
export function readTarget(
  method: TargetMethod,
  virtualHost: CompiledVirtualHost,
  body: Buffer,
  message: ClientMessage,
  apps?: AppNames,
): TargetReading {
  const { nameStart, nameEnd, isUri } = message;
  const rules = rulesOf(method, message);
  const nameKind = rules.loggedAs;
  if (nameStart === -1) {
    const error = rpcErrors.nameMissing(method, rules.missing);
    return { target: { error, capability: rules.capability }, name: '', nameKind };
  }
  const bytesMax = isUri ? limits.uriBytesMax : limits.toolNameBytesMax;
  const isTokenTooLong = nameEnd - nameStart > TOKEN_BYTES_TIMES * bytesMax;
  const text = isTokenTooLong
    ? `${body.toString('utf8', nameStart + 1, nameStart + 1 + bytesMax)}…`
    : stringValue(body, nameStart, nameEnd);
  if (method === 'tools/call') {
    const routes = isTokenTooLong ? [] : toolRoutes(virtualHost, text, apps);
    const [route] = routes;
    if (route === undefined || routes.length > 1) {
      const owners = routes.map(({ backend }) => backend.name).join(', ');
      const error = route === undefined ? rpcErrors.unknownTool(text) : rpcErrors.sharedByApps(text, owners);
      return { target: { error, capability: 0, isUnknownTool: true }, name: text, nameKind };
    }
    // If the call does not ask for a task, a member `task` of its result is the tool's own.
    const taskPlaces = message.asksForTask ? rules.taskPlaces | taskPlace.created : rules.taskPlaces;
    const outgoing = outgoingTo(body, message, route);
    if ('code' in outgoing) return { target: { error: outgoing, capability: 0 }, name: route.bareName, nameKind };
    const { backend, bareName } = route;
    const target = { backend, outgoing, bareName, gate: undefined, uriPlaces: rules.uriPlaces, taskPlaces };
    return { target, name: bareName, nameKind };
  }
  const unknown = isUri ? rules.unknownUri(text) : rules.unknownName(text);
  const found = isTokenTooLong ? undefined : findTarget(method, rules, virtualHost, body, message, text, unknown, apps);
  if (found !== undefined) return found;
  const name = nameKind === '' ? '' : text;
  return { target: { error: unknown, capability: rules.capability }, name, nameKind };
}

function findTarget(
  method: TargetMethod,
  rules: MethodRules,
  virtualHost: CompiledVirtualHost,
  body: Buffer,
  message: ClientMessage,
  text: string,
  unknown: RpcError,
  apps: AppNames | undefined,
): TargetReading | undefined {
  const { names, uriPlaces, taskPlaces, capability: needed, nameInHead: inHead, loggedAs: nameKind } = rules;
  if (message.isUri) {
    const routed = routeUri(virtualHost, text);
    const owners = routed === undefined && text.startsWith('ui://') ? (apps?.(text) ?? []) : [];
    if (owners.length > 1) {
      const error = rpcErrors.sharedByApps(text, owners.map((owner) => owner.name).join(', '));
      return { target: { error, capability: needed }, name: '', nameKind };
    }
    const route = routed ?? owners.map((backend) => ({ backend, bareUri: text, cutStart: 0, cutEnd: 0 }))[0];
    // The bound for URIs in lists, where they have no prefix.
    if (route === undefined || route.bareUri.length > limits.uriBytesMax) return undefined;
    const target = {
      backend: route.backend,
      outgoing: withBareTask(bareUriBody(body, message, route), message, route.backend),
      bareName: inHead === 'no' ? '' : route.bareUri,
      gate: { method, capability: needed, uri: route.bareUri, unknown },
      uriPlaces,
      taskPlaces,
    };
    return { target, name: '', nameKind };
  }
  const route = names === 'tasks' ? routeTask(virtualHost, text) : routeName(virtualHost, names, text);
  if (route === undefined) return undefined;
  const outgoing = outgoingTo(body, message, route);
  const name = nameKind === '' ? '' : route.bareName;
  if ('code' in outgoing) return { target: { error: outgoing, capability: needed }, name, nameKind };
  const { backend } = route;
  const bareName = inHead === 'no' ? '' : route.bareName;
  const gate = { method, capability: needed, uri: undefined, unknown };
  const target = { backend, outgoing, bareName, gate, uriPlaces, taskPlaces };
  return { target, name, nameKind };
}

function toolRoutes(virtualHost: CompiledVirtualHost, name: string, apps: AppNames | undefined): readonly NameRoute[] {
  const route = routeName(virtualHost, 'tools', name);
  if (route !== undefined) return [route];
  return apps?.(name).flatMap((backend) => routeBareTool(backend, name) ?? []) ?? [];
}

/** The message with the backend's own name, and the arguments that the config fixes. */
function outgoingTo(body: Buffer, message: ClientMessage, route: NameRoute): OutgoingMessage | RpcError {
  const named = bareNameBody(body, message, route);
  if (route.curated === undefined) return withBareTask(named, message, route.backend);
  const fixing = curatedArguments(body, message, route.curated);
  if (fixing !== undefined && 'code' in fixing) return fixing;
  // Applied together with the name: any of the three places may lie between the two others.
  const edits = [fixing, bareTaskEdit(body, message, route.backend)].filter((edit) => edit !== undefined);
  return withEdits(named, edits);
}

/** How long a backend may be silent, ms: longer for the result of a task, which comes only when the task has ended. */
export function silenceMsMax(method: string, { callIdleTimeoutMs }: UpstreamOptions): number {
  return method === 'tasks/result' ? Math.max(callIdleTimeoutMs, TASK_RESULT_SILENCE_MS_MAX) : callIdleTimeoutMs;
}

function withBareTask(outgoing: OutgoingMessage, message: ClientMessage, backend: CompiledBackend): OutgoingMessage {
  if (message.relatedTaskStart === -1) return outgoing;
  return withEdit(outgoing, bareTaskEdit(outgoing.body, message, backend));
}
