// Finds the backend that a name belongs to (specification 2.5). The prefix is the backend's key followed by `-`, or for tools and prompts the
// prefix that the config sets instead; both halves may contain `-`, and the longest matching prefix wins. Hot path.
import type { ListKind } from '../mcp/index.js';
import type { CompiledBackend, CompiledVirtualHost, AllowedNames } from './compiled-config.js';
import {
  bareNameOf,
  callersNameOf,
  type CuratedItem,
  curatedItems,
  entriesOf,
  hidesAnything,
  type CuratedEntry,
} from './curation.js';

// Encodes a backend's name for the URIs of its resources, before the `+`: name and `+` begin the URI as part of its scheme (RFC 3986, 3.1).
// Different names have different encodings.

const BYTE_AS_IS = /^[A-Za-z0-9-]$/;
const LOWER_CASE_AS_IS = /^[a-z0-9-]$/;
const FIRST_AS_IS = /^[A-Za-z]/;
/** Precedes names that do not begin with a letter. Unambiguous, because otherwise a `.` is always followed by two hexadecimal digits. */
const NO_LETTER = 'x.-';

/** A name in URIs, and whether another name of the same virtual host differs from it only in case. */
export interface UriName {
  readonly uriName: string;
  readonly hasTwin: boolean;
}

/**
 * The encoded names of a virtual host's backends. Schemes and hosts are case-insensitive, and many clients convert them to lower case: so
 * where names differ only in case, their capitals are encoded as bytes.
 */
export function uriNames(backendNames: Iterable<string>): ReadonlyMap<string, UriName> {
  const countByLowerCase = new Map<string, number>();
  const names = [...backendNames];
  for (const name of names) {
    const lowerCase = uriName(name).toLowerCase();
    countByLowerCase.set(lowerCase, (countByLowerCase.get(lowerCase) ?? 0) + 1);
  }
  const hasTwin = (name: string): boolean => (countByLowerCase.get(uriName(name).toLowerCase()) ?? 0) > 1;
  return new Map(
    names.map((name) => [
      name,
      { uriName: uriName(name, hasTwin(name) ? LOWER_CASE_AS_IS : BYTE_AS_IS), hasTwin: hasTwin(name) },
    ]),
  );
}

/** Letters, digits and `-` stay as they are; each other UTF-8 byte of the name becomes a `.` and two hexadecimal digits. */
export function uriName(backendName: string, asIs = BYTE_AS_IS): string {
  const bytes = Array.from(Buffer.from(backendName), (byte) => {
    const character = String.fromCharCode(byte);
    return asIs.test(character) ? character : `.${byte.toString(16).padStart(2, '0')}`;
  });
  const escaped = bytes.join('');
  return FIRST_AS_IS.test(escaped) ? escaped : `${NO_LETTER}${escaped}`;
}

export interface NameRoute {
  readonly backend: CompiledBackend;
  /** The name as the backend knows it. */
  readonly bareName: string;
  /** The prefix before it in the caller's name; `undefined` when the rest of the caller's name is not the bare name. */
  readonly prefix: string | undefined;
  /** The curation of this item, if it has an entry. */
  readonly curated: CuratedItem | undefined;
}

