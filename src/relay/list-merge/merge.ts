// Merges the items of all backends into one sorted list (decisions 2.5). An item is copied as bytes, with the backend's prefix inserted
// into the name or URI that requests use, and nothing else changed, unless the config curates the item. Pure, and the same on the event
// loop and in the list thread. Hot path.
import { encodeEvent } from '../../protocol/event-stream.js';
import type { AnswerFrame } from '../exchange/answer-frame.js';
import { stringValue } from '../../protocol/json-member.js';
import type { ListKind } from '../../protocol/list-kinds.js';
import { span, SPAN_LENGTH, type ListPage } from '../../protocol/list-page.js';
import { callersNameOf, type CuratedItem } from '../../user-config/curation.js';
import { isAllowed, isReachable, isTaskReachable, rivalsOf } from '../../user-config/routing.js';
import { isSearchTool } from '../message/search-tool-names.js';
import { unavailableMeta, type UnavailableBackend } from '../message/unavailable.js';
import { callersUri, uriInsertion, uriPrefix, type Insertion, type UriPrefix } from '../message/uris.js';
import type { ListRules, RuledBackend } from '../../user-config/list-rules.js';
import { insertion, partsOf } from '../message/edits.js';
import { curatedEdits } from './curated-item.js';
import { writeItems, type MergedItem } from './item-writer.js';

/** Tools that a log line names as unreachable. Beyond it, further ones are not named. */
const UNREACHABLE_TOOLS_LOGGED_MAX = 100;

/** One backend's part of the list. */
export interface BackendPages<Page = ListPage> {
  /** One of the backends in the rules. */
  readonly backend: RuledBackend;
  readonly pages: readonly Page[];
}

export interface MergeJob<Page = ListPage> {
  readonly kind: ListKind;
  readonly rules: ListRules;
  readonly parts: readonly BackendPages<Page>[];
  readonly unavailable: readonly UnavailableBackend[];
  readonly frame: AnswerFrame;
  /** Where tools are searched for: the tools that do it, as JSON. Of the others only those with a page are listed, as hosts show no other page. */
  readonly searchTools?: string | undefined;
}

/** All items, or without those that the tools of a search hide, or of these only the ones with a page. */
export type ItemChoice = 'all' | 'searched' | 'with-page';

export interface MergeResult {
  /** The whole answer, in the form that was asked for. */
  readonly bytes: Buffer;
  /**
   * Merged names of items that no request could reach, because a longer prefix or a renamed item takes them (decisions 2.5):
   * the first of them, for the log.
   */
  readonly unreachable: readonly string[];
}

export function mergeLists(job: MergeJob): MergeResult {
  const { kind, unavailable, frame, searchTools } = job;
  const { items, unreachable } = mergedItems(job, searchTools === undefined ? 'all' : 'with-page');
  const { extras } = frame;
  const { _meta: missing } = unavailableMeta(unavailable);
  const meta = extras === undefined ? missing : { ...extras.meta, ...missing };
  const tail = meta === undefined ? ']}}' : `],"_meta":${JSON.stringify(meta)}}}`;
  const before = searchTools === undefined || items.length === 0 ? searchTools : `${searchTools},`;
  const message = writeItems(`${frame.head}{${extras?.members ?? ''}"${kind.member}":[${before ?? ''}`, items, tail);
  return { bytes: frame.form === 'event' ? encodeEvent(message) : message, unreachable };
}

/** The items that callers may see, in the order in which they see them. */
export function mergedItems(
  { kind, rules, parts }: Pick<MergeJob, 'kind' | 'rules' | 'parts'>,
  choice: ItemChoice,
): {
  readonly items: readonly MergedItem[];
  readonly unreachable: readonly string[];
} {
  const items: MergedItem[] = [];
  const unreachable: string[] = [];
  for (const part of parts) {
    if (kind.isNamed) collectNamed(rules, kind, part, choice, items, unreachable);
    else collectResources(kind, part, items);
  }
  items.sort((one, other) => (one.key < other.key ? -1 : one.key > other.key ? 1 : 0));
  return { items, unreachable };
}

function collectNamed(
  rules: ListRules,
  kind: ListKind,
  { backend, pages }: BackendPages,
  choice: ItemChoice,
  items: MergedItem[],
  unreachable: string[],
): void {
  const isTask = kind.name === 'tasks';
  const prefixText = isTask ? `${backend.name}-` : backend.prefix;
  const prefix = Buffer.from(JSON.stringify(prefixText).slice(1, -1));
  const uris = uriPrefix(backend.uriName);
  const rivals = rivalsOf(rules, backend);
  const isReached = isTask
    ? (name: string): boolean => isTaskReachable(rules, backend, name)
    : (name: string): boolean => isReachable(rivals, backend, name);
  const isOurs = (key: string): boolean => choice !== 'all' && isSearchTool(key);
  const curated = kind.name === 'tools' || kind.name === 'prompts' ? backend.curation[kind.name] : undefined;
  const leaveOut = (key: string): void => {
    if (unreachable.length < UNREACHABLE_TOOLS_LOGGED_MAX) unreachable.push(key);
  };
  const seen = new Set<string>();
  for (const { bytes, spans } of pages) {
    for (let row = 0; row < spans.length; row += SPAN_LENGTH) {
      const nameStart = spans[row + span.keyStart]!;
      const bareName = stringValue(bytes, nameStart, spans[row + span.keyEnd]!);
      // Of two items with the same name the first counts: a request could reach only one of them anyway.
      if (!isAllowed(backend, kind, bareName, undefined) || seen.has(bareName)) continue;
      seen.add(bareName);
      const shown = curated === undefined ? undefined : callersNameOf(curated, bareName);
      if (shown === 'hidden') continue;
      const name = typeof shown === 'object' ? shown.name : bareName;
      const key = `${prefixText}${name}`;
      if (shown === 'taken' || isOurs(key) || !isReached(name)) {
        leaveOut(key);
        continue;
      }
      const insertions = withLinks({ at: nameStart + 1, putIn: prefix }, bytes, spans, row, uris);
      // A single insertion is that of the name.
      if (choice === 'with-page' && 'putIn' in insertions) continue;
      const item = { key, bytes, start: spans[row + span.start]!, end: spans[row + span.end]!, insertions };
      const entry = curated?.byBareName.get(bareName);
      const changed = entry === undefined ? item : withEntry(item, entry, nameStart, spans[row + span.keyEnd]!);
      if (changed === undefined) leaveOut(key);
      else items.push(changed);
    }
  }
}

/** The item as the config shows it; `undefined` when it has too many JSON values to be scanned. */
function withEntry(
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
    // An item that keeps the backend's own name keeps its bytes after the prefix.
    if (at === nameStart + 1 && name !== bareName)
      edits.push({ start: nameStart - start, end: nameEnd - start, putIn: Buffer.from(JSON.stringify(key)) });
    else edits.push(insertion({ at: at - start, putIn }));
  }
  const changed = Buffer.concat(partsOf(item, edits));
  return { key, bytes: changed, start: 0, end: changed.length, insertions: NO_INSERTIONS };
}

const NO_INSERTIONS: readonly Insertion[] = [];

/** Also inserts the prefix into the URIs of a tool's user interface, which are resources of its backend. */
function withLinks(
  name: Insertion,
  bytes: Buffer,
  spans: Int32Array,
  row: number,
  prefix: UriPrefix,
): Insertion | readonly Insertion[] {
  let insertions: Insertion[] | undefined;
  for (let at = row + span.links; at < row + SPAN_LENGTH; at += 2)
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
