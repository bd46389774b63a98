// A server's lists, as the composition page needs them: each tool and prompt is picked by its name, each resource by its URI, each resource
// template by its URI template.
import type { Server } from '../api/types.js';
import { counted } from './counted.js';
import type { JsonObject } from './schema-form.js';

export const itemKinds = ['tools', 'prompts', 'resources'] as const;
export type ItemKind = (typeof itemKinds)[number];

export interface ServerItem {
  /** The name or URI that it is picked by. */
  readonly key: string;
  /** A second name by which a composition may refer to a resource: the resource's name. */
  readonly alias: string;
  readonly title: string;
  /** The searchable text, in lower case. */
  readonly text: string;
  /** The item as the server lists it. */
  readonly told: JsonObject;
}

export type ServerItems = Readonly<Record<ItemKind, readonly ServerItem[]>>;

const SEARCHED_MAX = 500;

export function itemsOf(kind: ItemKind, told: readonly unknown[]): readonly ServerItem[] {
  return told.flatMap((each) => {
    if (typeof each !== 'object' || each === null) return [];
    const item = each as JsonObject;
    const key = kind === 'resources' ? (item['uri'] ?? item['uriTemplate']) : item['name'];
    if (typeof key !== 'string') return [];
    const { name, title } = item;
    const alias = kind === 'resources' && typeof name === 'string' ? name : '';
    const heading = typeof title === 'string' ? title : alias;
    const text = `${key}\n${alias}\n${heading.slice(0, SEARCHED_MAX)}`.toLowerCase();
    return [{ key, alias, title: heading, text, told: item }];
  });
}

/** Paths of the lists that a server has; a list of unknown size counts as one that it has. */
export function listPaths({
  id,
  promptCount,
  resourceCount,
  templateCount,
}: Pick<Server, 'id' | 'promptCount' | 'resourceCount' | 'templateCount'>): readonly (readonly [ItemKind, string])[] {
  const path = `/servers/${id}`;
  return [
    ['tools', `${path}/tools`],
    ...(promptCount === 0 ? [] : [['prompts', `${path}/prompts`] as const]),
    ...(resourceCount === 0 ? [] : [['resources', `${path}/resources`] as const]),
    ...(templateCount === 0 ? [] : [['resources', `${path}/templates`] as const]),
  ];
}

/** Each word must occur in the item's name or title. */
export function isItemFound({ text }: ServerItem, words: readonly string[]): boolean {
  return words.every((word) => text.includes(word));
}

export interface ItemArgument {
  readonly name: string;
  readonly isRequired: boolean;
  /** Whether the typed text is the value itself; otherwise it is JSON. */
  readonly isText: boolean;
}

/** Keeps a hostile schema from overloading the page. */
const ARGUMENTS_MAX = 100;

export function argumentsOf(kind: ItemKind, told: JsonObject): readonly ItemArgument[] {
  if (kind === 'prompts') {
    const known = Array.isArray(told['arguments']) ? (told['arguments'] as readonly unknown[]) : [];
    return known.slice(0, ARGUMENTS_MAX).flatMap((each) => {
      const { name, required } = (each ?? {}) as JsonObject;
      return typeof name === 'string' ? [{ name, isRequired: required === true, isText: true }] : [];
    });
  }
  const schema = (told['inputSchema'] ?? {}) as JsonObject;
  const { properties, required } = schema;
  if (kind !== 'tools' || typeof properties !== 'object' || properties === null) return [];
  const needed = new Set(Array.isArray(required) ? (required as readonly unknown[]) : []);
  return Object.entries(properties as JsonObject)
    .slice(0, ARGUMENTS_MAX)
    .map(([name, property]) => ({
      name,
      isRequired: needed.has(name),
      isText: typeof property === 'object' && property !== null && (property as JsonObject)['type'] === 'string',
    }));
}

/** What a server has, in words: its tools, and whatever else there is. */
export function offerWords({ toolCount, promptCount, resourceCount, templateCount }: Server): string {
  const counts = [
    [toolCount, 'tools'],
    [promptCount, 'prompts'],
    [resourceCount, 'resources'],
    [templateCount, 'templates of resources'],
  ] as const;
  const told = counts.filter(([count], index) => index === 0 || count !== 0);
  return told.map(([count, kind]) => (count === undefined ? `? ${kind}` : counted(count, kind))).join(', ');
}
