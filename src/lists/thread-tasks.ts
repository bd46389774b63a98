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

/** The task to parse the response; a page is kept in its place. */
export interface ReadTask extends AppendTask {
  /** The size of the whole response, to detect lost pieces. */
  readonly bytes: number;
  /** The request's id, as JSON. */
  readonly id: string;
  readonly kind: ListKindName;
  readonly era?: ListEra;
}

/** What a page says beside its items. */
export type PageDetails = Omit<Extract<ListAnswer, { kind: 'page' }>, 'page' | 'idStart' | 'idEnd'>;

export type ReadOutcome = Exclude<ListAnswer, { kind: 'page' }> | (PageDetails & { readonly itemCount: number });

/** The task to make a list or catalogue of all backends' pages. Only lent pages are kept any longer. */
export interface PagesTask {
  readonly key: number;
  readonly kind: ListKindName;
  /** The rules, encoded. */
  readonly rules: string;
  /** The pages by backend. `backend` is an index into the rules; a page is the key of a kept page, or lent, or sent with the task. */
  readonly parts: readonly {
    readonly backend: number;
    readonly pages: readonly (number | LentPageRef | TransferredPage)[];
  }[];
  readonly unavailable: readonly UnavailableBackend[];
}

export interface KeptOutcome {
  /** The length of a list; the size of a catalogue in memory. */
  readonly bytes: number;
  readonly unreachable: readonly string[];
}

export interface MergeTask extends PagesTask {
  readonly frame: AnswerFrame;
  /** The search tools as JSON, as in `MergeJob`. */
  readonly searchTools?: string | undefined;
}

export interface FindTask {
  readonly key: number;
  readonly query: string;
  /** The most tools to find. */
  readonly count: number;
  readonly frame: AnswerFrame;
}

/** The task to decide whether pages grant a URI; they stay as they are. */
export interface GrantTask {
  readonly kind: ListKindName;
  /** The rules of the one backend, encoded. */
  readonly rules: string;
  /** The pages, as in `PagesTask`. */
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

/** The task to fill the memory with the next part of a list; after the last part the list is dropped. */
export interface NextPartTask {
  readonly key: number;
  readonly memory: Uint8Array;
}

export interface NextPartOutcome {
  readonly memory: Uint8Array;
  readonly bytes: number;
}

/** The page in memory that can be transferred. */
export function transferredPage({ bytes, spans }: ListPage): TransferredPage {
  return { bytes: transferable(bytes), spans };
}

export function receivedPage({ bytes, spans }: TransferredPage): ListPage {
  return { bytes: asBuffer(bytes), spans };
}

/** The bytes in memory that can be transferred, which must hold nothing else. Small buffers share memory, so they are copied. */
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
