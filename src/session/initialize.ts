// `initialize`: opens an upstream session with every backend at once. It responds when each is open or has failed, or when one is open and
// `initializePatienceMs` is over. It succeeds whatever the backends do (specification 2.3): unavailable backends are named in the result,
// and tried again when needed.
import type { ClientIntroduction } from '../upstream/index.js';
import {
  metadataFor,
  answer,
  answerError,
  refuse,
  resultMessage,
  type Exchange,
  type Caller,
} from '../exchange/index.js';
import {
  capabilitiesJson,
  capability,
  type ClientMessage,
  LATEST_LEGACY_VERSION,
  PRESUMED_CAPABILITIES,
  LEGACY_VERSIONS,
  type ExtraCapability,
  type Era,
} from '../mcp/index.js';
import { MEMBER_ABSENT, MEMBER_AMBIGUOUS, findMember, stringValue, JsonScanner, jsonKind } from '../bytes/index.js';
import { limits, PROGRAM_VERSION, rpcErrors } from '../shared/index.js';
import { type CompiledBackend, type CompiledVirtualHost, isRestricted } from '../user-config/index.js';
import { visitAll } from '../streams/index.js';
import { Session } from './session.js';
import {
  missingBackend,
  unavailableMeta,
  type UnavailableBackend,
  upstreamFault,
  type UpstreamFault,
} from '../http-client/index.js';
import type { SessionUpstreams } from './session-upstreams.js';
import type { Accounts } from '../fair/index.js';
import type { Sessions } from './sessions.js';

interface InitializeParams {
  readonly protocolVersion: string;
  readonly introduction: ClientIntroduction;
}

const scanner = new JsonScanner();

const PARAMS_DEPTH = 2;
const NOT_READY_FAULT = upstreamFault('not-ready');
const NO_ANSWER_FAULT = upstreamFault('answer-timeout');

/** @returns a description of the fault if the params are invalid. */
export function readInitializeParams(body: Buffer, message: ClientMessage): InitializeParams | string {
  if (message.paramsStart === -1) return 'params missing';
  const bytes = body.subarray(message.paramsStart, message.paramsEnd);
  if (bytes.length > limits.initializeParamsBytesMax) {
    return `params must not be longer than ${limits.initializeParamsBytesMax} bytes`;
  }
  scanner.scan(bytes, PARAMS_DEPTH);
  const version = findMember(scanner, bytes, 0, 'protocolVersion');
  const capabilities = findMember(scanner, bytes, 0, 'capabilities');
  const clientInfo = findMember(scanner, bytes, 0, 'clientInfo');
  const fault =
    kindFault('protocolVersion', version, 'string') ??
    kindFault('capabilities', capabilities, 'object') ??
    kindFault('clientInfo', clientInfo, 'object') ??
    kindFault('clientInfo.name', findMember(scanner, bytes, clientInfo, 'name'), 'string') ??
    kindFault('clientInfo.version', findMember(scanner, bytes, clientInfo, 'version'), 'string');
  if (fault !== undefined) return fault;
  const lengthFault =
    tooLongFault('clientInfo', clientInfo, limits.clientMemberBytesMax) ??
    tooLongFault('capabilities', capabilities, limits.clientMemberBytesMax);
  if (lengthFault !== undefined) return lengthFault;
  const protocolVersion = stringValue(bytes, scanner.start(version), scanner.end(version));
  return {
    protocolVersion: LEGACY_VERSIONS.has(protocolVersion) ? protocolVersion : LATEST_LEGACY_VERSION,
    // These members refer to the request's body; the session keeps copies.
    introduction: {
      clientInfo: bytes.subarray(scanner.start(clientInfo), scanner.end(clientInfo)),
      capabilities: bytes.subarray(scanner.start(capabilities), scanner.end(capabilities)),
    },
  };
}

function tooLongFault(name: string, node: number, bytesMax: number): string | undefined {
  if (scanner.end(node) - scanner.start(node) <= bytesMax) return undefined;
  return `${name} must not be longer than ${bytesMax} bytes`;
}

function kindFault(name: string, node: number, kind: 'string' | 'object'): string | undefined {
  if (node === MEMBER_AMBIGUOUS) return `${name} must be given once`;
  if (node !== MEMBER_ABSENT && scanner.kind(node) === jsonKind[kind]) return undefined;
  return `${name} must be ${kind === 'object' ? 'an object' : 'a string'}`;
}

/**
 * Opens the upstream sessions with `backends`. When the patience is over, slow backends go on opening in the background, and a request that
 * needs one waits for it. If no backend is open by then, the first one that opens ends the wait.
 * @param done called once, with the backends that are unavailable.
 */
