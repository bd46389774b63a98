// The lists that MCP servers give: what each is asked for with, where it is in the answer, and by what its items are known.
// All of them are read, merged and bounded by the same code.
import { capability } from './capabilities.js';

export type ListKindName = 'tools' | 'prompts' | 'resources' | 'templates';

export interface ListKind {
  readonly name: ListKindName;
  readonly method: string;
  /** The member of the result that is the list. */
  readonly member: string;
  /** The member of an item by which requests know it. */
  readonly key: 'name' | 'uri' | 'uriTemplate';
  /** The bit of the capability that a server declares which has such lists. */
  readonly capability: number;
  /** Which list of a backend's config says what of it is allowed. */
  readonly allowedAs: 'tools' | 'prompts' | 'resources';
}

export const listKinds: Readonly<Record<ListKindName, ListKind>> = {
  tools: {
    name: 'tools',
    method: 'tools/list',
    member: 'tools',
    key: 'name',
    capability: capability.tools,
    allowedAs: 'tools',
  },
  prompts: {
    name: 'prompts',
    method: 'prompts/list',
    member: 'prompts',
    key: 'name',
    capability: capability.prompts,
    allowedAs: 'prompts',
  },
  resources: {
    name: 'resources',
    method: 'resources/list',
    member: 'resources',
    key: 'uri',
    capability: capability.resources,
    allowedAs: 'resources',
  },
  templates: {
    name: 'templates',
    method: 'resources/templates/list',
    member: 'resourceTemplates',
    key: 'uriTemplate',
    capability: capability.resources,
    allowedAs: 'resources',
  },
};
