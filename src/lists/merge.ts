// Merges the items of all backends into one sorted list (specification 2.5). An item is copied as bytes, with the backend's prefix inserted
// into the name or URI that requests use; the config may curate it. Pure, and the same on the event loop and in the list thread. Hot path.
import {
  encodeEvent,
  stringValue,
  cutsOf,
  isKey,
  JsonScanner,
  jsonKind,
  type Insertion,
  insertion,
  edited,
  type Edit,
} from '../bytes/index.js';
import type { AnswerFrame } from '../exchange/index.js';
import { type ListKind, span, SPAN_LENGTH, type ListPage } from '../mcp/index.js';
import {
  callersNameOf,
  type CuratedItem,
  caseFolded,
  isAllowed,
  isReachable,
  isTaskReachable,
  rivalsOf,
  type ListRules,
  type RuledBackend,
} from '../user-config/index.js';
import { isSearchTool, callersUri, uriInsertion, uriPrefix, type UriPrefix } from '../messages/index.js';
import { unavailableMeta, type UnavailableBackend } from '../http-client/index.js';
import { writeItems, type MergedItem } from './item-writer.js';

// Shows a tool or prompt as the config wants: with another name, title or description, and without withheld arguments. All other bytes of
// the item stay. Warm path: only curated items.

/** The depth of property names in a tool's schema, and of argument names of a prompt: `{"inputSchema":{"properties":{"v":…}}}`. */
const ITEM_DEPTH = 3;

const tape = new JsonScanner();

/**
 * The edits by which the config changes an item, except the edit of its name.
 * @returns `undefined` for an item that has too many JSON values to be scanned.
 */
function curatedEdits(item: Buffer, { entry, withheldArguments }: CuratedItem): Edit[] | undefined {
  if (!tape.scan(item, ITEM_DEPTH)) return undefined;
  const edits: Edit[] = [];
  addTextEdits(edits, item, 'title', entry.title);
  addTextEdits(edits, item, 'description', entry.description);
  if (withheldArguments.size === 0) return edits;
  const isWithheld = (start: number, end: number): boolean =>
    withheldArguments.has(caseFolded(stringValue(item, start, end)));
  const cut = (node: number, isUnwanted: (child: number) => boolean): void => {
    for (const { start, end } of cutsOf(tape, node, isUnwanted)) edits.push({ start, end, putIn: NOTHING });
  };
  // Withheld arguments are cut out of every `inputSchema`: parsers differ in which of two duplicate members they use.
  for (const schema of membersNamed(item, 0, 'inputSchema', jsonKind.object)) {
    for (const properties of membersNamed(item, schema, 'properties', jsonKind.object))
      cut(properties, (child) => isWithheld(tape.keyStart(child) - 1, tape.keyEnd(child) + 1));
    for (const required of membersNamed(item, schema, 'required', jsonKind.array))
      cut(required, (child) => isString(child) && isWithheld(tape.start(child), tape.end(child)));
  }
  for (const list of membersNamed(item, 0, 'arguments', jsonKind.array))
    cut(list, (child) =>
      membersNamed(item, child, 'name', jsonKind.string).some((name) => isWithheld(tape.start(name), tape.end(name))),
    );
  return edits;
}

/** Sets a text of the item: replaces the member, or adds it before the other members. Does nothing if `text` is `undefined`. */
function addTextEdits(edits: Edit[], item: Buffer, name: string, text: string | undefined): void {
  if (text === undefined) return;
  const value = JSON.stringify(text);
  const members = membersNamed(item, 0, name);
  for (const node of members) edits.push({ start: tape.start(node), end: tape.end(node), putIn: Buffer.from(value) });
  if (members.length > 0) return;
  // Another member always follows the comma, because every item has a name.
  const at = tape.start(0) + 1;
  const putIn = Buffer.from(`${JSON.stringify(name)}:${value},`);
  const samePlace = edits.findIndex(({ start, end }) => start === at && end === at);
  // Two insertions at one offset become one edit.
  if (samePlace === -1) edits.push({ start: at, end: at, putIn });
  else edits[samePlace] = { start: at, end: at, putIn: Buffer.concat([edits[samePlace]!.putIn, putIn]) };
}

