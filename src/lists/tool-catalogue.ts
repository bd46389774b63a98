// The tools of a virtual host, which `find_tools` searches in the list thread. A query is first matched against the text of every tool.
// Then MiniSearch ranks only the tools that have some of the query's words: to index all tools would take longer than the few queries that
// most catalogues serve.
import MiniSearch from 'minisearch';
import { encodeEvent, ESCAPE_BYTES_MAX, isKey, stringValue, JsonScanner, jsonKind } from '../bytes/index.js';
import { KIB, MIB } from '../shared/index.js';
import { TOOL_BYTES_EACH } from './list-memory.js';
import { unavailableMeta, type UnavailableBackend } from '../http-client/index.js';
import { writtenBytesOf, writeItem, type MergedItem } from './item-writer.js';
import type { AnswerFrame } from '../exchange/index.js';

// Texts joined into one string, so that a word is found by one native search, which is faster than thousands of small ones.

/** The character between two texts. It is never part of a word that is searched for. */
const SEPARATOR = '\n';
const CHAR_BYTES_MAX = 2;

export class JoinedTexts {
  readonly #joined: string;
  readonly #ends: Int32Array;

  constructor(texts: readonly string[]) {
    this.#joined = texts.join(SEPARATOR);
    this.#ends = new Int32Array(texts.length);
    let at = 0;
    for (let index = 0; index < texts.length; index += 1) {
      at += texts[index]!.length;
      this.#ends[index] = at;
      at += SEPARATOR.length;
    }
  }

  get memoryBytes(): number {
    return CHAR_BYTES_MAX * this.#joined.length + this.#ends.byteLength;
  }

  get charCount(): number {
    return this.#joined.length;
  }

  at(index: number): string {
    const start = index === 0 ? 0 : this.#ends[index - 1]! + SEPARATOR.length;
    return this.#joined.slice(start, this.#ends[index]);
  }

  /** Visits each text that contains the word, once, in order. @param word not empty, and without a line break. */
  forEachContaining(word: string, visit: (index: number) => void): void {
    const ends = this.#ends;
    let index = 0;
    for (let at = this.#joined.indexOf(word); at !== -1; at = this.#joined.indexOf(word, ends[index])) {
      while (ends[index]! <= at) index += 1;
      visit(index);
    }
  }
}

// Reads the title and the description of a tool. Most tools begin with these two, so that the long schemas behind them are not scanned.

/** The most characters of a tool's title, and of its description, that `find_tools` searches. */
export const TOOL_TEXT_CHARS_MAX = 2_000;

/** The depth of the tape: a tool's own members, and nothing nested in them. */
const ITEM_DEPTH = 1;
const BEGINNING_BYTES = 512;

const tape = new JsonScanner();

/** The text by which a tool is found: its title and description, in lower case. @param bytes valid JSON from `start` to `end`: the tool. */
export function searchedTextOf(bytes: Buffer, start: number, end: number): string {
  const tool = bytes.subarray(start, end);
  tape.begin(ITEM_DEPTH);
  tape.push(tool.subarray(0, BEGINNING_BYTES));
  let past = tape.count - 1;
  let description = tool.length > BEGINNING_BYTES ? memberText(tool, 'description', past) : undefined;
  if (description === undefined) {
    tape.push(tool.subarray(BEGINNING_BYTES));
    past = tape.count;
    description = memberText(tool, 'description', past);
  }
  return `${memberText(tool, 'title', past) ?? ''} ${description ?? ''}`.toLowerCase();
}

/** The tool's first string member of this name, cut to `TOOL_TEXT_CHARS_MAX`. @param past the node at which the search ends. */
function memberText(tool: Buffer, name: string, past: number): string | undefined {
  for (let node = 1; node < past; node += 1) {
    if (tape.kind(node) !== jsonKind.string || !isKey(tool, tape.keyStart(node), tape.keyEnd(node), name)) continue;
    const [start, end] = [tape.start(node), tape.end(node)];
    const charsMax = TOOL_TEXT_CHARS_MAX;
    // A very long text is cut before its escapes are decoded.
    const text =
      end - start > ESCAPE_BYTES_MAX * charsMax
        ? tool.toString('utf8', start + 1, start + 1 + charsMax)
        : stringValue(tool, start, end);
    return text.slice(0, charsMax);
  }
  return undefined;
}

