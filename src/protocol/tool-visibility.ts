// For whom a tool of a server with MCP Apps is meant.
import type { Buffer } from 'node:buffer';
import { isObject } from '../shared/json-values.js';
import { limits } from '../shared/limits.js';

const VISIBILITY = '"visibility"';

/** Whether the tool is meant for apps, or for models: for both, unless `_meta.ui.visibility` says otherwise. @param item as JSON. */
export function isVisibleTo(whom: 'app' | 'model', item: Buffer): boolean {
  if (!item.includes(VISIBILITY) || item.length > limits.mirroredToolBytesMax) return true;
  const { _meta: meta } = JSON.parse(item.toString()) as { readonly _meta?: unknown };
  const ui = isObject(meta) ? meta['ui'] : undefined;
  const visibility = isObject(ui) ? ui['visibility'] : undefined;
  return !Array.isArray(visibility) || visibility.includes(whom);
}
