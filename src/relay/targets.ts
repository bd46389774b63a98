// What a request is for, found by the name, the URI or the id of a task in it: the backend, the bytes that go there, and what must hold before
// they do. What is not allowed is answered like what does not exist. Hot.
import type { UpstreamOptions } from '../config/dataplane-options.js';
import { capability } from '../protocol/capabilities.js';
import { stringValue } from '../protocol/json-member.js';
import type { ClientMessage } from '../protocol/json-rpc.js';
import { taskPlace } from '../protocol/task-places.js';
import { uriPlace } from '../protocol/uri-places.js';
import { limits } from '../shared/limits.js';
import { rpcCodes } from '../shared/refusals.js';
import type { CompiledBackend, CompiledVirtualHost } from '../user-config/compiled-config.js';
import {
  resourceNotFound,
  unknownPrompt,
  unknownResource,
  unknownTask,
  unknownTool,
  type RpcError,
} from './answers.js';
import { bareNameBody, bareUriBody, withEdit, withEdits } from './bare-body.js';
import { curatedArguments } from './curated-call.js';
import type { GateRules } from './gate.js';
import { routeName, routeTask, type NameRoute } from '../user-config/routing.js';
import { bareTaskEdit } from './task-ids.js';
import type { OutgoingMessage } from '../upstream/http-upstream.js';
import { routeUri } from './uris.js';

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
  /** What it is about, as the backend calls it, where requests say so in their heads; `''` elsewhere. */
  readonly bareName: string;
  /** `undefined` for tools, which have none. */
  readonly gate: GateRules | undefined;
  /** Bits of `uriPlace`: where in the answer URIs are the backend's. */
  readonly uriPlaces: number;
  /** The same of `taskPlace` for ids of tasks. */
  readonly taskPlaces: number;
}

/** Why a request has no target. */
export interface NoTarget {
  readonly error: RpcError;
  /** A bit of `capability`: where nobody declares it, it is the method that is not there. Tools need none. */
  readonly capability: number;
  /** No tool has the name. */
  readonly isUnknownTool?: boolean;
}

export interface TargetReading {
  readonly target: Target | NoTarget;
  /** For logs and traces: the bare name of a tool or a prompt, or what the caller has called so; `''` for all else. */
  readonly name: string;
}

interface MethodRules {
  readonly capability: number;
  readonly uriPlaces: number;
  readonly taskPlaces: number;
  readonly unknownName: (name: string) => RpcError;
  readonly unknownUri: (uri: string) => RpcError;
}

const METHODS: Readonly<Record<TargetMethod, MethodRules>> = {
  'tools/call': {
    capability: 0,
    uriPlaces: uriPlace.content | uriPlace.error,
    taskPlaces: taskPlace.related,
    unknownName: unknownTool,
    unknownUri: unknownResource,
  },
  'prompts/get': {
    capability: capability.prompts,
    uriPlaces: uriPlace.messages | uriPlace.error,
    taskPlaces: taskPlace.related,
    unknownName: unknownPrompt,
    unknownUri: unknownResource,
  },
  'resources/read': {
    capability: capability.resources,
    uriPlaces: uriPlace.contents | uriPlace.error,
    taskPlaces: taskPlace.related,
    unknownName: unknownPrompt,
    unknownUri: resourceNotFound,
  },
  // Many servers take subscriptions and say that they do not. One that does not says so itself.
  'resources/subscribe': {
    capability: capability.resources,
    uriPlaces: uriPlace.error,
    taskPlaces: taskPlace.related,
    unknownName: unknownPrompt,
    unknownUri: resourceNotFound,
  },
  'resources/unsubscribe': {
    capability: capability.resources,
    uriPlaces: uriPlace.error,
    taskPlaces: taskPlace.related,
    unknownName: unknownPrompt,
    unknownUri: resourceNotFound,
  },
  'completion/complete': {
    capability: capability.completions,
    uriPlaces: uriPlace.error,
    taskPlaces: taskPlace.related,
    unknownName: unknownPrompt,
    unknownUri: unknownResource,
  },
  'tasks/get': {
    capability: capability.tasks,
    uriPlaces: uriPlace.error,
    taskPlaces: taskPlace.own | taskPlace.related,
    unknownName: unknownTask,
    unknownUri: unknownResource,
  },
  // Its result is that of the call.
  'tasks/result': {
    capability: capability.tasks,
    uriPlaces: uriPlace.content | uriPlace.error,
    taskPlaces: taskPlace.related,
    unknownName: unknownTask,
    unknownUri: unknownResource,
  },
  'tasks/cancel': {
    capability: capability.tasksCancel,
    uriPlaces: uriPlace.error,
    taskPlaces: taskPlace.own | taskPlace.related,
    unknownName: unknownTask,
    unknownUri: unknownResource,
  },
  // Of tasks since 2026-07-28 alone.
  'tasks/update': {
    capability: capability.tasksExtension,
    uriPlaces: uriPlace.error,
    taskPlaces: taskPlace.related,
    unknownName: unknownTask,
    unknownUri: unknownResource,
  },
};

