// The tools of a virtual host as `find_tools` looks through them, and its answer; in the list thread. A question is held against every
// tool's text first, and those that have some of its words are ranked by MiniSearch, which is told of these alone: an index of
// all tools takes longer to make, and to ask, than most questions that it is ever asked.
import MiniSearch from 'minisearch';
import { encodeEvent } from '../../protocol/event-stream.js';
import { isKey, stringValue } from '../../protocol/json-member.js';
import { JsonScanner, jsonKind } from '../../protocol/json-scanner.js';
import { limits } from '../../shared/limits.js';
import { unavailableMeta, type UnavailableBackend } from '../unavailable.js';
import { itemBytes, writeItem, type AnswerFrame, type MergedItem } from './merge.js';

/** The members of a tool. */
const ITEM_DEPTH = 1;
/** Of a tool that are looked at first. */
const BEGINNING_BYTES = 512;
/** Of one character in a JSON string. */
const ESCAPE_BYTES_MAX = 6;

/** What a name says counts for more than what a description does. */
const NAME_WEIGHT = 3;
/** Shorter words begin too many others. */
const PREFIX_CHARS_MIN = 3;
const FUZZY_CHARS_MIN = 5;
/** The end of a word is where its forms differ: `issues` finds `issue`. */
const STEM_SHARE = 0.75;

const tape = new JsonScanner();

interface FoundText {
  readonly id: number;
  readonly name: string;
  readonly text: string;
}

export class ToolCatalogue {
  /** The tools as their list has them, one after the other. */
  readonly #bytes: Buffer;
  readonly #ends: Int32Array;
  /** Of each tool, in small letters: the words of its name, and those of its title and description. */
  readonly #names: string[] = [];
  readonly #texts: string[] = [];
  readonly #unavailable: readonly UnavailableBackend[];
  /** What it takes in memory. */
  readonly size: number;

  /** @param unavailable whose tools are missing. */
  constructor(items: readonly MergedItem[], unavailable: readonly UnavailableBackend[]) {
    this.#unavailable = unavailable;
    let length = 0;
    for (const item of items) length += itemBytes(item);
    this.#bytes = Buffer.allocUnsafeSlow(length);
    this.#ends = new Int32Array(items.length);
    let at = 0;
    let chars = 0;
    for (const [index, item] of items.entries()) {
      const start = at;
      at = this.#ends[index] = writeItem(this.#bytes, at, item);
      const name = wordsOfName(item.key);
      const text = textOf(this.#bytes.subarray(start, at));
      this.#names.push(name);
      this.#texts.push(text);
      chars += name.length + text.length;
    }
    this.size = length + 2 * chars + limits.listToolBytesEach * items.length;
  }

  get toolCount(): number {
    return this.#ends.length;
  }

  /** The whole answer. @param count how many tools at most. */
  answer(query: string, count: number, { head, form, dress }: AnswerFrame): Buffer {
    const found: string[] = [];
    let bytesLeft: number = limits.foundToolsBytesMax;
    for (const index of this.find(query, count)) {
      const tool = this.#bytes.subarray(index === 0 ? 0 : this.#ends[index - 1], this.#ends[index]);
      bytesLeft -= tool.length;
      if (bytesLeft >= 0) found.push(tool.toString());
      else if (found.length > 0) break;
      else bytesLeft += tool.length;
    }
    const result = `{"tools":[${found.join()}]}`;
    const content = [result, ...this.#notes(found.length)].map((text) => ({ type: 'text', text }));
    const meta = { ...dress?.meta, ...unavailableMeta(this.#unavailable)._meta };
    const tail = Object.keys(meta).length === 0 ? '' : `,"_meta":${JSON.stringify(meta)}`;
    const members = `${dress?.members ?? ''}"content":${JSON.stringify(content)},"structuredContent":${result}${tail}`;
    const message = Buffer.from(`${head}{${members}}}`);
    return form === 'event' ? encodeEvent(message) : message;
  }

  /** Places of tools, the best first. */
  find(query: string, count: number): number[] {
    const words = new Set(wordsOf(query).slice(0, limits.toolQueryWordsMax));
    if (words.size === 0) return [];
    const candidates = this.#candidates([...words]);
    const ranking = new MiniSearch<FoundText>({ fields: ['name', 'text'], autoVacuum: false });
    ranking.addAll(candidates.map((id) => ({ id, name: this.#names[id]!, text: this.#texts[id]! })));
    const ranked = ranking.search([...words].join(' '), {
      boost: { name: NAME_WEIGHT },
      prefix: (word) => word.length >= PREFIX_CHARS_MIN,
      fuzzy: (word) => (word.length >= FUZZY_CHARS_MIN ? 1 - STEM_SHARE : false),
    });
    return ranked.slice(0, count).map(({ id }) => id as number);
  }

  /** Those that have most of the words, or what they begin with; of those that have as many, the first. */
  #candidates(words: readonly string[]): readonly number[] {
    const stems = words.map((word) => word.slice(0, Math.max(PREFIX_CHARS_MIN, Math.ceil(word.length * STEM_SHARE))));
    const weights: number[] = [];
    const found: number[] = [];
    for (const [id, name] of this.#names.entries()) {
      const text = this.#texts[id]!;
      let weight = 0;
      for (const stem of stems) weight += name.includes(stem) ? NAME_WEIGHT : text.includes(stem) ? 1 : 0;
      weights.push(weight);
      if (weight > 0) found.push(id);
    }
    if (found.length <= limits.toolCandidatesMax) return found;
    return found.sort((one, other) => weights[other]! - weights[one]!).slice(0, limits.toolCandidatesMax);
  }

  /** What the caller should know beside. */
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

/** `github-createIssue` is three words. */
function wordsOfName(name: string): string {
  return (CAPITAL.test(name) ? name.replace(/(\p{Ll}|\p{N})(\p{Lu})/gu, '$1 $2') : name).toLowerCase();
}

const CAPITAL = /\p{Lu}/u;

function wordsOf(text: string): string[] {
  return wordsOfName(text)
    .split(/[\s\p{Z}\p{P}\p{S}]+/u)
    .filter((word) => word !== '');
}

/** What title and description say, as far as they are looked through. Most tools begin with them, and end with long schemas. */
function textOf(tool: Buffer): string {
  tape.begin(ITEM_DEPTH);
  tape.push(tool.subarray(0, BEGINNING_BYTES));
  // The last value may be cut.
  const begun = memberText(tool, 'description', tape.count - 1);
  if (begun !== undefined) return `${memberText(tool, 'title', tape.count - 1) ?? ''} ${begun}`.toLowerCase();
  tape.push(tool.subarray(BEGINNING_BYTES));
  return `${memberText(tool, 'title') ?? ''} ${memberText(tool, 'description') ?? ''}`.toLowerCase();
}

/** Of the first member with this name: it is looked through, and nothing else. */
function memberText(tool: Buffer, name: string, past = tape.count): string | undefined {
  for (let node = 1; node < past; node += 1) {
    if (tape.kind(node) !== jsonKind.string || !isKey(tool, tape.keyStart(node), tape.keyEnd(node), name)) continue;
    const [start, end] = [tape.start(node), tape.end(node)];
    const charsMax = limits.toolTextCharsMax;
    // Of one that is very long the escapes are not worth the decoding of all of it.
    const text =
      end - start > ESCAPE_BYTES_MAX * charsMax
        ? tool.toString('utf8', start + 1, start + 1 + charsMax)
        : stringValue(tool, start, end);
    return text.slice(0, charsMax);
  }
  return undefined;
}