/** The nodes of the members with this name. @param name ASCII. @param kind of the values; any kind if omitted. */
function membersNamed(item: Buffer, object: number, name: string, kind?: number): number[] {
  const nodes: number[] = [];
  if (tape.kind(object) !== jsonKind.object) return nodes;
  const past = tape.next(object);
  for (let node = object + 1; node < past; node = tape.next(node)) {
    if (!isKey(item, tape.keyStart(node), tape.keyEnd(node), name)) continue;
    if (kind === undefined || tape.kind(node) === kind) nodes.push(node);
  }
  return nodes;
}

function isString(node: number): boolean {
  return tape.kind(node) === jsonKind.string;
}

const NOTHING = Buffer.alloc(0);

/** The most unreachable tools that a log line names. */
const UNREACHABLE_TOOLS_LOGGED_MAX = 100;

export interface BackendPages<Page = ListPage> {
  readonly backend: RuledBackend;
  readonly pages: readonly Page[];
}

export interface MergeJob<Page = ListPage> {
  readonly kind: ListKind;
  readonly rules: ListRules;
  readonly parts: readonly BackendPages<Page>[];
  readonly unavailable: readonly UnavailableBackend[];
  readonly frame: AnswerFrame;
  /** With exposure `search`, the two search tools as JSON. Of the other tools, only those with a user interface (MCP Apps) are listed. */
  readonly searchTools?: string | undefined;
}

/** Which items are merged. `searched`: all but tools named like a search tool; `with-app`: as `searched`, but only tools with a user interface. */
type ItemChoice = 'all' | 'searched' | 'with-app';

export interface MergeResult {
  readonly bytes: Buffer;
  /**
   * The first names of items that are left out, for the log. An item is left out if a request for its name would reach another item
   * (specification 2.5), or if it has too many JSON values to be curated.
   */
  readonly unreachableNames: readonly string[];
  /** Whether the result is remembered (`KnownLists`), so that its bytes stay in memory. */
  readonly isKnown?: boolean;
}

export function mergeLists(job: MergeJob): MergeResult {
  const { kind, unavailable, frame, searchTools } = job;
  const { items, unreachableNames } = mergedItems(job, searchTools === undefined ? 'all' : 'with-app');
  const { extras } = frame;
  const { _meta: missing } = unavailableMeta(unavailable);
  const meta = extras === undefined ? missing : { ...extras.meta, ...missing };
  const tail = meta === undefined ? ']}}' : `],"_meta":${JSON.stringify(meta)}}}`;
  const before = searchTools === undefined || items.length === 0 ? searchTools : `${searchTools},`;
  const message = writeItems(`${frame.head}{${extras?.members ?? ''}"${kind.member}":[${before ?? ''}`, items, tail);
  return { bytes: frame.framing === 'event' ? encodeEvent(message) : message, unreachableNames };
}

/** The items that callers may see, in the order of their names or URIs. */
export function mergedItems(
  { kind, rules, parts }: Pick<MergeJob, 'kind' | 'rules' | 'parts'>,
  choice: ItemChoice,
): {
  readonly items: readonly MergedItem[];
  readonly unreachableNames: readonly string[];
} {
  const items: MergedItem[] = [];
  const unreachableNames: string[] = [];
  for (const part of parts) {
    if (kind.isNamed) collectNamedItems(rules, kind, part, choice, items, unreachableNames);
    else collectResources(kind, part, items);
  }
  items.sort((one, other) => (one.key < other.key ? -1 : one.key > other.key ? 1 : 0));
  return { items, unreachableNames };
}

