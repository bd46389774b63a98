// The kinds of lists that MCP servers have, with the method that requests each, the member of the result that contains it, and the key of
// its items. The same code reads, merges and bounds all of them.
import { capability } from './capabilities.js';

export type ListKindName = 'tools' | 'prompts' | 'resources' | 'templates' | 'tasks';

export interface ListKind {
  readonly name: ListKindName;
  readonly method: string;
  /** The member of the result that contains the list. */
  readonly member: string;
  /** The member of an item by which requests identify it. */
  readonly key: 'name' | 'uri' | 'uriTemplate' | 'taskId';
  /** Whether callers identify an item by its key with its backend's prefix, and not by a URI. */
  readonly isNamed: boolean;
  /** The bit of the capability declared by servers that have such lists. */
  readonly capability: number;
  /** The allow-list of a backend's config that applies; `undefined` for tasks. */
  readonly allowedAs: 'tools' | 'prompts' | 'resources' | undefined;
}

export const listKinds: Readonly<Record<ListKindName, ListKind>> = {
  tools: {
    name: 'tools',
    method: 'tools/list',
    member: 'tools',
    key: 'name',
    isNamed: true,
    capability: capability.tools,
    allowedAs: 'tools',
  },
  prompts: {
    name: 'prompts',
    method: 'prompts/list',
    member: 'prompts',
    key: 'name',
    isNamed: true,
    capability: capability.prompts,
    allowedAs: 'prompts',
  },
  resources: {
    name: 'resources',
    method: 'resources/list',
    member: 'resources',
    key: 'uri',
    isNamed: false,
    capability: capability.resources,
    allowedAs: 'resources',
  },
  templates: {
    name: 'templates',
    method: 'resources/templates/list',
    member: 'resourceTemplates',
    key: 'uriTemplate',
    isNamed: false,
    capability: capability.resources,
    allowedAs: 'resources',
  },
  tasks: {
    name: 'tasks',
    method: 'tasks/list',
    member: 'tasks',
    key: 'taskId',
    isNamed: true,
    capability: capability.tasksList,
    allowedAs: undefined,
  },
};

const byMethod = new Map(Object.values(listKinds).map((kind) => [kind.method, kind]));

/** The kind of list that the method requests, if any. */
export function listKindOf(method: string): ListKind | undefined {
  return byMethod.get(method);
}
