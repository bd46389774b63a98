// The JSON-RPC errors that the gateway itself makes: those that answer a client's request (`rpcErrors`), and those that answer a
// backend's request in the client's place (`errorsToBackends`). docs/errors.md says when each occurs and what to do about it, and a test
// compares it with this table. An error whose text never varies is a frozen value; the others are made when they are needed.
// Refusals of whole HTTP requests are in refusals.ts.
import { limits } from './limits.js';
import { rpcCodes } from './refusals.js';

export interface RpcError {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

function fixed(code: number, message: string): RpcError {
  return Object.freeze({ code, message });
}

function error(code: number, message: string): RpcError {
  return { code, message };
}

const CONTEXT_KIB = limits.readAtOnceBytesMax / 1024;

/** Answers to requests of clients. */
export const rpcErrors = Object.freeze({
  // The request, or the client, does not fit the revision of MCP that the request names.
  /** @param fault which header is wrong, and how, as a text. */
  headerMismatch: (fault: string) => error(rpcCodes.headerMismatch, `Headers do not match the body: ${fault}`),
  /** @param requiredCapabilities as a client would declare them. */
  capabilityMissing: (requiredCapabilities: Readonly<Record<string, unknown>>): RpcError => ({
    code: rpcCodes.capabilityMissing,
    message: 'Missing required client capability',
    data: { requiredCapabilities },
  }),
  /** @param supported the versions that are served, newest first. */
  versionUnsupported: (requested: string | undefined, supported: readonly string[]): RpcError => ({
    code: rpcCodes.versionUnsupported,
    message: 'Unsupported protocol version',
    data: requested === undefined ? { supported } : { supported, requested },
  }),
  /** @param fault which member of `_meta` is wrong, and how, as a text. */
  envelopeInvalid: (fault: string) => error(rpcCodes.invalidParams, `Invalid params._meta: ${fault}`),

  // What the request is about does not exist, or not for this caller.
  methodNotFound: (method: string) => error(rpcCodes.methodNotFound, `Method not found: ${method}`),
  unknownTool: (name: string) => error(rpcCodes.invalidParams, `Unknown tool: ${name}`),
  /** For a tool name or page URI that an MCP App uses without a prefix, and that several backends have. @param backends comma-separated. */
  sharedByApps: (name: string, backends: string) =>
    error(rpcCodes.invalidParams, `Ambiguous name of an app: ${name}. Several servers have it: ${backends}`),
  unknownPrompt: (name: string) => error(rpcCodes.invalidParams, `Unknown prompt: ${name}`),
  /** Also for a backend that asks for a task that the client does not run for it. @param id as in the request. */
  unknownTask: (id: string) => error(rpcCodes.invalidParams, `Unknown task: ${id}`),
  /** For a completion. @param uri in the client's form, or a template. */
  unknownResource: (uri: string) => error(rpcCodes.invalidParams, `Unknown resource: ${uri}`),
  /** @param uri in the client's form. */
  resourceNotFound: (uri: string): RpcError => ({
    code: rpcCodes.resourceNotFound,
    message: 'Resource not found',
    data: { uri },
  }),
  /** The error of MCP 2026-07-28 in place of `resourceNotFound`, with the same `data`. */
  modernResourceNotFound: fixed(rpcCodes.invalidParams, 'Resource not found'),

  // The params are wrong.
  /** @param fault what is missing, as a text. */
  nameMissing: (method: string, fault: string) =>
    error(rpcCodes.invalidParams, `Invalid params of ${method}: ${fault}`),
  initializeInvalid: (fault: string) => error(rpcCodes.invalidParams, `Invalid params of initialize: ${fault}`),
  listenInvalid: (fault: string) => error(rpcCodes.invalidParams, `Invalid params of subscriptions/listen: ${fault}`),
  logLevelInvalid: fixed(
    rpcCodes.invalidParams,
    'Invalid params of logging/setLevel: level must be one of the eight levels of MCP',
  ),
  cursorInvalid: fixed(rpcCodes.invalidParams, 'Invalid cursor'),
  argumentNotAccepted: (name: string) => error(rpcCodes.invalidParams, `Argument not accepted: ${name}`),
  /** For a call of a tool with arguments that the config fixes or hides, or that headers for its backend repeat. */
  tooManyArguments: fixed(rpcCodes.invalidParams, 'Too many arguments to examine: send fewer'),
  argumentsInvalid: (method: string) =>
    error(rpcCodes.invalidParams, `Invalid arguments of ${method}: they must be given once, as an object`),
  contextInvalid: (method: string) =>
    error(
      rpcCodes.invalidParams,
      `Invalid context of ${method}: it must be given once, as an object of at most ${CONTEXT_KIB} KiB`,
    ),

  // The client has sent the request again, with the input that a backend asked for.
  /** The call may have been executed, so it is executed again only if the client asks for that. */
  callOver: fixed(
    rpcCodes.invalidParams,
    'The call with this requestState has ended: call again without requestState and inputResponses',
  ),
  /** Whether the new allow-list grants the URI depends on the backend's lists, which are read when the client calls again. */
  allowListChanged: fixed(
    rpcCodes.invalidParams,
    'The allow-list has changed meanwhile: call again without requestState and inputResponses',
  ),
  inputResponsesInvalid: fixed(
    rpcCodes.invalidParams,
    'inputResponses must be an object with a result for each name in inputRequests',
  ),

  // The request cannot be put into the form that a backend of MCP 2026-07-28 requires.
  argumentsTooLong: fixed(
    rpcCodes.invalidParams,
    'Arguments too long: the tool requires them as headers, which have a length limit',
  ),
  toolTooLarge: fixed(
    rpcCodes.invalidParams,
    'The tool cannot be called here: its input schema is too large to determine which arguments its backend requires as headers',
  ),
  nameTooLong: fixed(
    rpcCodes.invalidParams,
    'Name or URI too long: its backend requires it as a header, which has a length limit',
  ),
  notConverted: fixed(
    rpcCodes.internalError,
    'The request cannot be converted for its backend: send params without requestState and inputResponses, with a short _meta first',
  ),

  // The backend has failed, or lacks something.
  /** Names the backend and the kind of failure, never the backend's address (specification 2.6). */
  backendFailed: (backend: string, reason: string) =>
    error(rpcCodes.internalError, `Backend "${backend}" failed: ${reason}`),
  /** For a client that gets the URL as an elicitation, in `data`. */
  consentElicited: (backend: string) =>
    error(
      rpcCodes.urlElicitationRequired,
      `Backend "${backend}" needs your consent first: give it in your browser, then try again`,
    ),
  consentAtUrl: (backend: string, url: string) =>
    error(
      rpcCodes.internalError,
      `Backend "${backend}" needs your consent first: open ${url} in your browser, then try again`,
    ),
  consentWithoutUrl: (backend: string) =>
    error(
      rpcCodes.internalError,
      `Backend "${backend}" needs your consent first, but there is no URL where you can give it`,
    ),
  /** @param method the method of the backend's request to the client. @param why the message of an error. */
  inputNotObtained: (method: string, why: string) =>
    error(
      rpcCodes.internalError,
      `The backend needs a response from the client to ${method}, which could not be obtained: ${why}`,
    ),
  inputCutShort: fixed(
    rpcCodes.internalError,
    'The backend needs a response from the client, but this process is being replaced: call again',
  ),
  tooManyInputRounds: fixed(
    rpcCodes.internalError,
    `The backend has asked for more ${limits.inputRoundsMax} times and is still not done: giving up`,
  ),
  urlNotAccepted: fixed(
    rpcCodes.internalError,
    'The backend continues only after the user has opened its URL, and the client did not accept that',
  ),

  // The gateway could not make, or could not keep, the response.
  listNotMerged: fixed(rpcCodes.internalError, 'The list could not be merged'),
  toolsNotSearched: fixed(rpcCodes.internalError, 'The tools could not be searched'),
  answerTooLargeToHold: fixed(
    rpcCodes.internalError,
    'The response came before the input did, and is too large to be kept: the request was executed',
  ),
  answerTooLargeToResume: fixed(
    rpcCodes.refused,
    'The response came while the connection was lost, and is too large to be kept',
  ),
  answerNotRetained: fixed(
    rpcCodes.refused,
    'The rest of the stream is no longer retained, nor is the response: the request was executed, or still is',
  ),
  answerTooLargeForBatch: fixed(
    rpcCodes.refused,
    'The request was executed, but its response does not fit into the batch: send it alone',
  ),

  // The request was cancelled, or its session or this process ends.
  cancelled: fixed(rpcCodes.refused, 'Request cancelled'),
  listSessionEnded: fixed(rpcCodes.internalError, 'The session ended while the list was being made'),
  logLevelSessionEnded: fixed(rpcCodes.internalError, 'The session ended while its log level was being set'),
  methodSearchSessionEnded: fixed(
    rpcCodes.internalError,
    'The session ended while the backend of the method was being determined',
  ),
  listenEnding: fixed(rpcCodes.internalError, 'This server is about to stop: listen again'),
  discoverEnding: fixed(rpcCodes.internalError, 'This server is about to stop: try again'),

  // There is no room, or no stream.
  sessionRequestsFull: fixed(rpcCodes.refused, 'Too many requests in flight in this session'),
  sessionSubscriptionsFull: fixed(rpcCodes.refused, 'Too many subscriptions in this session'),
  listensFull: fixed(rpcCodes.internalError, 'Too many subscriptions are open: close one first'),
  listenNeedsEventStream: fixed(
    rpcCodes.internalError,
    'The client does not accept event streams: accept text/event-stream to listen',
  ),
});

/** Answers to requests of backends. */
export const errorsToBackends = Object.freeze({
  // The client does not have what the backend asks for.
  methodNotSupported: (method: string) => error(rpcCodes.methodNotFound, `The client does not support ${method}`),
  elicitationModeNotSupported: fixed(rpcCodes.invalidParams, 'The client does not support this mode of elicitation'),
  /** For a backend's request where no client can be asked. */
  methodNotOffered: fixed(rpcCodes.methodNotFound, 'Method not offered'),
  taskAmbiguous: fixed(rpcCodes.internalError, 'Ambiguous task id: the name of another backend is a prefix of it'),

  // The client cannot be sent a request.
  clientTakesNoStream: fixed(
    rpcCodes.internalError,
    'The client does not accept event streams, so it cannot be sent requests',
  ),
  clientHasNoStream: fixed(rpcCodes.internalError, 'The client has no open stream on which it can be sent requests'),
  clientReadsNoRequests: fixed(rpcCodes.internalError, 'The client accepts no requests on its stream'),
  clientGone: fixed(rpcCodes.internalError, 'The client has disconnected'),
  clientNotAskedMidRequest: fixed(
    rpcCodes.internalError,
    'The client uses MCP 2026-07-28 and cannot be sent requests in the middle of a request',
  ),
  requestNotSentMidRequest: fixed(
    rpcCodes.internalError,
    'The client cannot be sent this request in the middle of another one',
  ),
  processEnding: fixed(rpcCodes.internalError, 'The client cannot be sent requests: this process is about to end'),

  // There are too many requests, or their ids are too long.
  tooManyInRequest: fixed(rpcCodes.internalError, 'Too many requests were sent to the client during this request'),
  tooManyHeldCalls: fixed(
    rpcCodes.internalError,
    'The client cannot be sent requests: too many calls already wait for input',
  ),
  tooManyPending: fixed(rpcCodes.internalError, 'Too many requests are pending at the client'),
  idTooLong: fixed(rpcCodes.internalError, 'The id of the request is too long'),

  // The client has no result for the backend.
  clientFailed: fixed(rpcCodes.internalError, 'The client responded with an error'),
  clientTimedOut: fixed(rpcCodes.internalError, 'The client did not answer in time'),
});

/** The error for one message of a batch, where a refusal would refuse the whole HTTP request. @param message the refusal's message. */
export function refusalAsError(message: string): RpcError {
  return error(rpcCodes.refused, message);
}
