// Reads a backend's result of `initialize`, or of `server/discover`, its equivalent in the modern era: only the few members that matter.
// Cold path: once per upstream session.
import type { Buffer } from 'node:buffer';
import {
  capability,
  capabilityMembers,
  EXTENSIONS_NOT_FORWARDED,
  TASKS_EXTENSION,
  type ExtraCapability,
} from './capabilities.js';
import {
  MEMBER_ABSENT,
  ESCAPE_BYTES_MAX,
  findMember,
  findMembers,
  isStringEqual,
  MemberNames,
  stringValue,
  JsonScanner,
  jsonKind,
} from '../bytes/index.js';
import { METHOD_NAME_BYTES_MAX } from './json-rpc.js';
import { KIB } from '../shared/index.js';

/**
 * The most bytes, names and values together, of a backend's experimental capabilities that each session keeps, and as many of its
 * extensions. Further ones are left out.
 */
export const EXTRA_CAPABILITY_BYTES_MAX = KIB;
/** Characters of a backend's `instructions`, which each session keeps. Longer ones are left out. */
export const INSTRUCTIONS_CHARS_MAX = 32 * KIB;

interface ServerDescription {
  /** The declared capabilities, as bits of `capability`. */
  readonly capabilities: number;
  /** Experimental capabilities and extensions; `undefined` for none. */
  readonly named: readonly ExtraCapability[] | undefined;
  /** The backend's instructions; `undefined` for none, and if they are too long: a part of them could say the opposite. */
  readonly instructions: string | undefined;
}

interface InitializeResult extends ServerDescription {
  readonly protocolVersion: string;
}

interface DiscoverResult extends ServerDescription {
  /** The versions that the server names: at most `VERSIONS_READ_MAX`, more than any real server does. */
  readonly supportedVersions: readonly string[];
}

const RESULT_DEPTH = 5;
/** The most bytes of a version, with quotes and escapes: more than any real one has. */
const VERSION_BYTES_MAX = 128;
const VERSIONS_READ_MAX = 64;

const scanner = new JsonScanner();
const initializeNames = new MemberNames('protocolVersion', 'capabilities', 'instructions');
const initializeFound = new Int32Array(initializeNames.all.length);
const discoverNames = new MemberNames('supportedVersions', 'capabilities', 'instructions', 'resultType');
const discoverFound = new Int32Array(discoverNames.all.length);

/** Reads a result. @returns `undefined` for anything but a result of `initialize`, and if one of the members read is ambiguous. */
export function readInitializeResult(bytes: Buffer): InitializeResult | undefined {
  if (!scanner.scan(bytes, RESULT_DEPTH) || scanner.kind(0) !== jsonKind.object) return undefined;
  if (!findMembers(scanner, bytes, 0, initializeNames, initializeFound)) return undefined;
  const [version = MEMBER_ABSENT, capabilities = MEMBER_ABSENT, instructions = MEMBER_ABSENT] = initializeFound;
  if (version === MEMBER_ABSENT || scanner.kind(version) !== jsonKind.string) return undefined;
  const description = readDescription(bytes, capabilities, instructions);
  // The tasks extension does not exist in versions with sessions.
  const known = description.capabilities & ~capability.tasksExtension;
  return { protocolVersion: versionOf(bytes, version), ...description, capabilities: known };
}

export function readDiscoverResult(bytes: Buffer): DiscoverResult | undefined {
  if (!scanner.scan(bytes, RESULT_DEPTH) || scanner.kind(0) !== jsonKind.object) return undefined;
  if (!findMembers(scanner, bytes, 0, discoverNames, discoverFound)) return undefined;
  const [versions = MEMBER_ABSENT, capabilities = MEMBER_ABSENT, instructions = MEMBER_ABSENT, type = MEMBER_ABSENT] =
    discoverFound;
  if (versions === MEMBER_ABSENT || scanner.kind(versions) !== jsonKind.array) return undefined;
  if (
    type !== MEMBER_ABSENT &&
    !(isStringNode(type) && isStringEqual(bytes, scanner.start(type), scanner.end(type), 'complete'))
  )
    return undefined;
  return { supportedVersions: readVersions(bytes, versions), ...readDescription(bytes, capabilities, instructions) };
}

function readVersions(bytes: Buffer, array: number): readonly string[] {
  const versions: string[] = [];
  const subtreeEnd = scanner.next(array);
  for (let node = array + 1; node < subtreeEnd && versions.length < VERSIONS_READ_MAX; node = scanner.next(node))
    if (isStringNode(node)) versions.push(versionOf(bytes, node));
  return versions;
}

/** A version; `''` for a text that is too long to be a known one. */
function versionOf(bytes: Buffer, node: number): string {
  return scanner.end(node) - scanner.start(node) > VERSION_BYTES_MAX ? '' : textOf(bytes, node);
}

