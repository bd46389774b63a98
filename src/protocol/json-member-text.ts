// Reads one member of a small JSON object by its name, where values are read too rarely to justify a dedicated reader. Cold path.
import type { Buffer } from 'node:buffer';
import { limits } from '../shared/limits.js';
import { findMember, stringValue } from './json-member.js';
import { JsonScanner, jsonKind } from './json-scanner.js';

const scanner = new JsonScanner();

/** From `start` up to `end`, quotes included. */
export interface TokenSpan {
  readonly start: number;
  readonly end: number;
}

/**
 * Offsets of the string with this name in an object.
 * @returns `undefined` when it is absent, ambiguous or not a string, and for an object that is too large to be read at once.
 */
export function findText(object: Buffer, name: string): TokenSpan | undefined {
  if (object.length > limits.readAtOnceBytesMax || !scanner.scan(object, 1)) return undefined;
  const node = scanner.kind(0) === jsonKind.object ? findMember(scanner, object, 0, name) : -1;
  if (node < 0 || scanner.kind(node) !== jsonKind.string) return undefined;
  return { start: scanner.start(node), end: scanner.end(node) };
}

/** The text of that string. */
export function readMember(object: Buffer, name: string): string | undefined {
  const span = findText(object, name);
  return span && stringValue(object, span.start, span.end);
}
