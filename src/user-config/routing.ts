// Finds the backend that a tool or prompt name belongs to, by its prefix (specification 2.5): the backend's name and `-`, unless the
// config sets another. What follows the prefix may contain `-`, too: the longest prefix that matches wins. Hot path.
import type { ListKind } from '../mcp/index.js';
import type { CompiledBackend, CompiledVirtualHost, AllowedNames } from './compiled-config.js';
import { bareNameOf, callersNameOf, type CuratedItem, curatedItems, entriesOf, withholdsAnything } from './curation.js';

// URIs as callers see them: the backend's encoded name and `+` stand before the backend's own URI, as part of its scheme (RFC 3986, 3.1).
// In `ui:` URIs, the name and `/` follow `ui://`. Different names have different encodings.

const UNENCODED = /^[A-Za-z0-9-]$/;
const UNENCODED_IN_LOWER_CASE = /^[a-z0-9-]$/;
const STARTS_WITH_LETTER = /^[A-Za-z]/;
/** Put before an encoded name that does not begin with a letter. Unambiguous: in encoded names, two hexadecimal digits follow a `.`. */
const NON_LETTER_PREFIX = 'x.-';

export interface UriName {
  readonly uriName: string;
  readonly hasCaseVariant: boolean;
}

/**
 * The names of backends in URIs. Many clients convert schemes to lower case, so the capitals of names that differ only in case are
 * encoded.
 */
export function uriNames(backendNames: Iterable<string>): ReadonlyMap<string, UriName> {
  const countByLowerCase = new Map<string, number>();
  const names = [...backendNames];
  for (const name of names) {
    const lowerCase = uriName(name).toLowerCase();
    countByLowerCase.set(lowerCase, (countByLowerCase.get(lowerCase) ?? 0) + 1);
  }
  const hasCaseVariant = (name: string): boolean => (countByLowerCase.get(uriName(name).toLowerCase()) ?? 0) > 1;
  return new Map(
    names.map((name) => [
      name,
      {
        uriName: uriName(name, hasCaseVariant(name) ? UNENCODED_IN_LOWER_CASE : UNENCODED),
        hasCaseVariant: hasCaseVariant(name),
      },
    ]),
  );
}

/** The encoded name: letters, digits and `-` stay; every other byte of UTF-8 becomes a `.` and two hexadecimal digits. */
export function uriName(backendName: string, unencoded = UNENCODED): string {
  const bytes = Array.from(Buffer.from(backendName), (byte) => {
    const character = String.fromCharCode(byte);
    return unencoded.test(character) ? character : `.${byte.toString(16).padStart(2, '0')}`;
  });
  const escaped = bytes.join('');
  return STARTS_WITH_LETTER.test(escaped) ? escaped : `${NON_LETTER_PREFIX}${escaped}`;
}

export interface NameRoute {
  readonly backend: CompiledBackend;
  /** The name as the backend knows it. */
  readonly bareName: string;
  /** The prefix before the bare name in the caller's name; `undefined` if the config has renamed the item. */
  readonly prefix: string | undefined;
  /** The item's curation; `undefined` if the config has none for it. */
  readonly curated: CuratedItem | undefined;
}

/** Finds the backend of a name. @returns `undefined` if no prefix matches, or if the config excludes the name. */
export function routeName(
  virtualHost: CompiledVirtualHost,
  kind: 'tools' | 'prompts',
  fullName: string,
): NameRoute | undefined {
  const backend = findPrefixed(virtualHost.backendsByPrefixLength, fullName);
  if (backend === undefined) return undefined;
  const { prefix } = backend;
  const name = fullName.slice(prefix.length);
  const items = backend.curation[kind];
  const bareName = items === undefined ? name : bareNameOf(items, name);
  if (bareName === undefined) return undefined;
  const allowed = backend.allowedNames[kind];
  if (allowed !== undefined && !allowed.has(bareName)) return undefined;
  return { backend, bareName, prefix: bareName === name ? prefix : undefined, curated: items?.byName.get(name) };
}

/** The route to a tool of this backend. @returns `undefined` if the config hides or excludes the tool. */
export function routeBareTool(backend: CompiledBackend, bareName: string): NameRoute | undefined {
  const { curation, allowedNames } = backend;
  const items = curation.tools;
  const isShown = items === undefined || typeof callersNameOf(items, bareName) === 'object';
  if (!isShown || allowedNames.tools?.has(bareName) === false) return undefined;
  return { backend, bareName, prefix: '', curated: items?.byBareName.get(bareName) };
}

/** Finds the backend of a task, whose id begins with the backend's name and `-`. */
export function routeTask(virtualHost: CompiledVirtualHost, fullId: string): NameRoute | undefined {
  const backend = findNamed(virtualHost.backendsByNameLength, fullId);
  if (backend === undefined || !mayHaveTasks(backend)) return undefined;
  const prefix = `${backend.name}-`;
  return { backend, bareName: fullId.slice(prefix.length), prefix, curated: undefined };
}

/**
 * Whether a request for the merged name reaches this backend. Beside a backend `a-b`, the tool `b-c` of `a` is unreachable: `a-b-c`
 * is a tool of `a-b`. @param rivals from `rivalsOf`. @param name as callers use it, without the prefix.
 */
export function isReachable(rivals: readonly RuledBackend[], { prefix }: RuledBackend, name: string): boolean {
  return rivals.length === 0 || findPrefixed(rivals, `${prefix}${name}`) === undefined;
}

