// Reads from a tool's definition whether apps or models may call it, and (since MCP 2026-07-28) which parameters its calls repeat in
// headers: the properties with `x-mcp-header` in the schema, which is parsed only if it contains that word. Runs on the thread that reads
// the list. Cold path.
import type { Buffer } from 'node:buffer';
import { isHttpToken, limits, isObject } from '../shared/index.js';

const VISIBILITY = '"visibility"';

/** Whether apps (MCP Apps) or models see an item: both, unless `_meta.ui.visibility` says otherwise. @param item as JSON. */
export function isVisibleTo(viewer: 'app' | 'model', item: Buffer): boolean {
  if (!item.includes(VISIBILITY) || item.length > limits.mirroredToolBytesMax) return true;
  const { _meta: meta } = JSON.parse(item.toString()) as { readonly _meta?: unknown };
  const ui = isObject(meta) ? meta['ui'] : undefined;
  const visibility = isObject(ui) ? ui['visibility'] : undefined;
  return !Array.isArray(visibility) || visibility.includes(viewer);
}

export interface MirroredParam {
  /** The header's name, with the prefix `mcp-param-`, in lower case. */
  readonly header: string;
  /** The names of the members from the arguments to the parameter. */
  readonly path: readonly string[];
}

/** A tool's mirrored parameters; `undefined` for a tool that is too large to be read. */
export type MirroredTool = readonly [name: string, params: readonly MirroredParam[] | undefined];

export interface PageMirrors {
  readonly tools: readonly MirroredTool[];
  /** The first tools with invalid headers, as texts for the log: `<tool>: <what is invalid>`. */
  readonly invalid: readonly string[];
  /** The page URIs and tool names that apps use (list-page.ts). */
  readonly appNames?: readonly string[];
  /** Whether items were repaired (readable-items.ts). */
  readonly isRepaired?: boolean;
}

const ANNOTATION = 'x-mcp-header';
const KEY = `"${ANNOTATION}"`;
const TYPES: ReadonlySet<unknown> = new Set(['string', 'integer', 'boolean']);
const HEADER_PREFIX = 'mcp-param-';

export function hasMirrors(bytes: Buffer): boolean {
  return bytes.includes(KEY);
}

/**
 * Reads a tool's mirrored parameters. @param item a tool, as JSON.
 * @returns what is invalid, as a text; `undefined` for a tool that is too large to be read.
 */
export function readMirrors(item: Buffer): readonly MirroredParam[] | string | undefined {
  if (item.length > limits.mirroredToolBytesMax) return undefined;
  const tool = JSON.parse(item.toString()) as { readonly inputSchema?: unknown };
  const params: MirroredParam[] = [];
  return readSchema(tool.inputSchema, [], params, true) ?? params;
}

/** Adds the mirrored parameters of a schema (its depth is bounded) to `params`. @param isReachable whether `path` leads to it. @returns what is invalid. */
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
    if (DATA_KEYWORDS.has(keyword)) return undefined;
    if (keyword !== 'properties') return readSchema(value, path, params, false);
    if (!isObject(value)) return undefined;
    // The keys of `properties` are names, and may equal keywords.
    return firstFault(Object.entries(value), ([name, part]) => readSchema(part, [...path, name], params, isReachable));
  });
}

/** Keywords whose values are data, in which the annotation means nothing. */
const DATA_KEYWORDS: ReadonlySet<string> = new Set([ANNOTATION, 'const', 'default', 'enum', 'examples', 'example']);

function readAnnotation(
  schema: Readonly<Record<string, unknown>>,
  path: readonly string[],
  params: MirroredParam[],
  isReachable: boolean,
): string | undefined {
  const headerName = schema[ANNOTATION];
  if (!isReachable || path.length === 0) return 'a header for something that is not a property of its arguments';
  if (typeof headerName !== 'string' || !isHttpToken(headerName)) return 'a header with an invalid name';
  if (!TYPES.has(schema['type'])) return 'a header for a property that is not a string, integer or boolean';
  const header = HEADER_PREFIX + headerName.toLowerCase();
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
