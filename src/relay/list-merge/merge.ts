// The tools of every backend as one sorted list (decisions 2.5). A tool is carried over as bytes, with the backend's
// prefix set into its name and nothing else touched. Pure, and the same on the event loop and in the list thread. Hot.
import { encodeEvent } from '../../protocol/event-stream.js';
import { stringValue } from '../../protocol/json-member.js';
import { span, SPAN_LENGTH, type ToolPage } from '../../protocol/tool-page.js';
import { limits } from '../../shared/limits.js';
import { isAllowed, isReachable } from '../routing.js';
import { unavailableMeta, type UnavailableBackend } from '../unavailable.js';
import type { ListRules, RuledBackend } from './list-rules.js';

/** One backend's part of the list. */
export interface BackendTools<Page = ToolPage> {
  /** One of the rules' own. */
  readonly backend: RuledBackend;
  readonly pages: readonly Page[];
}

/** What goes around the list to make it the caller's answer. */
export interface AnswerFrame {
  /** The message up to its result. */
  readonly head: string;
  /** `event`: the message as an event of a stream. */
  readonly form: 'message' | 'event';
}

export interface MergeJob<Page = ToolPage> {
  readonly rules: ListRules;
  readonly parts: readonly BackendTools<Page>[];
  readonly unavailable: readonly UnavailableBackend[];
  readonly frame: AnswerFrame;
}

export interface MergeResult {
  /** The whole answer, in the form that was asked for. */
  readonly bytes: Buffer;
  /**
   * Merged names of tools that no call could reach, because a longer backend name takes them (decisions 2.5): the first
   * of them, for the log.
   */
  readonly unreachable: readonly string[];
}

export function mergeTools({ rules, parts, unavailable, frame }: MergeJob): MergeResult {
  const tools: MergedTool[] = [];
  const unreachable: string[] = [];
  for (const part of parts) collectTools(rules, part, tools, unreachable);
  tools.sort((one, other) => (one.name < other.name ? -1 : one.name > other.name ? 1 : 0));
  const { _meta: meta } = unavailableMeta(unavailable);
  const tail = meta === undefined ? ']}}' : `],"_meta":${JSON.stringify(meta)}}}`;
  const message = writeTools(`${frame.head}{"tools":[`, tools, tail);
  return { bytes: frame.form === 'event' ? encodeEvent(message) : message, unreachable };
}

interface MergedTool {
  readonly name: string;
  readonly bytes: Buffer;
  readonly start: number;
  /** Where the prefix goes: behind the opening quote of the name. */
  readonly nameAt: number;
  readonly end: number;
  readonly prefix: Buffer;
}

function collectTools(
  rules: ListRules,
  { backend, pages }: BackendTools,
  tools: MergedTool[],
  unreachable: string[],
): void {
  const prefix = Buffer.from(JSON.stringify(`${backend.name}-`).slice(1, -1));
  const seen = new Set<string>();
  for (const { bytes, spans } of pages) {
    for (let row = 0; row < spans.length; row += SPAN_LENGTH) {
      const nameStart = spans[row + span.nameStart]!;
      const bareName = stringValue(bytes, nameStart, spans[row + span.nameEnd]!);
      // Of two tools with one name the first counts: a call could reach only one of them anyway.
      if (!isAllowed(backend, bareName) || seen.has(bareName)) continue;
      seen.add(bareName);
      const name = `${backend.name}-${bareName}`;
      if (isReachable(rules, backend, bareName)) {
        const start = spans[row + span.start]!;
        tools.push({ name, bytes, start, nameAt: nameStart + 1, end: spans[row + span.end]!, prefix });
      } else if (unreachable.length < limits.unreachableToolsLoggedMax) {
        unreachable.push(name);
      }
    }
  }
}

function writeTools(head: string, tools: readonly MergedTool[], tail: string): Buffer {
  let length = Buffer.byteLength(head) + Math.max(0, tools.length - 1) + Buffer.byteLength(tail);
  for (const { start, end, prefix } of tools) length += end - start + prefix.length;
  const message = Buffer.allocUnsafe(length);
  let at = message.write(head);
  for (const [index, { bytes, start, nameAt, end, prefix }] of tools.entries()) {
    if (index > 0) message[at++] = COMMA;
    at += bytes.copy(message, at, start, nameAt);
    at += prefix.copy(message, at);
    at += bytes.copy(message, at, nameAt, end);
  }
  message.write(tail, at);
  return message;
}

const COMMA = 0x2c;
