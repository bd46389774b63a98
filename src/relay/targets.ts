// What a request is for, found by the name or the URI in it: the backend, the bytes that go there, and what must hold before
// they do. What is not allowed is answered like what does not exist. Hot.
import { capability } from '../protocol/capabilities.js';
import { stringValue } from '../protocol/json-member.js';
import type { ClientMessage } from '../protocol/json-rpc.js';
import { uriPlace } from '../protocol/uri-places.js';
import { limits } from '../shared/limits.js';
import { rpcCodes } from '../shared/refusals.js';
import type { CompiledBackend, CompiledVirtualHost } from '../store/compiled-config.js';
import { resourceNotFound, unknownPrompt, unknownResource, unknownTool, type RpcError } from './answers.js';
import { bareNameBody, bareUriBody } from './bare-body.js';
import type { GateRules } from './gate.js';
import { routeName } from './routing.js';
import type { OutgoingMessage } from './upstream/http-upstream.js';
import { routeUri } from './uris.js';

/** The methods whose requests go to one backend. */
export type TargetMethod =
  | 'tools/call'
  | 'prompts/get'
  | 'resources/read'
  | 'resources/subscribe'
  | 'resources/unsubscribe'
  | 'completion/complete';

export interface Target {
  readonly backend: CompiledBackend;
  readonly outgoing: OutgoingMessage;
  /** `undefined` for tools, which have none. */
  readonly gate: GateRules | undefined;
  /** Bits of `uriPlace`: where in the answer URIs are the backend's. */
  readonly uriPlaces: number;
}

/** Why a request has no target. */
export interface NoTarget {
  readonly error: RpcError;
  /** A bit of `capability`: where nobody declares it, it is the method that is not there. Tools need none. */
  readonly capability: number;
}

export interface TargetReading {
  readonly target: Target | NoTarget;
  /** For the access log: the bare name of a tool, or what the caller has called so. Others' names are not logged. */
  readonly tool: string;
}

interface MethodRules {
  readonly capability: number;
  readonly uriPlaces: number;
  readonly unknownName: (name: string) => RpcError;
  readonly unknownUri: (uri: string) => RpcError;
}

const METHODS: Readonly<Record<TargetMethod, MethodRules>> = {
  'tools/call': {
    capability: 0,
    uriPlaces: uriPlace.content | uriPlace.error,
    unknownName: unknownTool,
    unknownUri: unknownResource,
  },
  'prompts/get': {
    capability: capability.prompts,
    uriPlaces: uriPlace.messages | uriPlace.error,
    unknownName: unknownPrompt,
    unknownUri: unknownResource,
  },
  'resources/read': {
    capability: capability.resources,
    uriPlaces: uriPlace.contents | uriPlace.error,
    unknownName: unknownPrompt,
    unknownUri: resourceNotFound,
  },
  'resources/subscribe': {
    capability: capability.resourcesSubscribe,
    uriPlaces: uriPlace.error,
    unknownName: unknownPrompt,
    unknownUri: resourceNotFound,
  },
  'resources/unsubscribe': {
    capability: capability.resourcesSubscribe,
    uriPlaces: uriPlace.error,
    unknownName: unknownPrompt,
    unknownUri: resourceNotFound,
  },
  'completion/complete': {
    capability: capability.completions,
    uriPlaces: uriPlace.error,
    unknownName: unknownPrompt,
    unknownUri: unknownResource,
  },
};

/** Which member says what the request is about, for who has left it out. */
const MEMBERS: Readonly<Record<TargetMethod, string>> = {
  'tools/call': 'name must be a string',
  'prompts/get': 'name must be a string',
  'resources/read': 'uri must be a string',
  'resources/subscribe': 'uri must be a string',
  'resources/unsubscribe': 'uri must be a string',
  'completion/complete': 'ref must be of type ref/prompt with a name, or ref/resource with a uri',
};

/** Whatever of a name the caller writes as escapes, and its prefix in it. */
const TOKEN_BYTES_TIMES = 8;

export function readTarget(
  method: TargetMethod,
  virtualHost: CompiledVirtualHost,
  body: Buffer,
  message: ClientMessage,
): TargetReading {
  const { nameStart, nameEnd, isUri } = message;
  const rules = METHODS[method];
  if (nameStart === -1) {
    const error = { code: rpcCodes.invalidParams, message: `Invalid params of ${method}: ${MEMBERS[method]}` };
    return { target: { error, capability: rules.capability }, tool: '' };
  }
  const bytesMax = isUri ? limits.uriBytesMax : limits.toolNameBytesMax;
  const isTokenTooLong = nameEnd - nameStart > TOKEN_BYTES_TIMES * bytesMax;
  const text = isTokenTooLong
    ? `${body.toString('utf8', nameStart + 1, nameStart + 1 + bytesMax)}…`
    : stringValue(body, nameStart, nameEnd);
  const isTooLong = isTokenTooLong || (isUri && text.length > bytesMax);
  if (method === 'tools/call') {
    const route = isTooLong ? undefined : routeName(virtualHost, 'tools', text);
    if (route === undefined) return { target: { error: unknownTool(text), capability: 0 }, tool: text };
    const outgoing = bareNameBody(body, message, route);
    const target = { backend: route.backend, outgoing, gate: undefined, uriPlaces: rules.uriPlaces };
    return { target, tool: route.bareName };
  }
  const unknown = isUri ? rules.unknownUri(text) : rules.unknownName(text);
  const target = isTooLong ? undefined : findTarget(method, virtualHost, body, message, text, unknown);
  return { target: target ?? { error: unknown, capability: rules.capability }, tool: '' };
}

function findTarget(
  method: TargetMethod,
  virtualHost: CompiledVirtualHost,
  body: Buffer,
  message: ClientMessage,
  text: string,
  unknown: RpcError,
): Target | undefined {
  const { uriPlaces } = METHODS[method];
  const gate = { method, capability: METHODS[method].capability, unknown };
  if (message.isUri) {
    const route = routeUri(virtualHost, text);
    return (
      route && {
        backend: route.backend,
        outgoing: bareUriBody(body, message, route),
        gate: { ...gate, uri: route.bareUri },
        uriPlaces,
      }
    );
  }
  const route = routeName(virtualHost, 'prompts', text);
  return (
    route && {
      backend: route.backend,
      outgoing: bareNameBody(body, message, route),
      gate: { ...gate, uri: undefined },
      uriPlaces,
    }
  );
}