/** The most different words of a query that are searched for. Further words are ignored. */
export const TOOL_QUERY_WORDS_MAX = 24;
/**
 * The most characters that are searched for one query: all names, titles and descriptions, once for each of its words. With more
 * characters, its last words are ignored.
 */
const TOOL_SEARCHED_CHARS_MAX = 64 * MIB;
/** The most characters of the tools that are ranked for one query. Tools with fewer of its words are not found. */
const TOOL_RANKED_CHARS_MAX = 128 * KIB;
/** The most tools that are ranked for one query. Tools with fewer of its words are not found. */
export const TOOL_CANDIDATES_MAX = 200;
/** Bytes of the tools that one `find_tools` returns. Tools beyond it, and any tool that alone is larger, are left out. */
const FOUND_TOOLS_BYTES_MAX = 256 * KIB;

/** How much more a match in a name counts than one in a description. */
const NAME_WEIGHT = 3;
/** The shortest word that also finds longer words that begin with it. Shorter words would find too many. */
const PREFIX_CHARS_MIN = 3;
const STEMMED_CHARS_MIN = 5;
/** The part of a word that must match: forms of a word differ at its end (`issues` finds `issue`). */
const STEM_FRACTION = 0.75;
/** The most first characters in which two forms of a word must agree, however long they are. */
const STEM_CHARS_MAX = 24;

interface RankedTool {
  readonly id: number;
  readonly name: string;
  readonly text: string;
}

export class ToolCatalogue {
  readonly #items: readonly MergedItem[];
  /** For each tool, the words of its name, in lower case. */
  readonly #names: JoinedTexts;
  /** For each tool, its title and description, in lower case. */
  readonly #texts: JoinedTexts;
  readonly #unavailable: readonly UnavailableBackend[];
  /** Bytes of the backends' pages that the catalogue refers to; 0 if it has copied its tools. */
  readonly pageBytes: number;
  readonly memoryBytes: number;

  /** @param unavailable backends whose tools are missing. */
  constructor(items: readonly MergedItem[], unavailable: readonly UnavailableBackend[]) {
    this.#unavailable = unavailable;
    this.#names = new JoinedTexts(items.map(({ key }) => wordsOfName(key)));
    this.#texts = new JoinedTexts(items.map(({ bytes, start, end }) => searchedTextOf(bytes, start, end)));
    const kept = keptItems(items);
    this.#items = kept.items;
    this.pageBytes = kept.pageBytes;
    this.memoryBytes = kept.bytes + this.#names.memoryBytes + this.#texts.memoryBytes + TOOL_BYTES_EACH * items.length;
  }

