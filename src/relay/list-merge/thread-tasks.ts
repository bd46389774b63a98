// What goes to the list thread and what comes back, in words that both sides understand. Large memory is handed over, not
// copied: whoever has sent it has lost it. Buffers arrive as plain byte arrays.
import type { ToolAnswer, ToolPage } from '../../protocol/tool-page.js';
import type { UnavailableBackend } from '../unavailable.js';
import { decodeRules } from './list-rules.js';
import type { AnswerFrame, MergedList, MergeJob } from './merge.js';

/** A message to another thread, and the memory in it that goes with it. */
export interface Handover<Message> {
  readonly message: Message;
  readonly memory: ArrayBuffer[];
}

/** What the thread does, by name: a message in, a message out. */
export interface ThreadTasks {
  readonly readAnswer: { readonly task: ReadTask; readonly outcome: ReadOutcome };
  readonly merge: { readonly task: MergeTask; readonly outcome: MergeOutcome };
}

/** An answer to `tools/list`. */
export interface ReadTask {
  readonly pieces: readonly Uint8Array[];
  /** Of the request, as JSON. */
  readonly id: string;
}

export type ReadOutcome =
  | Exclude<ToolAnswer, { kind: 'page' }>
  | { readonly kind: 'page'; readonly page: SentPage; readonly nextCursor: string | undefined };

export interface MergeTask {
  /** Encoded. */
  readonly rules: string;
  /** `backend` is its place in the rules. */
  readonly parts: readonly { readonly backend: number; readonly pages: readonly SentPage[] }[];
  readonly unavailable: readonly UnavailableBackend[];
  readonly frame: AnswerFrame;
}

export interface MergeOutcome {
  readonly bytes: Uint8Array;
  readonly unreachable: readonly string[];
}

interface SentPage {
  readonly bytes: Uint8Array;
  readonly spans: Int32Array;
}

/** The pieces as one message. */
export function joined(pieces: readonly Uint8Array[]): Buffer {
  const [first] = pieces;
  return pieces.length === 1 && first !== undefined ? asBuffer(first) : Buffer.concat(pieces);
}

export function sendAnswer(pieces: readonly Buffer[], id: Buffer): Handover<ReadTask> {
  const owned = pieces.map(inOwnMemory);
  return { message: { pieces: owned, id: id.toString() }, memory: owned.map(memoryOf) };
}

export function sendPage(page: ToolPage, nextCursor: string | undefined): Handover<ReadOutcome> {
  const bytes = inOwnMemory(page.bytes);
  const message = { kind: 'page', page: { bytes, spans: page.spans }, nextCursor } as const;
  return { message, memory: [bytes, page.spans].map(memoryOf) };
}

export function receiveAnswer(outcome: ReadOutcome): ToolAnswer {
  return outcome.kind === 'page' ? { ...outcome, page: receivePage(outcome.page) } : outcome;
}

/** @param rulesText the job's rules, encoded. */
export function sendJob({ rules, parts, unavailable, frame }: MergeJob, rulesText: string): Handover<MergeTask> {
  const memory: ArrayBuffer[] = [];
  const sentParts = parts.map(({ backend, pages }) => ({
    backend: rules.backendsByNameLength.indexOf(backend),
    pages: pages.map((page) => {
      const bytes = inOwnMemory(page.bytes);
      memory.push(memoryOf(bytes), memoryOf(page.spans));
      return { bytes, spans: page.spans };
    }),
  }));
  return { message: { rules: rulesText, parts: sentParts, unavailable, frame }, memory };
}

export function receiveJob({ rules: rulesText, parts, unavailable, frame }: MergeTask): MergeJob {
  const rules = decodeRules(rulesText);
  const receivedParts = parts.map(({ backend, pages }) => ({
    backend: rules.backendsByNameLength[backend]!,
    pages: pages.map(receivePage),
  }));
  return { rules, parts: receivedParts, unavailable, frame };
}

export function sendList(list: MergedList): Handover<MergeOutcome> {
  const bytes = inOwnMemory(list.bytes);
  return { message: { bytes, unreachable: list.unreachable }, memory: [memoryOf(bytes)] };
}

export function receiveList({ bytes, unreachable }: MergeOutcome): MergedList {
  return { bytes: asBuffer(bytes), unreachable };
}

function receivePage({ bytes, spans }: SentPage): ToolPage {
  return { bytes: asBuffer(bytes), spans };
}

/** Memory that holds nothing else can be handed over. Small buffers share theirs, and are copied. */
function inOwnMemory(bytes: Uint8Array): Uint8Array {
  return bytes.length === bytes.buffer.byteLength ? bytes : Uint8Array.from(bytes);
}

function memoryOf(view: Uint8Array | Int32Array): ArrayBuffer {
  return view.buffer as ArrayBuffer;
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
