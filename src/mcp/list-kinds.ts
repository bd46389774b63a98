// The kinds of lists that MCP servers have. The same code reads, merges and limits all of them.
import { capability } from './capabilities.js';

export type ListKindName = 'tools' | 'prompts' | 'resources' | 'templates' | 'tasks';

export interface ListKind {
  readonly name: ListKindName;
  readonly method: string;
  /** The member of the result that contains the list. */
  readonly member: string;
  /** The member of an item that identifies it in requests. */
  readonly key: 'name' | 'uri' | 'uriTemplate' | 'taskId';
  /** Whether callers identify an item by its key with its backend's prefix, and not by a URI. */
  readonly isNamed: boolean;
  /** The capability that servers with such lists declare. */
  readonly capability: number;
  /** The allow-list that applies; `undefined` for tasks. */
  readonly allowListName: 'tools' | 'prompts' | 'resources' | undefined;
}

export const listKinds: Readonly<Record<ListKindName, ListKind>> = {
  tools: {
    name: 'tools',
    method: 'tools/list',
    member: 'tools',
    key: 'name',
    isNamed: true,
    capability: capability.tools,
    allowListName: 'tools',
  },
  prompts: {
    name: 'prompts',
    method: 'prompts/list',
    member: 'prompts',
    key: 'name',
    isNamed: true,
    capability: capability.prompts,
    allowListName: 'prompts',
  },
  resources: {
    name: 'resources',
    method: 'resources/list',
    member: 'resources',
    key: 'uri',
    isNamed: false,
    capability: capability.resources,
    allowListName: 'resources',
  },
  templates: {
    name: 'templates',
    method: 'resources/templates/list',
    member: 'resourceTemplates',
    key: 'uriTemplate',
    isNamed: false,
    capability: capability.resources,
    allowListName: 'resources',
  },
  tasks: {
    name: 'tasks',
    method: 'tasks/list',
    member: 'tasks',
    key: 'taskId',
    isNamed: true,
    capability: capability.tasksList,
    allowListName: undefined,
  },
};

const byMethod = new Map(Object.values(listKinds).map((kind) => [kind.method, kind]));

export function listKindOf(method: string): ListKind | undefined {
  return byMethod.get(method);
}