/** @returns `undefined` when no backend's prefix matches, or the backend's config excludes the name. */
export function routeName(
  virtualHost: CompiledVirtualHost,
  kind: 'tools' | 'prompts',
  fullName: string,
): NameRoute | undefined {
  const backend = backendOf(virtualHost.backendsByPrefixLength, fullName);
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

/**
 * Routes a tool by the backend's own name for it, which need not be the callers'. @returns `undefined` for a tool that callers cannot have.
 */
export function routeBareTool(backend: CompiledBackend, bareName: string): NameRoute | undefined {
  const { curation, allowedNames } = backend;
  const items = curation.tools;
  const isShown = items === undefined || typeof callersNameOf(items, bareName) === 'object';
  if (!isShown || allowedNames.tools?.has(bareName) === false) return undefined;
  return { backend, bareName, prefix: '', curated: items?.byBareName.get(bareName) };
}

/** Routes the id of a task, which begins with the backend's own name. */
export function routeTask(virtualHost: CompiledVirtualHost, fullId: string): NameRoute | undefined {
  const backend = backendNamedIn(virtualHost.backendsByNameLength, fullId);
  if (backend === undefined || !mayHaveTasks(backend)) return undefined;
  const prefix = `${backend.name}-`;
  return { backend, bareName: fullId.slice(prefix.length), prefix, curated: undefined };
}

/**
 * Whether a request for the merged name would reach this backend: with a backend `a-b`, the tool `b-c` of `a` cannot be reached, because
 * `a-b-c` means `c` of `a-b`.
 * @param rivals of the backend.
 * @param name as callers use it, without the prefix.
 */
export function isReachable(rivals: readonly RuledBackend[], { prefix }: RuledBackend, name: string): boolean {
  return rivals.length === 0 || backendOf(rivals, `${prefix}${name}`) === undefined;
}

type Rivals = ReadonlyMap<string, readonly RuledBackend[]>;

const rivalsByRules = new WeakMap<ListRules, Rivals>();

/** The backends whose prefixes begin with this backend's prefix (usually none). Computed once for all backends of the rules. */
export function rivalsOf(rules: ListRules, { prefix }: RuledBackend): readonly RuledBackend[] {
  return rivalsIn(rivalsByRules, rules, (backend) => backend.prefix).get(prefix) ?? NO_RIVALS;
}

/** `isReachable` for the id of a task at the backend. */
export function isTaskReachable(rules: ListRules, { name }: RuledBackend, taskId: string): boolean {
  const rivals = rivalsIn(taskRivalsByRules, rules, (backend) => `${backend.name}-`).get(`${name}-`) ?? NO_RIVALS;
  return rivals.length === 0 || backendNamedIn(rivals, `${name}-${taskId}`) === undefined;
}

const taskRivalsByRules = new WeakMap<ListRules, Rivals>();

const NO_RIVALS: readonly RuledBackend[] = [];

function rivalsIn(known: WeakMap<ListRules, Rivals>, rules: ListRules, prefixOf: (backend: RuledBackend) => string) {
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

/** @param name the name of an item whose key is not its name; `undefined` when it has none. */
export function isAllowed(backend: RuledBackend, kind: ListKind, key: string, name: string | undefined): boolean {
  if (kind.allowedAs === undefined) return mayHaveTasks(backend);
  const allowed = backend.allowedNames[kind.allowedAs];
  return allowed === undefined || allowed.has(key) || (name !== undefined && allowed.has(name));
}

/** The first backend whose prefix matches. */
function backendOf<Backend extends RuledBackend>(backends: readonly Backend[], fullName: string): Backend | undefined {
  for (const backend of backends) {
    const { prefix } = backend;
    // Checks the `-` at the end of the prefix first, which rules out most backends.
    if (prefix === '' || (fullName.charCodeAt(prefix.length - 1) === HYPHEN && fullName.startsWith(prefix)))
      return backend;
  }
  return undefined;
}

/** The first backend whose name, followed by `-`, begins the full name. */
function backendNamedIn<Backend extends RuledBackend>(
  backends: readonly Backend[],
  fullName: string,
): Backend | undefined {
  for (const backend of backends) {
    if (fullName.charCodeAt(backend.name.length) === HYPHEN && fullName.startsWith(backend.name)) return backend;
  }
  return undefined;
}

const HYPHEN = 0x2d;

// The parts of a virtual host that decide which items its merged lists contain, and their serialized form for another thread.

export type RuledBackend = Pick<CompiledBackend, 'name' | 'prefix' | 'uriName' | 'allowedNames' | 'curation'>;

/** Satisfied by a compiled virtual host. */
export interface ListRules {
  /** Longest name first: the first that matches wins. */
  readonly backendsByNameLength: readonly RuledBackend[];
}

/**
 * Whether callers may have tasks at this backend. Calls create tasks, and the allow-list has already admitted or refused the call; the
 * backend itself checks whose task it is. Where no tool may be called, there are no tasks.
 */
export function mayHaveTasks({ allowedNames: { tools } }: Pick<RuledBackend, 'allowedNames'>): boolean {
  return tools?.size !== 0;
}

/** Whether the config withholds anything of this backend from callers; if so, whatever the config cannot judge is not let through. */
export function isLimited({
  allowedNames: { tools, prompts, resources },
  curation,
}: Pick<RuledBackend, 'allowedNames' | 'curation'>): boolean {
  return tools !== undefined || prompts !== undefined || resources !== undefined || hidesAnything(curation);
}

interface EncodedBackend {
  readonly name: string;
  readonly prefix: string;
  readonly uriName: string;
  readonly tools: readonly string[] | undefined;
  readonly prompts: readonly string[] | undefined;
  readonly resources: readonly string[] | undefined;
  readonly curatedTools: readonly CuratedEntry[];
  readonly curatedPrompts: readonly CuratedEntry[];
}

/** Encoded as text, because a string of any length is transferred in one step, but a set is cloned name by name. */
export function encodeRules({ backendsByNameLength }: ListRules): string {
  return JSON.stringify(
    backendsByNameLength.map(
      ({ name, prefix, uriName, allowedNames: { tools, prompts, resources }, curation }): EncodedBackend => ({
        name,
        prefix,
        uriName,
        tools: tools && [...tools],
        prompts: prompts && [...prompts],
        resources: resources && [...resources],
        curatedTools: entriesOf(curation.tools),
        curatedPrompts: entriesOf(curation.prompts),
      }),
    ),
  );
}

export function decodeRules(text: string): ListRules {
  const backends = JSON.parse(text) as EncodedBackend[];
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