function readDescription(bytes: Buffer, capabilities: number, instructions: number): ServerDescription {
  return {
    capabilities: readCapabilities(bytes, capabilities),
    named: readExtraCapabilities(bytes, capabilities),
    instructions: readInstructions(bytes, instructions),
  };
}

function isStringNode(node: number): boolean {
  return scanner.kind(node) === jsonKind.string;
}

function readCapabilities(bytes: Buffer, node: number): number {
  if (!isObjectNode(node)) return 0;
  let bits = 0;
  for (const { name, bit, flags } of capabilityMembers) {
    const member = findMember(scanner, bytes, node, name);
    if (!isObjectNode(member)) continue;
    bits |= bit;
    for (const flag of flags) if (isTrue(bytes, findMember(scanner, bytes, member, flag.name))) bits |= flag.bit;
  }
  const extension = memberOf(bytes, memberOf(bytes, node, 'extensions'), TASKS_EXTENSION);
  if (isObjectNode(extension)) bits |= capability.tasksExtension;
  return bits | readTasks(bytes, memberOf(bytes, node, 'tasks'));
}

function readTasks(bytes: Buffer, tasks: number): number {
  if (!isObjectNode(tasks)) return 0;
  const toolsCall = memberOf(bytes, memberOf(bytes, memberOf(bytes, tasks, 'requests'), 'tools'), 'call');
  return (
    capability.tasks |
    (isOffered(bytes, memberOf(bytes, tasks, 'list')) ? capability.tasksList : 0) |
    (isOffered(bytes, memberOf(bytes, tasks, 'cancel')) ? capability.tasksCancel : 0) |
    (isOffered(bytes, toolsCall) ? capability.tasksOfToolCalls : 0)
  );
}

/** An object's members that are objects, as JSON by name; of two with one name, the first. Names must be short enough for a method. */
function entriesIn(bytes: Buffer, node: number): ReadonlyMap<string, string> {
  const byName = new Map<string, string>();
  if (!isObjectNode(node)) return byName;
  let bytesLeft = EXTRA_CAPABILITY_BYTES_MAX;
  const subtreeEnd = scanner.next(node);
  for (let member = node + 1; member < subtreeEnd; member = scanner.next(member)) {
    const [keyStart, keyEnd] = [scanner.keyStart(member), scanner.keyEnd(member)];
    const [start, end] = [scanner.start(member), scanner.end(member)];
    bytesLeft -= keyEnd - keyStart + (end - start);
    if (bytesLeft < 0) break;
    if (!isObjectNode(member) || keyEnd - keyStart > METHOD_NAME_BYTES_MAX) continue;
    const name = stringValue(bytes, keyStart - 1, keyEnd + 1);
    if (!byName.has(name)) byName.set(name, bytes.toString('utf8', start, end));
  }
  return byName;
}

function readExtraCapabilities(bytes: Buffer, capabilities: number): readonly ExtraCapability[] | undefined {
  const experimental = memberOf(bytes, capabilities, 'experimental');
  const extensions = memberOf(bytes, capabilities, 'extensions');
  if (experimental === MEMBER_ABSENT && extensions === MEMBER_ABSENT) return undefined;
  const named: ExtraCapability[] = Array.from(entriesIn(bytes, experimental), ([name, value]) => ({ name, value }));
  for (const [name, value] of entriesIn(bytes, extensions))
    if (!EXTENSIONS_NOT_FORWARDED.has(name)) named.push({ name, value, isExtension: true });
  return named.length === 0 ? undefined : named;
}

/** Whether a capability of tasks is declared: as an object (by MCP's schema) or as `true` (by MCP's text). */
function isOffered(bytes: Buffer, node: number): boolean {
  return isObjectNode(node) || isTrue(bytes, node);
}

function memberOf(bytes: Buffer, node: number, name: string): number {
  return isObjectNode(node) ? findMember(scanner, bytes, node, name) : MEMBER_ABSENT;
}

function isObjectNode(node: number): boolean {
  return node >= 0 && scanner.kind(node) === jsonKind.object;
}

function isTrue(bytes: Buffer, node: number): boolean {
  return node >= 0 && scanner.kind(node) === jsonKind.boolean && bytes[scanner.start(node)] === LETTER_T;
}

const LETTER_T = 0x74;

function readInstructions(bytes: Buffer, node: number): string | undefined {
  if (node < 0 || scanner.kind(node) !== jsonKind.string) return undefined;
  if (scanner.end(node) - scanner.start(node) - 2 > INSTRUCTIONS_CHARS_MAX * ESCAPE_BYTES_MAX) return undefined;
  const text = textOf(bytes, node);
  return text.length <= INSTRUCTIONS_CHARS_MAX ? text : undefined;
}

function textOf(bytes: Buffer, node: number): string {
  return stringValue(bytes, scanner.start(node), scanner.end(node));
}