type Rivals = ReadonlyMap<string, readonly RuledBackend[]>;

const rivalsByRules = new WeakMap<ListRules, Rivals>();

/** The backends whose prefixes begin with this backend's prefix; usually none. Computed once per rules. */
export function rivalsOf(rules: ListRules, { prefix }: RuledBackend): readonly RuledBackend[] {
  return getRivals(rivalsByRules, rules, (backend) => backend.prefix).get(prefix) ?? NO_RIVALS;
}

/** Whether a request for a task reaches this backend, and not a backend whose name is longer and fits, too. */
export function isTaskReachable(rules: ListRules, { name }: RuledBackend, taskId: string): boolean {
  const rivals = getRivals(taskRivalsByRules, rules, (backend) => `${backend.name}-`).get(`${name}-`) ?? NO_RIVALS;
  return rivals.length === 0 || findNamed(rivals, `${name}-${taskId}`) === undefined;
}

const taskRivalsByRules = new WeakMap<ListRules, Rivals>();

const NO_RIVALS: readonly RuledBackend[] = [];

function getRivals(known: WeakMap<ListRules, Rivals>, rules: ListRules, prefixOf: (backend: RuledBackend) => string) {
  let rivals = known.get(rules);
  if (rivals === undefined) {
    rivals = findRivals(rules, prefixOf);
    known.set(rules, rivals);
  }
  return rivals;
}

function findRivals({ backendsByNameLength }: ListRules, prefixOf: (backend: RuledBackend) => string): Rivals {
  const rivals = new Map<string, RuledBackend[]>(backendsByNameLength.map((backend) => [prefixOf(backend), []]));
  for (const backend of backendsByNameLength) {
    const prefix = prefixOf(backend);
    if (prefix !== '') rivals.get('')?.push(backend);
    for (let end = prefix.indexOf('-') + 1; end > 0 && end < prefix.length; end = prefix.indexOf('-', end) + 1)
      rivals.get(prefix.slice(0, end))?.push(backend);
  }
  return rivals;
}

/** Whether the config allows an item. @param key its bare name, URI or template. @param name of a resource or template, if any. */
export function isAllowed(backend: RuledBackend, kind: ListKind, key: string, name: string | undefined): boolean {
  if (kind.allowListName === undefined) return mayHaveTasks(backend);
  const allowed = backend.allowedNames[kind.allowListName];
  return allowed === undefined || allowed.has(key) || (name !== undefined && allowed.has(name));
}

function findPrefixed<Backend extends RuledBackend>(
  backends: readonly Backend[],
  fullName: string,
): Backend | undefined {
  for (const backend of backends) {
    const { prefix } = backend;
    // The `-` is checked first: that rules out most backends.
    if (prefix === '' || (fullName.charCodeAt(prefix.length - 1) === HYPHEN && fullName.startsWith(prefix)))
      return backend;
  }
  return undefined;
}

function findNamed<Backend extends RuledBackend>(backends: readonly Backend[], fullName: string): Backend | undefined {
  for (const backend of backends) {
    if (fullName.charCodeAt(backend.name.length) === HYPHEN && fullName.startsWith(backend.name)) return backend;
  }
  return undefined;
}

const HYPHEN = 0x2d;

// The rules that decide which items the merged lists of a virtual host contain, also as text for another thread.

export type RuledBackend = Pick<CompiledBackend, 'name' | 'prefix' | 'uriName' | 'allowedNames' | 'curation'>;

/** The rules for merged lists. A compiled virtual host is one of these. */
export interface ListRules {
  /** The backends, longest name first: the first that matches wins. */
  readonly backendsByNameLength: readonly RuledBackend[];
}

/** Whether callers may have tasks of this backend: only if they may call tools of it, because tasks come from calls. */
export function mayHaveTasks({ allowedNames: { tools } }: Pick<RuledBackend, 'allowedNames'>): boolean {
  return tools?.size !== 0;
}

/** Whether the config withholds anything of this backend. If so, methods that the gateway does not know are refused. */
export function isRestricted({
  allowedNames: { tools, prompts, resources },
  curation,
}: Pick<RuledBackend, 'allowedNames' | 'curation'>): boolean {
  return tools !== undefined || prompts !== undefined || resources !== undefined || withholdsAnything(curation);
}

/** The rules as a text, which is transferred to a thread in one step; a set would be cloned name by name. */
export function encodeRules({ backendsByNameLength }: ListRules): string {
  return JSON.stringify(backendsByNameLength.map(encodableBackend));
}

function encodableBackend({ name, prefix, uriName, allowedNames, curation }: RuledBackend) {
  const { tools, prompts, resources } = allowedNames;
  return {
    ...{ name, prefix, uriName },
    tools: tools && [...tools],
    prompts: prompts && [...prompts],
    resources: resources && [...resources],
    curatedTools: entriesOf(curation.tools),
    curatedPrompts: entriesOf(curation.prompts),
  };
}

export function decodeRules(text: string): ListRules {
  const backends = JSON.parse(text) as ReturnType<typeof encodableBackend>[];
  return {
    backendsByNameLength: backends.map(({ name, prefix, uriName, tools, prompts, resources, ...curated }) => ({
      name,
      prefix,
      uriName,
      allowedNames: {
        tools: tools && new Set(tools),
        prompts: prompts && new Set(prompts),
        resources: resources && new Set(resources),
      } satisfies AllowedNames,
      curation: { tools: curatedItems(curated.curatedTools), prompts: curatedItems(curated.curatedPrompts) },
    })),
  };
}
