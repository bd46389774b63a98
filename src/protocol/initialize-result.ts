// A backend's result of `initialize`: the few members that count are read where they stand, and nothing else of it is
// looked at, whatever its size. Cold: once per upstream session.
import type { Buffer } from 'node:buffer';
import { limits } from '../shared/limits.js';
import { ABSENT, findMember, findMembers, MemberNames, stringValue } from './json-member.js';
import { JsonScanner, jsonKind } from './json-scanner.js';

export interface InitializeResult {
  readonly protocolVersion: string;
  /** Whether `capabilities` has a `tools` object. */
  readonly hasTools: boolean;
  /** `undefined` as well when they are longer than a session keeps: a part of them could say the opposite. */
  readonly instructions: string | undefined;
}

/** The members of `capabilities` are the deepest values that are looked at. */
const RESULT_DEPTH = 2;
/** An escape of JSON writes one character in so many bytes at most. */
const ESCAPE_BYTES_MAX = 6;
/** No version of the protocol is written longer, in quotes and with escapes. */
const VERSION_BYTES_MAX = 128;

const scanner = new JsonScanner();
const names = new MemberNames('protocolVersion', 'capabilities', 'instructions');
const found = new Int32Array(names.all.length);

/** @returns `undefined` for what is no result of `initialize`, or says which version it speaks twice. */
export function readInitializeResult(bytes: Buffer): InitializeResult | undefined {
  if (!scanner.scan(bytes, RESULT_DEPTH) || scanner.kind(0) !== jsonKind.object) return undefined;
  if (!findMembers(scanner, bytes, 0, names, found)) return undefined;
  const [version = ABSENT, capabilities = ABSENT, instructions = ABSENT] = found;
  if (version === ABSENT || scanner.kind(version) !== jsonKind.string) return undefined;
  return {
    // What is longer is no version that anybody knows, and needs no decoding to tell.
    protocolVersion: scanner.end(version) - scanner.start(version) > VERSION_BYTES_MAX ? '' : textOf(bytes, version),
    hasTools: hasObject(bytes, capabilities, 'tools'),
    instructions: readInstructions(bytes, instructions),
  };
}

function hasObject(bytes: Buffer, node: number, name: string): boolean {
  if (node < 0 || scanner.kind(node) !== jsonKind.object) return false;
  const member = findMember(scanner, bytes, node, name);
  return member >= 0 && scanner.kind(member) === jsonKind.object;
}

function readInstructions(bytes: Buffer, node: number): string | undefined {
  if (node < 0 || scanner.kind(node) !== jsonKind.string) return undefined;
  if (scanner.end(node) - scanner.start(node) - 2 > limits.instructionsCharsMax * ESCAPE_BYTES_MAX) return undefined;
  const text = textOf(bytes, node);
  return text.length <= limits.instructionsCharsMax ? text : undefined;
}

function textOf(bytes: Buffer, node: number): string {
  return stringValue(bytes, scanner.start(node), scanner.end(node));
}