/** Tasks since 2026-07-28, an extension: the result of one is in what is said of it. */
const EXTENSION_TASK = { capability: capability.tasksExtension, uriPlaces: uriPlace.ofTask | uriPlace.error } as const;
const EXTENSION_METHODS: Readonly<Partial<Record<TargetMethod, MethodRules>>> = {
  'tasks/get': { ...METHODS['tasks/get'], ...EXTENSION_TASK },
  'tasks/cancel': { ...METHODS['tasks/cancel'], ...EXTENSION_TASK },
};

function rulesOf(method: TargetMethod, { envelope }: ClientMessage): MethodRules {
  return (envelope === undefined ? undefined : EXTENSION_METHODS[method]) ?? METHODS[method];
}

export function isTargetMethod(method: string): method is TargetMethod {
  return Object.hasOwn(METHODS, method);
}

/** The same of those that requests in a session can have. */
export function isSessionTarget(method: string): method is TargetMethod {
  return isTargetMethod(method) && method !== 'tasks/update';
}

/** What is said to callers whose request does not say what it is about. */
const TARGET_MISSING: Readonly<Record<TargetMethod, string>> = {
  'tools/call': 'name must be a string',
  'prompts/get': 'name must be a string',
  'resources/read': 'uri must be a string',
  'resources/subscribe': 'uri must be a string',
  'resources/unsubscribe': 'uri must be a string',
  'completion/complete': 'ref must be of type ref/prompt with a name, or ref/resource with a uri',
  'tasks/get': 'taskId must be a string',
  'tasks/result': 'taskId must be a string',
  'tasks/cancel': 'taskId must be a string',
  'tasks/update': 'taskId must be a string',
};

/** Room for escapes, of which one character may take six bytes, and for the prefix. */
const TOKEN_BYTES_TIMES = 8;