function collectNamedItems(
  rules: ListRules,
  kind: ListKind,
  { backend, pages }: BackendPages,
  choice: ItemChoice,
  items: MergedItem[],
  unreachableNames: string[],
): void {
  const isTask = kind.name === 'tasks';
  const prefixText = isTask ? `${backend.name}-` : backend.prefix;
  const prefix = Buffer.from(JSON.stringify(prefixText).slice(1, -1));
  const uris = uriPrefix(backend.uriName);
  const rivals = rivalsOf(rules, backend);
  const isReachableName = isTask
    ? (name: string): boolean => isTaskReachable(rules, backend, name)
    : (name: string): boolean => isReachable(rivals, backend, name);
  const isSearchToolName = (key: string): boolean => choice !== 'all' && isSearchTool(key);
  const curated = kind.name === 'tools' || kind.name === 'prompts' ? backend.curation[kind.name] : undefined;
  const leaveOut = (key: string): void => {
    if (unreachableNames.length < UNREACHABLE_TOOLS_LOGGED_MAX) unreachableNames.push(key);
  };
  const seen = new Set<string>();
  for (const { bytes, spans } of pages) {
    for (let row = 0; row < spans.length; row += SPAN_LENGTH) {
      const nameStart = spans[row + span.keyStart]!;
      const bareName = stringValue(bytes, nameStart, spans[row + span.keyEnd]!);
      // Of two items with the same name, requests could reach only the first.
      if (!isAllowed(backend, kind, bareName, undefined) || seen.has(bareName)) continue;
      seen.add(bareName);
      const shown = curated === undefined ? undefined : callersNameOf(curated, bareName);
      if (shown === 'hidden') continue;
      const name = typeof shown === 'object' ? shown.name : bareName;
      const key = `${prefixText}${name}`;
      if (shown === 'taken' || isSearchToolName(key) || !isReachableName(name)) {
        leaveOut(key);
        continue;
      }
      const insertions = insertionsFor({ at: nameStart + 1, putIn: prefix }, bytes, spans, row, uris);
      // A single insertion is that of the name: the tool has no user interface.
      if (choice === 'with-app' && 'putIn' in insertions) continue;
      const item = { key, bytes, start: spans[row + span.start]!, end: spans[row + span.end]!, insertions };
      const entry = curated?.byBareName.get(bareName);
      const changed = entry === undefined ? item : curatedItem(item, entry, nameStart, spans[row + span.keyEnd]!);
      if (changed === undefined) leaveOut(key);
      else items.push(changed);
    }
  }
}

/** The item as the config shows it; `undefined` when it has too many JSON values to be scanned. */
function curatedItem(
  { key, bytes, start, end, insertions }: MergedItem,
  curated: CuratedItem,
  nameStart: number,
  nameEnd: number,
): MergedItem | undefined {
  const item = bytes.subarray(start, end);
  const edits = curatedEdits(item, curated);
  if (edits === undefined) return undefined;
  const { name, bareName } = curated.entry;
  for (const { at, putIn } of 'putIn' in insertions ? [insertions] : insertions) {
    // A name that the config changes is replaced; into any other name, the prefix is inserted, and the backend's own bytes stay.
    if (at === nameStart + 1 && name !== bareName)
      edits.push({ start: nameStart - start, end: nameEnd - start, putIn: Buffer.from(JSON.stringify(key)) });
    else edits.push(insertion({ at: at - start, putIn }));
  }
  const changed = edited(item, edits);
  return { key, bytes: changed, start: 0, end: changed.length, insertions: NO_INSERTIONS };
}

const NO_INSERTIONS: readonly Insertion[] = [];

/** The insertions for an item: the prefixes of its name, and of the URIs of its user interface, which are resources of the backend. */
function insertionsFor(
  name: Insertion,
  bytes: Buffer,
  spans: Int32Array,
  row: number,
  prefix: UriPrefix,
): Insertion | readonly Insertion[] {
  let insertions: Insertion[] | undefined;
  for (let at = row + span.pageUris; at < row + SPAN_LENGTH; at += 2)
    if (spans[at] !== -1) (insertions ??= [name]).push(uriInsertion(bytes, spans[at]!, spans[at + 1]!, prefix));
  return insertions?.sort((one, other) => one.at - other.at) ?? name;
}

function collectResources(kind: ListKind, { backend, pages }: BackendPages, items: MergedItem[]): void {
  const prefix = uriPrefix(backend.uriName);
  const seen = new Set<string>();
  for (const { bytes, spans } of pages) {
    for (let row = 0; row < spans.length; row += SPAN_LENGTH) {
      const keyStart = spans[row + span.keyStart]!;
      const keyEnd = spans[row + span.keyEnd]!;
      const uri = stringValue(bytes, keyStart, keyEnd);
      if (seen.has(uri) || !isAllowed(backend, kind, uri, nameOf(bytes, spans, row))) continue;
      seen.add(uri);
      items.push({
        key: callersUri(backend.uriName, uri),
        bytes,
        start: spans[row + span.start]!,
        end: spans[row + span.end]!,
        insertions: uriInsertion(bytes, keyStart, keyEnd, prefix),
      });
    }
  }
}

function nameOf(bytes: Buffer, spans: Int32Array, row: number): string | undefined {
  const start = spans[row + span.nameStart]!;
  return start === -1 ? undefined : stringValue(bytes, start, spans[row + span.nameEnd]!);
}
