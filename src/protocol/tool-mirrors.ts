// Which parameters of a tool its calls say again in headers, since MCP 2026-07-28: properties of its schema that have `x-mcp-header`. Cold
// where no tool has one: a list is searched for the word natively. Where one has, its schema is read as a whole, on whichever thread reads the list.
import { isHttpToken } from '../shared/http-token.js';
import type { Buffer } from 'node:buffer';
import { isObject } from '../shared/json-values.js';
import { limits } from '../shared/limits.js';

/** A parameter, and its header. */
export interface MirroredParam {
  /** With its beginning, in lower case. */
  readonly header: string;
  /** From the arguments on. */
  readonly path: readonly string[];
}

/** A tool as its backend calls it; `undefined` of one that is too large to be read. */
export type ToolMirrors = readonly [name: string, params: readonly MirroredParam[] | undefined];

/** What a page of a list says of such headers. */
export interface PageMirrors {
  readonly tools: readonly ToolMirrors[];
  /** Tools whose headers make no sense, in words for the log: the first of them. */
  readonly invalid: readonly string[];
}

const ANNOTATION = 'x-mcp-header';
const KEY = `"${ANNOTATION}"`;
const TYPES: ReadonlySet<unknown> = new Set(['string', 'integer', 'boolean']);
const PREFIX = 'mcp-param-';

export function hasMirrors(bytes: Buffer): boolean {
  return bytes.includes(KEY);
}

/**
 * @param item a tool, as JSON.
 * @returns its parameters with headers, or why what it says of headers makes no sense; `undefined` for a tool that is too large to be read.
 */
export function readMirrors(item: Buffer): readonly MirroredParam[] | string | undefined {
  if (item.length > limits.mirroredToolBytesMax) return undefined;
  const tool = JSON.parse(item.toString()) as { readonly inputSchema?: unknown };
  const params: MirroredParam[] = [];
  return readSchema(tool.inputSchema, [], params, true) ?? params;
}

/** Depth first, as deep as JSON that was scanned before. @returns what is wrong. */
function readSchema(
  schema: unknown,
  path: readonly string[],
  params: MirroredParam[],
  isReachable: boolean,
): string | undefined {
  if (Array.isArray(schema)) return firstFault(schema, (part) => readSchema(part, path, params, false));
  if (!isObject(schema)) return undefined;
  if (ANNOTATION in schema) {
    const fault = readAnnotation(schema, path, params, isReachable);
    if (fault !== undefined) return fault;
  }
  return firstFault(Object.entries(schema), ([keyword, value]) => {
    if (VALUES.has(keyword)) return undefined;
    if (keyword !== 'properties') return readSchema(value, path, params, false);
    if (!isObject(value)) return undefined;
    // Names of properties, which may be those of keywords.
    return firstFault(Object.entries(value), ([name, part]) => readSchema(part, [...path, name], params, isReachable));
  });
}

/** Keywords with values of the tool's own, where the word means nothing. */
const VALUES: ReadonlySet<string> = new Set([ANNOTATION, 'const', 'default', 'enum', 'examples', 'example']);

function readAnnotation(
  schema: Readonly<Record<string, unknown>>,
  path: readonly string[],
  params: MirroredParam[],
  isReachable: boolean,
): string | undefined {
  const said = schema[ANNOTATION];
  if (!isReachable || path.length === 0) return 'a header for something that is not a property of its arguments';
  if (typeof said !== 'string' || !isHttpToken(said)) return 'a header with an invalid name';
  if (!TYPES.has(schema['type'])) return 'a header for a property that is not a string, integer or boolean';
  const header = PREFIX + said.toLowerCase();
  if (params.some((param) => param.header === header)) return 'one header for two properties';
  if (params.length >= limits.mirroredParamsMax) return 'too many headers';
  params.push({ header, path });
  return undefined;
}

function firstFault<Part>(parts: readonly Part[], faultOf: (part: Part) => string | undefined): string | undefined {
  for (const part of parts) {
    const fault = faultOf(part);
    if (fault !== undefined) return fault;
  }
  return undefined;
}
