// What goes to the list thread and what comes back, in words that both sides understand. Large memory is handed over, not
// copied: whoever has sent it has lost it. What the thread keeps between tasks has a key, given by the event loop.
import type { ListKindName } from '../../protocol/list-kinds.js';
import type { PageMirrors } from '../../protocol/tool-mirrors.js';
import type { ListPage } from '../../protocol/list-page.js';
import type { UnavailableBackend } from '../message/unavailable.js';
import type { AnswerFrame } from '../exchange/answer-frame.js';

/** A message to another thread, and the memory in it that goes with it. */
export interface Handover<Message> {
  readonly message: Message;
  readonly memory: readonly ArrayBuffer[];
}

/** What the thread does, by name: a message in, a message out. */
export interface ThreadTasks {
  readonly append: { readonly task: AppendTask; readonly outcome: undefined };
  readonly read: { readonly task: ReadTask; readonly outcome: ReadOutcome };
  readonly merge: { readonly task: MergeTask; readonly outcome: MergeOutcome };
  readonly grant: { readonly task: GrantTask; readonly outcome: boolean };
  readonly catalogue: { readonly task: CatalogueTask; readonly outcome: CatalogueOutcome };
  readonly prepare: { readonly task: undefined; readonly outcome: undefined };
  readonly find: { readonly task: FindTask; readonly outcome: FindOutcome };
  readonly next: { readonly task: NextTask; readonly outcome: NextOutcome };
  readonly drop: { readonly task: DropTask; readonly outcome: undefined };
}

/** A task with its name. */
export type ThreadTask = {
  readonly [Name in keyof ThreadTasks]: { readonly name: Name; readonly task: ThreadTasks[Name]['task'] };
}[keyof ThreadTasks];

/** More of an answer to a request for a list, kept under the key. */
export interface AppendTask {
  readonly key: number;
  readonly pieces: readonly Uint8Array[];
}

/** Read the answer under the key; if it is a page, that is kept in its place. */
export interface ReadTask extends AppendTask {
  /** Of the whole answer, to be sure that nothing of it was lost. */
  readonly bytes: number;
  /** Of the request, as JSON. */
  readonly id: string;
  readonly kind: ListKindName;
  readonly isModern?: boolean;
}

export type ReadOutcome =
  | {
      readonly kind: 'page';
      readonly itemCount: number;
      readonly nextCursor: string | undefined;
      readonly isComplete: boolean;
      readonly ttlMs: number;
      readonly mirrors: PageMirrors | undefined;
    }
  | { readonly kind: 'error'; readonly code: number | undefined }
  | { readonly kind: 'invalid' };

/** Pages of all backends that become one thing, which is kept under the key; the pages are not kept any longer, but for those that are lent. */
export interface PagesTask {
  readonly key: number;
  readonly kind: ListKindName;
  /** Encoded. */
  readonly rules: string;
  /** `backend` is its place in the rules; a page is the key of a kept one, or is lent, or comes with the task. */
  readonly parts: readonly { readonly backend: number; readonly pages: readonly (number | LentRef | SentPage)[] }[];
  readonly unavailable: readonly UnavailableBackend[];
}

/** Merge pages into a list. */
export interface MergeTask extends PagesTask {
  readonly frame: AnswerFrame;
}

/** Make of them what can be looked through; it is kept until it is dropped. */
export type CatalogueTask = PagesTask;

export interface CatalogueOutcome {
  /** Of memory. */
  readonly bytes: number;
  readonly unreachable: readonly string[];
}

/** Look through what is kept under the key. */
export interface FindTask {
  readonly key: number;
  readonly query: string;
  /** How many tools at most. */
  readonly count: number;
  readonly frame: AnswerFrame;
}

export interface FindOutcome {
  /** The whole answer. */
  readonly memory: Uint8Array;
}

/** Say whether pages grant a URI; they are kept as before. */
export interface GrantTask {
  readonly kind: ListKindName;
  /** Encoded, of the one backend. */
  readonly rules: string;
  /** As of a merge. */
  readonly pages: readonly (number | LentRef | SentPage)[];
  readonly uri: string;
}

/** A page that stays where it is. */
export interface LentRef {
  readonly lentKey: number;
}

export interface SentPage {
  readonly bytes: Uint8Array;
  readonly spans: Int32Array;
}

export interface MergeOutcome {
  /** Of the list. */
  readonly bytes: number;
  readonly unreachable: readonly string[];
}

/** Fill the memory with what comes next of the list under the key; with its last part it is not kept any longer. */
export interface NextTask {
  readonly key: number;
  readonly memory: Uint8Array;
}

export interface NextOutcome {
  readonly memory: Uint8Array;
  readonly bytes: number;
}

/** Whatever is under the keys is of no use any more. */
export interface DropTask {
  readonly keys: readonly number[];
}

export function handOver<Message>(message: Message, views: readonly ArrayBufferView[] = []): Handover<Message> {
  return { message, memory: views.map(({ buffer }) => buffer as ArrayBuffer) };
}

/** The same page in memory that can be handed over. */
export function sentPage({ bytes, spans }: ListPage): SentPage {
  return { bytes: inOwnMemory(bytes), spans };
}

export function receivedPage({ bytes, spans }: SentPage): ListPage {
  return { bytes: asBuffer(bytes), spans };
}

/** Memory that holds nothing else can be handed over. Small buffers share theirs, and are copied. */
export function inOwnMemory(bytes: Uint8Array): Uint8Array {
  return bytes.length === bytes.buffer.byteLength ? bytes : Uint8Array.from(bytes);
}

/** The pieces as one. */
export function joined(pieces: readonly Uint8Array[]): Buffer {
  const [first] = pieces;
  return pieces.length === 1 && first !== undefined ? asBuffer(first) : Buffer.concat(pieces);
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
