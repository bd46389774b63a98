// What a server lists, in the form in which it is picked: each tool and prompt by its name, each resource by its URI, each template by
// its text.
import type { Server } from '../api/types.js';
import type { JsonObject } from './schema-form.js';

export const itemKinds = ['tools', 'prompts', 'resources'] as const;
export type ItemKind = (typeof itemKinds)[number];

export interface ServerItem {
  /** What it is picked by. */
  readonly key: string;
  /** Another name by which a composition may have it: that of a resource. */
  readonly alias: string;
  readonly title: string;
  /** What is searched, in lower case. */
  readonly text: string;
  /** As the server told it. */
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

/** Paths of the lists that a server has, as far as it is known. */
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

/** Each word must be somewhere in its name or title. */
export function isItemFound({ text }: ServerItem, words: readonly string[]): boolean {
  return words.every((word) => text.includes(word));
}

export interface ItemArgument {
  readonly name: string;
  readonly isRequired: boolean;
  /** Whether what is typed is taken as it is; else it is JSON. */
  readonly isText: boolean;
}

/** What a hostile schema may not make of a page. */
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
