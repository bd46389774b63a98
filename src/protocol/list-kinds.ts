// The lists that MCP servers give: what each is asked for with, where it is in the answer, and by what its items are known.
// All of them are read, merged and bounded by the same code.
import { capability } from './capabilities.js';

export type ListKindName = 'tools' | 'prompts' | 'resources' | 'templates' | 'tasks';

export interface ListKind {
  readonly name: ListKindName;
  readonly method: string;
  /** The member of the result that is the list. */
  readonly member: string;
  /** The member of an item by which requests know it. */
  readonly key: 'name' | 'uri' | 'uriTemplate' | 'taskId';
  /** Whether callers know an item by its key with its backend's name before it, and not by a URI. */
  readonly isNamed: boolean;
  /** The bit of the capability that a server declares which has such lists. */
  readonly capability: number;
  /** Which list of a backend's config says what of it is allowed; tasks are nowhere named. */
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

/** The list that the method asks for, if it asks for one. */
export function listKindOf(method: string): ListKind | undefined {
  return byMethod.get(method);
}