export function openUpstreams(
  session: Session,
  virtualHost: CompiledVirtualHost,
  exchange: Exchange,
  done: (unavailable: readonly UnavailableBackend[]) => void,
  backends = virtualHost.backends,
): void {
  const { deadlines, options } = session.context;
  const unavailable: UnavailableBackend[] = [];
  const pending = new Set(backends.values());
  let isPatienceOver = false;
  const finish = (): void => {
    patience.cancel();
    done(unavailable);
  };
  const settle = (backend: CompiledBackend, fault: UpstreamFault | undefined): void => {
    if (!pending.delete(backend)) return;
    if (fault !== undefined) unavailable.push(missingBackend(backend.name, fault));
    if (pending.size === 0) finish();
    else if (isPatienceOver && fault === undefined) settlePending();
  };
  const settlePending = (): void => {
    for (const backend of [...pending]) settle(backend, NOT_READY_FAULT);
  };
  const patience = deadlines.after(options.initializePatienceMs, () => {
    isPatienceOver = true;
    const openCount = backends.size - pending.size - unavailable.length;
    if (openCount > 0) settlePending();
  });
  if (pending.size === 0) finish();
  visitAll(session.identity.subject, backends.values(), {
    visit: (backend) => {
      // If the session has ended or has another config by now, the backend is opened by the first request that needs it.
      if (!session.hasConfig(virtualHost)) return settle(backend, NOT_READY_FAULT);
      const upstream = session.upstreams.of(backend);
      upstream.whenOpen(metadataFor(backend, exchange.request), (fault) => settle(backend, fault));
      if (upstream.isTrial) settle(backend, NO_ANSWER_FAULT);
    },
    onNoRoom: (backend) => settle(backend, NOT_READY_FAULT),
  });
}

interface MergedDeclarations {
  /** The union of what backends declare: bits of `capability`. */
  readonly capabilities: number;
  /** The extensions as JSON; `''` for none. */
  readonly extensions: string;
  /** JSON, with a comma before it; `''` for none. */
  readonly instructionsMember: string;
}

export function mergeDeclarations(session: Session, virtualHost: CompiledVirtualHost): MergedDeclarations {
  let capabilities = 0;
  const instructions: string[] = [];
  for (const backend of virtualHost.backends.values()) {
    const { record, usableCapabilities = PRESUMED_CAPABILITIES } = session.upstreams.of(backend);
    capabilities |= usableCapabilities;
    if (record === undefined) session.upstreams.listChangeReporter.onMissing(backend.name);
    else if (record.instructions !== undefined) instructions.push(`# ${backend.name}\n\n${record.instructions}`);
  }
  session.upstreams.announcedCapabilities |= capabilities;
  // Most backends have no instructions: then nothing is encoded.
  const member = instructions.length === 0 ? '' : `,"instructions":${JSON.stringify(instructions.join('\n\n'))}`;
  const { json: extensions, differing } = mergeExtensions(session.upstreams, virtualHost);
  if (differing.length > 0) session.context.log.onExtensionConflict(virtualHost, differing);
  return { capabilities, extensions, instructionsMember: member };
}

export function initializeResult(
  session: Session,
  virtualHost: CompiledVirtualHost,
  protocolVersion: string,
  unavailable: readonly UnavailableBackend[],
): string {
  const { capabilities, extensions, instructionsMember } = mergeDeclarations(session, virtualHost);
  const meta = unavailable.length === 0 ? '' : `,"_meta":${JSON.stringify(unavailableMeta(unavailable)._meta)}`;
  // What backends declare together, limited to what is relayed (specification 2.4).
  const declared = capabilitiesJson(
    capabilities & ~capability.tasksExtension,
    extensions,
    experimentalJson(session.upstreams, virtualHost),
  );
  return `{"protocolVersion":"${protocolVersion}","capabilities":${declared},"serverInfo":${SERVER_INFO}${instructionsMember}${meta}}`;
}

const SERVER_INFO = JSON.stringify({ name: 'switchyard', version: PROGRAM_VERSION });

// Experimental capabilities and extensions, and the methods that come with them. Messages of such methods are not rewritten, because their
// contents are unknown. Cold path.

type Upstreams = Pick<SessionUpstreams, 'findUsed'>;

/**
 * The only backend known to have the method; `undefined` if none or several have it. A backend whose config hides some of its items does
 * not count, because the method might reach a hidden item.
 */