export function readTarget(
  method: TargetMethod,
  virtualHost: CompiledVirtualHost,
  body: Buffer,
  message: ClientMessage,
): TargetReading {
  const { nameStart, nameEnd, isUri } = message;
  const rules = rulesOf(method, message);
  if (nameStart === -1) {
    const error = { code: rpcCodes.invalidParams, message: `Invalid params of ${method}: ${TARGET_MISSING[method]}` };
    return { target: { error, capability: rules.capability }, name: '' };
  }
  const bytesMax = isUri ? limits.uriBytesMax : limits.toolNameBytesMax;
  const isTokenTooLong = nameEnd - nameStart > TOKEN_BYTES_TIMES * bytesMax;
  const text = isTokenTooLong
    ? `${body.toString('utf8', nameStart + 1, nameStart + 1 + bytesMax)}…`
    : stringValue(body, nameStart, nameEnd);
  if (method === 'tools/call') {
    const route = isTokenTooLong ? undefined : routeName(virtualHost, 'tools', text);
    if (route === undefined)
      return { target: { error: unknownTool(text), capability: 0, isUnknownTool: true }, name: text };
    // Without `task` a result may have a member of that name of its own.
    const taskPlaces = message.asksForTask ? rules.taskPlaces | taskPlace.created : rules.taskPlaces;
    const outgoing = outgoingTo(body, message, route);
    if ('code' in outgoing) return { target: { error: outgoing, capability: 0 }, name: route.bareName };
    const { backend, bareName } = route;
    const target = { backend, outgoing, bareName, gate: undefined, uriPlaces: rules.uriPlaces, taskPlaces };
    return { target, name: bareName };
  }
  const unknown = isUri ? rules.unknownUri(text) : rules.unknownName(text);
  const found = isTokenTooLong ? undefined : findTarget(method, virtualHost, body, message, text, unknown);
  if (found !== undefined) return found;
  const name = method === 'prompts/get' ? text : '';
  return { target: { error: unknown, capability: rules.capability }, name };
}

function findTarget(
  method: TargetMethod,
  virtualHost: CompiledVirtualHost,
  body: Buffer,
  message: ClientMessage,
  text: string,
  unknown: RpcError,
): TargetReading | undefined {
  const { uriPlaces, taskPlaces, capability: needed } = rulesOf(method, message);
  if (message.isUri) {
    const route = routeUri(virtualHost, text);
    // The bound of lists, where URIs have no prefix.
    if (route === undefined || route.bareUri.length > limits.uriBytesMax) return undefined;
    const target = {
      backend: route.backend,
      outgoing: withBareTask(bareUriBody(body, message, route), message, route.backend),
      bareName: method === 'resources/read' ? route.bareUri : '',
      gate: { method, capability: needed, uri: route.bareUri, unknown },
      uriPlaces,
      taskPlaces,
    };
    return { target, name: '' };
  }
  const route = isTaskMethod(method) ? routeTask(virtualHost, text) : routeName(virtualHost, 'prompts', text);
  if (route === undefined) return undefined;
  const outgoing = outgoingTo(body, message, route);
  const name = method === 'prompts/get' ? route.bareName : '';
  if ('code' in outgoing) return { target: { error: outgoing, capability: needed }, name };
  const { backend } = route;
  const bareName = isTaskMethod(method) ? route.bareName : name;
  const gate = { method, capability: needed, uri: undefined, unknown };
  const target = { backend, outgoing, bareName, gate, uriPlaces, taskPlaces };
  return { target, name };
}

/** With the backend's own name, and the arguments that the config fixes. */
function outgoingTo(body: Buffer, message: ClientMessage, route: NameRoute): OutgoingMessage | RpcError {
  const named = bareNameBody(body, message, route);
  if (route.curated === undefined) return withBareTask(named, message, route.backend);
  const fixing = curatedArguments(body, message, route.curated);
  if (fixing !== undefined && 'code' in fixing) return fixing;
  // At once with the name: any of the three may stand between the two others.
  const edits = [fixing, bareTaskEdit(body, message, route.backend)].filter((edit) => edit !== undefined);
  return withEdits(named, edits);
}

/** How long a backend may say nothing, ms: the result of a task is waited for as long as the task takes. */
export function silenceMsMax(method: string, { callIdleTimeoutMs }: UpstreamOptions): number {
  return method === 'tasks/result' ? Math.max(callIdleTimeoutMs, limits.taskResultSilenceMsMax) : callIdleTimeoutMs;
}

function isTaskMethod(method: TargetMethod): boolean {
  return METHODS[method].unknownName === unknownTask;
}

function withBareTask(outgoing: OutgoingMessage, message: ClientMessage, backend: CompiledBackend): OutgoingMessage {
  if (message.relatedTaskStart === -1) return outgoing;
  return withEdit(outgoing, bareTaskEdit(outgoing.body, message, backend));
}
