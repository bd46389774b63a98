// The messages to and from the list thread. Large memory is transferred, not copied: the sender loses access to it. What the thread keeps
// between tasks has a key, which the event loop assigns.
import type { ListAnswer, ListEra, ListKindName, ListPage } from '../mcp/index.js';
import type { UnavailableBackend } from '../http-client/index.js';
import type { AnswerFrame } from '../exchange/index.js';

/** The task to append pieces of a response to a list request. */
export interface AppendTask {
  readonly key: number;
  readonly pieces: readonly Uint8Array[];
}

/** The task to append the last pieces, and to parse the response. If it has a page, the thread keeps the page under the same key. */
export interface ReadTask extends AppendTask {
  /** The size of the whole response, to detect lost pieces. */
  readonly bytes: number;
  /** The request's id, as JSON. */
  readonly id: string;
  readonly kind: ListKindName;
  readonly era?: ListEra;
}

/** What a response has beside its page, such as the next cursor and the cache time. */
export type PageDetails = Omit<Extract<ListAnswer, { kind: 'page' }>, 'page' | 'idStart' | 'idEnd'>;

export type ReadOutcome = Exclude<ListAnswer, { kind: 'page' }> | (PageDetails & { readonly itemCount: number });

/** The task to make a list or catalogue of all backends' pages. Of the pages, the thread then keeps only those that are lent. */
export interface PagesTask {
  readonly key: number;
  readonly kind: ListKindName;
  /** The rules, encoded. */
  readonly rules: string;
  /** The pages of each backend (`backend`: its index in the rules): keys of pages in the thread, or lent pages, or pages sent with the task. */
  readonly parts: readonly {
    readonly backend: number;
    readonly pages: readonly (number | LentPageRef | TransferredPage)[];
  }[];
  readonly unavailable: readonly UnavailableBackend[];
}

export interface KeptOutcome {
  /** The length of a list; the size of a catalogue in memory. */
  readonly bytes: number;
  readonly unreachableNames: readonly string[];
}

export interface MergeTask extends PagesTask {
  readonly frame: AnswerFrame;
  /** The search tools as JSON, as in `MergeJob`. */
  readonly searchTools?: string | undefined;
}

export interface FindTask {
  readonly key: number;
  /** Under which the thread keeps the search until all of its steps, each a task, are done. */
  readonly searchKey: number;
  readonly query: string;
  /** The most tools to find. */
  readonly toolsMax: number;
  readonly frame: AnswerFrame;
}

/** The task to decide whether pages grant a URI; the thread goes on keeping the pages. */
export interface GrantTask {
  readonly kind: ListKindName;
  /** The rules of the one backend, encoded. */
  readonly rules: string;
  /** The pages, each as in `PagesTask.parts`. */
  readonly pages: readonly (number | LentPageRef | TransferredPage)[];
  readonly uri: string;
}

export interface LentPageRef {
  readonly lentKey: number;
}

export interface TransferredPage {
  readonly bytes: Uint8Array;
  readonly spans: Int32Array;
}

/** The task to fill the buffer with the next part of a list; after the last part, the thread drops the list. */
export interface NextPartTask {
  readonly key: number;
  readonly buffer: Uint8Array;
}

export interface NextPartOutcome {
  readonly buffer: Uint8Array;
  readonly bytes: number;
}

/** The page, in memory that can be transferred. */
export function transferredPage({ bytes, spans }: ListPage): TransferredPage {
  return { bytes: transferable(bytes), spans };
}

export function receivedPage({ bytes, spans }: TransferredPage): ListPage {
  return { bytes: asBuffer(bytes), spans };
}

/** The bytes, in memory that can be transferred: they are copied if they are only a part of their memory, which moves as a whole. */
export function transferable(bytes: Uint8Array): Uint8Array {
  return bytes.length === bytes.buffer.byteLength ? bytes : Uint8Array.from(bytes);
}

export function bytesOf(pieces: readonly Uint8Array[]): number {
  let bytes = 0;
  for (const { length } of pieces) bytes += length;
  return bytes;
}

export function joinedPieces(pieces: readonly Uint8Array[]): Buffer {
  const [first] = pieces;
  return pieces.length === 1 && first !== undefined ? asBuffer(first) : Buffer.concat(pieces);
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
