// The gateway's own JSON-RPC errors: to clients (`rpcErrors`), and to backends in a client's place (`errorsToBackends`). docs/errors.md
// says when each occurs and what to do about it. Refusals of whole HTTP requests are in refusals.ts.
import { limits } from './limits.js';
import { rpcCodes } from './refusals.js';

export interface RpcError {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

function error(code: number, message: string): RpcError {
  return Object.freeze({ code, message });
}

const invalid = (message: string): RpcError => error(rpcCodes.invalidParams, message);
const internal = (message: string): RpcError => error(rpcCodes.internalError, message);
const refused = (message: string): RpcError => error(rpcCodes.refused, message);

const CONTEXT_KIB = limits.readAtOnceBytesMax / 1024;

export const rpcErrors = Object.freeze({
  // The request, or the client, does not fit the revision of MCP that the request names.
  /** @param fault which header is wrong, and how. */
  headerMismatch: (fault: string) => error(rpcCodes.headerMismatch, `Headers do not match the body: ${fault}`),
  /** @param requiredCapabilities as a client declares them. */
  capabilityMissing: (requiredCapabilities: Readonly<Record<string, unknown>>): RpcError => ({
    code: rpcCodes.capabilityMissing,
    message: 'Missing required client capability',
    data: { requiredCapabilities },
  }),
  /** @param supported newest first. */
  versionUnsupported: (requested: string | undefined, supported: readonly string[]): RpcError => ({
    code: rpcCodes.versionUnsupported,
    message: 'Unsupported protocol version',
    data: requested === undefined ? { supported } : { supported, requested },
  }),
  /** @param fault which member is wrong, and how. */
  envelopeInvalid: (fault: string) => invalid(`Invalid params._meta: ${fault}`),

  // What the request is about does not exist, or not for this caller.
  methodNotFound: (method: string) => error(rpcCodes.methodNotFound, `Method not found: ${method}`),
  unknownTool: (name: string) => invalid(`Unknown tool: ${name}`),
  /** The error for a name or page URI without a prefix that several backends have (MCP Apps). @param backends comma-separated. */
  appNameAmbiguous: (name: string, backends: string) =>
    invalid(`Ambiguous name of an app: ${name}. Several servers have it: ${backends}`),
  unknownPrompt: (name: string) => invalid(`Unknown prompt: ${name}`),
  /** Also the answer to a backend that asks for a task of the client. */
  unknownTask: (id: string) => invalid(`Unknown task: ${id}`),
  /** The error for a completion. @param uri as the client knows it, or a template. */
  unknownResource: (uri: string) => invalid(`Unknown resource: ${uri}`),
  /** @param uri as the client knows it. */
  resourceNotFound: (uri: string): RpcError => ({
    code: rpcCodes.resourceNotFound,
    message: 'Resource not found',
    data: { uri },
  }),
  /** The code and message of `resourceNotFound` in MCP 2026-07-28. */
  modernResourceNotFound: invalid('Resource not found'),

  // The params are wrong.
  /** @param fault what is missing or wrong. */
  nameMissing: (method: string, fault: string) => invalid(`Invalid params of ${method}: ${fault}`),
  initializeInvalid: (fault: string) => invalid(`Invalid params of initialize: ${fault}`),
  listenInvalid: (fault: string) => invalid(`Invalid params of subscriptions/listen: ${fault}`),
  logLevelInvalid: invalid('Invalid params of logging/setLevel: level must be one of the eight levels of MCP'),
  cursorInvalid: invalid('Invalid cursor'),
  argumentNotAccepted: (name: string) => invalid(`Argument not accepted: ${name}`),
  /** The error for arguments that the config fixes or hides, or that headers repeat. */
  tooManyArguments: invalid('Too many arguments to examine: send fewer'),
  argumentsInvalid: (method: string) =>
    invalid(`Invalid arguments of ${method}: they must be given once, as an object`),
  contextInvalid: (method: string) =>
    invalid(`Invalid context of ${method}: it must be given once, as an object of at most ${CONTEXT_KIB} KiB`),

  // The client has sent the request again, with the input that a backend asked for.
  /** The request may have been executed, so only the client may repeat it. */
  callOver: invalid('The call with this requestState has ended: call again without requestState and inputResponses'),
  /** Whether the allow-list grants the URI depends on the backend's lists, which are read with the next call. */
  allowListChanged: invalid('The allow-list has changed meanwhile: call again without requestState and inputResponses'),
  inputResponsesInvalid: invalid('inputResponses must be an object with a result for each name in inputRequests'),

  // The request cannot be put into the form that a backend of MCP 2026-07-28 requires.
  argumentsTooLong: invalid('Arguments too long: the tool requires them as headers, which have a length limit'),
  toolTooLarge: invalid(
    'The tool cannot be called here: its input schema is too large to determine which arguments its backend requires as headers',
  ),
  nameTooLong: invalid('Name or URI too long: its backend requires it as a header, which has a length limit'),
  notConverted: internal(
    'The request cannot be converted for its backend: send params without requestState and inputResponses, with a short _meta first',
  ),

  // The backend has failed, or lacks something.
  /** The error never has the backend's address (specification 2.6). */
  backendFailed: (backend: string, reason: string) => internal(`Backend "${backend}" failed: ${reason}`),
  /** The URL is in an elicitation in the error's `data`. */
  consentElicited: (backend: string) =>
    error(
      rpcCodes.urlElicitationRequired,
      `Backend "${backend}" needs your consent first: give it in your browser, then try again`,
    ),
  consentAtUrl: (backend: string, url: string) =>
    internal(`Backend "${backend}" needs your consent first: open ${url} in your browser, then try again`),
  consentWithoutUrl: (backend: string) =>
    internal(`Backend "${backend}" needs your consent first, but there is no URL where you can give it`),
  /** @param method of the backend's request. @param why the message of an error. */
  inputNotObtained: (method: string, why: string) =>
    internal(`The backend needs a response from the client to ${method}, which could not be obtained: ${why}`),
  inputCutShort: internal(
    'The backend needs a response from the client, but this process is being replaced: call again',
  ),
  tooManyInputRounds: internal(
    `The backend has asked for more ${limits.inputRoundsMax} times and is still not done: giving up`,
  ),
  urlNotAccepted: internal(
    'The backend continues only after the user has opened its URL, and the client did not accept that',
  ),

  // The gateway could not make, or could not keep, the response.
  listNotMerged: internal('The list could not be merged'),
  toolsNotSearched: internal('The tools could not be searched'),
  answerTooLargeToKeep: internal(
    'The response came before the input did, and is too large to be kept: the request was executed',
  ),
  answerTooLargeToResume: refused('The response came while the connection was lost, and is too large to be kept'),
  answerNotRetained: refused(
    'The rest of the stream is no longer retained, nor is the response: the request was executed, or still is',
  ),
  answerTooLargeForBatch: refused(
    'The request was executed, but its response does not fit into the batch: send it alone',
  ),

  // The request was cancelled, or its session or this process ends.
  cancelled: refused('Request cancelled'),
  listSessionEnded: internal('The session ended while the list was being made'),
  logLevelSessionEnded: internal('The session ended while its log level was being set'),
  methodSearchSessionEnded: internal('The session ended while the backend of the method was being determined'),
  listenEnding: internal('This server is about to stop: listen again'),
  discoverEnding: internal('This server is about to stop: try again'),

  // There is no room, or no stream.
  sessionRequestsFull: refused('Too many requests in flight in this session'),
  sessionSubscriptionsFull: refused('Too many subscriptions in this session'),
  listensFull: internal('Too many subscriptions are open: close one first'),
  listenNeedsEventStream: internal('The client does not accept event streams: accept text/event-stream to listen'),
});

export const errorsToBackends = Object.freeze({
  // The client does not have what the backend asks for.
  methodNotSupported: (method: string) => error(rpcCodes.methodNotFound, `The client does not support ${method}`),
  elicitationModeNotSupported: invalid('The client does not support this mode of elicitation'),
  /** The error where no client can be asked. */
  methodNotOffered: error(rpcCodes.methodNotFound, 'Method not offered'),
  taskAmbiguous: internal('Ambiguous task id: the name of another backend is a prefix of it'),

  // The client cannot be sent a request.
  clientTakesNoStream: internal('The client does not accept event streams, so it cannot be sent requests'),
  clientHasNoStream: internal('The client has no open stream on which it can be sent requests'),
  clientReadsNoRequests: internal('The client accepts no requests on its stream'),
  clientGone: internal('The client has disconnected'),
  clientNotAskedMidRequest: internal(
    'The client uses MCP 2026-07-28 and cannot be sent requests in the middle of a request',
  ),
  requestNotSentMidRequest: internal('The client cannot be sent this request in the middle of another one'),
  processEnding: internal('The client cannot be sent requests: this process is about to end'),

  // There are too many requests, or their ids are too long.
  tooManyInRequest: internal('Too many requests were sent to the client during this request'),
  tooManySuspendedCalls: internal('The client cannot be sent requests: too many calls already wait for input'),
  tooManyPending: internal('Too many requests are pending at the client'),
  idTooLong: internal('The id of the request is too long'),

  // The client has no result for the backend.
  clientFailed: internal('The client responded with an error'),
  clientTimedOut: internal('The client did not answer in time'),
});

/** A refusal's error for one message of a batch. @param message of a refusal, which would refuse the whole HTTP request. */
export function refusalAsError(message: string): RpcError {
  return refused(message);
}