  /** The answer to a query. @param search whose words were all searched for. @param toolsMax the most tools to find. */
  answerQuery(search: ToolSearch, toolsMax: number, { head, framing, extras }: AnswerFrame): Buffer {
    const found: string[] = [];
    let bytesLeft: number = FOUND_TOOLS_BYTES_MAX;
    for (const index of this.rank(search).slice(0, toolsMax)) {
      const item = this.#items[index]!;
      const bytes = writtenBytesOf(item);
      bytesLeft -= bytes;
      if (bytesLeft >= 0) found.push(textOfItem(item, bytes));
      else if (found.length > 0) break;
      else bytesLeft += bytes;
    }
    const result = `{"tools":[${found.join()}]}`;
    const content = [result, ...this.#notes(found.length)].map((text) => ({ type: 'text', text }));
    const meta = { ...extras?.meta, ...unavailableMeta(this.#unavailable)._meta };
    const tail = Object.keys(meta).length === 0 ? '' : `,"_meta":${JSON.stringify(meta)}`;
    const members = `${extras?.members ?? ''}"content":${JSON.stringify(content)},"structuredContent":${result}${tail}`;
    const message = Buffer.from(`${head}{${members}}}`);
    return framing === 'event' ? encodeEvent(message) : message;
  }

  /** Begins to search for the words of a query. */
  beginSearch(query: string): ToolSearch {
    const words = [...new Set(wordsOf(query))].slice(0, this.#wordsMax);
    return new ToolSearch(this, words, this.#names, this.#texts, this.#items.length);
  }

  /** The indexes of the tools found, the best match first. */
  rank(search: ToolSearch): number[] {
    const { words } = search;
    if (words.length === 0) return [];
    // Only whole words and beginnings of words count for the ranking, not similar words. No two beginnings match the same word of a tool.
    const beginnings = beginningsOf(words);
    // Words have no characters with a meaning here.
    const isMatched = new RegExp(`^(?:${words.join('|')})$|^(?:${[...beginnings].join('|') || '$.'})`, 'u');
    const ranking = new MiniSearch<RankedTool>({
      fields: ['name', 'text'],
      autoVacuum: false,
      // All words count for the length of a text, but to index those that no query word matches would take most of the time.
      processTerm: (term) => (isMatched.test(term) ? term : null),
    });
    ranking.addAll(search.candidates().map((id) => ({ id, name: this.#names.at(id), text: this.#texts.at(id) })));
    const ranked = ranking.search([...new Set([...words, ...beginnings])].join(' '), {
      boost: { name: NAME_WEIGHT },
      prefix: (word) => beginnings.has(word),
      processTerm: (term) => term,
    });
    return ranked.map(({ id }) => id as number);
  }

  /** How many words of a query are searched for: the longer all texts are, the fewer words, because each is searched for in all texts. */
  get #wordsMax(): number {
    const chars = this.#names.charCount + this.#texts.charCount;
    return Math.max(1, Math.min(TOOL_QUERY_WORDS_MAX, Math.floor(TOOL_SEARCHED_CHARS_MAX / chars)));
  }

  /** The texts for the model beside the tools found. */
  #notes(foundCount: number): string[] {
    const notes: string[] = [];
    if (foundCount === 0) notes.push('No tool matches: try other words, or fewer.');
    if (this.#unavailable.length > 0) {
      const missing = this.#unavailable.map(({ backend, reason }) => `${backend} (${reason})`).join('; ');
      notes.push(`The tools of these servers are missing now: ${missing}`);
    }
    return notes;
  }
}

/** The search for the words of a query, in steps, because other callers wait for the thread. */
export class ToolSearch {
  readonly catalogue: ToolCatalogue;
  readonly words: readonly string[];
  readonly #names: JoinedTexts;
  readonly #texts: JoinedTexts;
  readonly #weights: Uint8Array;
  readonly #lastInName: Uint8Array;
  #searchedCount = 0;

  constructor(
    catalogue: ToolCatalogue,
    words: readonly string[],
    names: JoinedTexts,
    texts: JoinedTexts,
    toolCount: number,
  ) {
    this.catalogue = catalogue;
    this.words = words;
    this.#names = names;
    this.#texts = texts;
    this.#weights = new Uint8Array(toolCount);
    this.#lastInName = new Uint8Array(toolCount);
  }

  /** Searches for one word or more. @returns whether all words were searched for. */
  tryEnd(stepMs = SEARCH_STEP_MS): boolean {
    const untilMs = performance.now() + stepMs;
    while (this.#searchedCount < this.words.length) {
      this.#searchNext();
      if (performance.now() >= untilMs) break;
    }
    return this.#searchedCount === this.words.length;
  }

  #searchNext(): void {
    const stem = stemOf(this.words[this.#searchedCount]!);
    this.#searchedCount += 1;
    this.#names.forEachContaining(stem, (id) => {
      this.#weights[id]! += NAME_WEIGHT;
      this.#lastInName[id] = this.#searchedCount;
    });
    this.#texts.forEachContaining(stem, (id) => {
      if (this.#lastInName[id] !== this.#searchedCount) this.#weights[id]! += 1;
    });
  }

  /** The tools that have most of the words or their beginnings; among equals, the first. */
  candidates(): readonly number[] {
    const byWeight: number[][] = Array.from({ length: NAME_WEIGHT * this.words.length + 1 }, () => []);
    for (let id = 0; id < this.#weights.length; id += 1) byWeight[this.#weights[id]!]!.push(id);
    const found = byWeight.slice(1).reverse().flat().slice(0, TOOL_CANDIDATES_MAX);
    let chars = 0;
    const tooMuch = found.findIndex((id) => {
      chars += this.#names.at(id).length + this.#texts.at(id).length;
      return chars > TOOL_RANKED_CHARS_MAX;
    });
    return found.slice(0, tooMuch === -1 ? found.length : Math.max(1, tooMuch)).sort((one, other) => one - other);
  }
}

/** How long words are searched for before the thread does another task. */
const SEARCH_STEP_MS = 5;

/** The name in lower case, with spaces before capitals: `github-createIssue` becomes `github-create issue`. */
function wordsOfName(name: string): string {
  return (CAPITAL.test(name) ? name.replace(/(\p{Ll}|\p{N})(\p{Lu})/gu, '$1 $2') : name).toLowerCase();
}

function stemOf(word: string): string {
  return word.slice(0, Math.min(STEM_CHARS_MAX, Math.max(PREFIX_CHARS_MIN, Math.ceil(word.length * STEM_FRACTION))));
}

/** The beginnings of the words. A beginning that itself begins with another one is left out. */
function beginningsOf(words: readonly string[]): ReadonlySet<string> {
  const kept = new Set<string>();
  const long = words.filter((word) => word.length >= PREFIX_CHARS_MIN);
  for (const word of long.map((each) => (each.length < STEMMED_CHARS_MIN ? each : stemOf(each))).sort()) {
    if (![...kept].some((each) => word.startsWith(each))) kept.add(word);
  }
  return kept;
}

const CAPITAL = /\p{Lu}/u;

function wordsOf(text: string): string[] {
  return wordsOfName(text)
    .split(/[\s\p{Z}\p{P}\p{S}]+/u)
    .filter((word) => word !== '');
}

/** Makes a few queries on made-up tools: in a new thread, the first query would otherwise take five times as long as the next. */
export function warmUpCatalogues(): void {
  const words = ['create', 'list', 'delete', 'update', 'search', 'archive', 'merge', 'export', 'review', 'assign'];
  const items = Array.from({ length: TOOL_CANDIDATES_MAX }, (_, number): MergedItem => {
    const [one, other] = [words[number % words.length]!, words[Math.floor(number / words.length) % words.length]!];
    const name = `${one}_${other}_${number}`;
    const description = `Use this to ${one} what was ${other}ed before, or all that others ${one} of it (${number}).`;
    const bytes = Buffer.from(JSON.stringify({ name, title: one, description, inputSchema: {} }));
    return { key: name, bytes, start: 0, end: bytes.length, insertions: NO_INSERTIONS };
  });
  const catalogue = new ToolCatalogue(items, []);
  for (const word of words.slice(0, WARM_UP_QUERIES)) answerAtOnce(catalogue, `${word} this and reviews of others`);
}

function answerAtOnce(catalogue: ToolCatalogue, query: string): void {
  const search = catalogue.beginSearch(query);
  search.tryEnd(Infinity);
  catalogue.answerQuery(search, 1, { head: '', framing: 'message' });
}

const WARM_UP_QUERIES = 3;

/** Keeps the items in the memory of their pages, or copies them if they are less than half of that memory. */
function keptItems(items: readonly MergedItem[]): {
  readonly items: readonly MergedItem[];
  readonly bytes: number;
  readonly pageBytes: number;
} {
  const pages = new Set<Buffer>();
  let pageBytes = 0;
  let ownBytes = 0;
  for (const item of items) {
    ownBytes += writtenBytesOf(item);
    if (pages.has(item.bytes)) continue;
    pages.add(item.bytes);
    pageBytes += item.bytes.length;
  }
  if (pageBytes <= PAGE_TO_ITEM_BYTES_MAX * ownBytes) return { items, bytes: pageBytes, pageBytes };
  const bytes = Buffer.allocUnsafeSlow(ownBytes);
  let at = 0;
  const own = items.map((item) => {
    const start = at;
    at = writeItem(bytes, start, item);
    return { key: item.key, bytes, start, end: at, insertions: NO_INSERTIONS };
  });
  return { items: own, bytes: ownBytes, pageBytes: 0 };
}

const PAGE_TO_ITEM_BYTES_MAX = 2;
const NO_INSERTIONS: MergedItem['insertions'] = [];

function textOfItem(item: MergedItem, bytes: number): string {
  const tool = Buffer.allocUnsafe(bytes);
  writeItem(tool, 0, item);
  return tool.toString();
}