export function backendOfMethod(
  { upstreams, identity: { era } }: Pick<Session, 'upstreams' | 'identity'>,
  { backends }: CompiledVirtualHost,
  method: string,
): CompiledBackend | undefined {
  const found = [...backends.values()].filter(
    (backend) => !isRestricted(backend) && extrasOf(upstreams, backend).some((extra) => hasMethod(extra, method, era)),
  );
  return found.length === 1 ? found[0] : undefined;
}

/** An experimental capability has the legacy method of its name. Methods of an extension `a.example/b` begin with `a.example/b/` or `b/`. */
function hasMethod({ name, isExtension }: ExtraCapability, method: string, era: Era): boolean {
  if (!isExtension) return era === 'legacy' && name === method;
  return method.startsWith(`${name}/`) || method.startsWith(`${name.slice(name.lastIndexOf('/') + 1)}/`);
}

function extrasOf(upstreams: Upstreams, { name }: CompiledBackend): readonly ExtraCapability[] {
  return upstreams.findUsed(name)?.namedCapabilities ?? [];
}

function experimentalJson(upstreams: Upstreams, { backends }: CompiledVirtualHost): string {
  const byName = new Map<string, string | undefined>();
  for (const backend of backends.values()) {
    for (const { name, value, isExtension } of extrasOf(upstreams, backend)) {
      // A name that two backends declare is left out: its requests would have no single receiver.
      if (!isExtension) byName.set(name, byName.has(name) ? undefined : value);
    }
  }
  return membersJson(byName);
}

/**
 * `capabilities.extensions` of all backends, with the settings of the first backend by name.
 * @returns the JSON, `''` for none; and the extensions to which backends give different settings.
 */
function mergeExtensions(
  upstreams: Upstreams,
  { backends }: CompiledVirtualHost,
): { readonly json: string; readonly differing: readonly string[] } {
  const byName = new Map<string, string>();
  const differing = new Set<string>();
  const declaring = [...backends.values()].filter((backend) => extrasOf(upstreams, backend).length > 0);
  for (const backend of declaring.sort((one, other) => (one.name < other.name ? -1 : 1))) {
    for (const { name, value, isExtension } of extrasOf(upstreams, backend)) {
      if (!isExtension) continue;
      if ((byName.get(name) ?? value) !== value) differing.add(name);
      if (!byName.has(name)) byName.set(name, value);
    }
  }
  return { json: membersJson(byName), differing: [...differing] };
}

function membersJson(byName: ReadonlyMap<string, string | undefined>): string {
  const members: string[] = [];
  for (const [name, value] of byName) if (value !== undefined) members.push(`${JSON.stringify(name)}:${value}`);
  return members.length === 0 ? '' : `{${members.join()}}`;
}

/** Backends that may have methods of their own: their config hides nothing, and their capabilities are not known in this session. */
export function backendsWithUnknownMethods(
  upstreams: Upstreams,
  { backends }: CompiledVirtualHost,
): ReadonlyMap<string, CompiledBackend> {
  const isUnknown = (backend: CompiledBackend): boolean =>
    !isRestricted(backend) && upstreams.findUsed(backend.name)?.usableCapabilities === undefined;
  return new Map([...backends].filter(([, backend]) => isUnknown(backend)));
}

// Serves `initialize`: the client learns the session's id only when the upstream sessions are open and the record is written.

export function openSession(
  accounts: Accounts,
  sessions: Sessions,
  { subject, virtualHost }: Caller,
  exchange: Exchange,
  message: ClientMessage,
): void {
  exchange.watcher?.onIdentified('initialize', '', '');
  const { body } = exchange.request;
  const id = { bytes: body, start: message.idStart, end: message.idEnd };
  const params = readInitializeParams(body, message);
  if (typeof params === 'string') {
    answerError(exchange, id, rpcErrors.initializeInvalid(params));
    return;
  }
  const account = accounts.of(subject);
  const session = account.refusalOfRequest() ?? sessions.create({ account, virtualHost, ...params });
  if (!(session instanceof Session)) {
    refuse(exchange, session);
    return;
  }
  session.applyConfig(virtualHost, exchange.request);
  account.requests.take(1);
  openUpstreams(session, virtualHost, exchange, (unavailable) => {
    const result = initializeResult(session, virtualHost, params.protocolVersion, unavailable);
    const end = (): void => {
      account.requests.give(1);
      // The caller never learns the id, so nobody could use or end the session.
      if (exchange.isAborted) void sessions.end(session, exchange.request);
      // A caller that has gone is answered, too: that completes the exchange, so that the access log has a line for it.
      answer(exchange, resultMessage(id, result), session.identity.id);
    };
    if (session.entry === undefined || exchange.isAborted) end();
    else session.entry.begin(session.context.deadlines, end);
  });
}
