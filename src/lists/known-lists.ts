// Answers and lists as they were last: most backends give the same list to everybody, time after time, and what was made of the same bytes
// need not be made again. What is compared is all bytes but the request's id, so nobody gets what was not sent to them.
import type { Buffer } from 'node:buffer';
import { readListAnswer, type ListAnswer, type ListEra, type ListKind, type ListPage } from '../mcp/index.js';
import { MIB, RecentMap } from '../shared/index.js';
import { mergeLists, type MergeJob, type MergeResult } from './merge.js';
import { bytesOf, joinedPieces } from './thread-tasks.js';

/** Answers, and as many lists, that are known. Beyond that, those that were not needed for longest are forgotten. */
const KNOWN_BYTES_MAX = 16 * MIB;
const KNOWN_MAX = 1_024;

type PageAnswer = Extract<ListAnswer, { kind: 'page' }>;

interface KnownMerge extends MergeResult {
  readonly key: string;
  readonly pages: readonly ListPage[];
  readonly isKnown: true;
}

export class KnownLists {
  readonly #answers = new RecentMap<PageAnswer>(KNOWN_MAX, KNOWN_BYTES_MAX, ({ page }) => sizeOf(page));
  readonly #merges = new RecentMap<KnownMerge>(KNOWN_MAX, KNOWN_BYTES_MAX, sizeOfMerge);

  /** As `readListAnswer`, for an answer in pieces; the page may be shared with others. */
  read(pieces: readonly Uint8Array[], id: Buffer, kind: ListKind, era: ListEra): ListAnswer {
    const length = bytesOf(pieces);
    const key = `${kind.name} ${era} ${length}`;
    const known = this.#answers.get(key);
    if (known !== undefined && isSame(known, pieces, id)) return known;
    const answer = readListAnswer(joinedPieces(pieces), id, kind, era);
    // A page that was mended is not what came.
    const isKept = answer.kind === 'page' && answer.mirrors?.isMended !== true;
    if (isKept && sizeOf(answer.page) <= KNOWN_BYTES_MAX) this.#answers.set(key, answer);
    return answer;
  }

  /** As `mergeLists`, without the frame's head, which has the request's id. @param rulesText the rules, encoded. */
  merge(job: MergeJob, rulesText: string): MergeResult {
    const { kind, rules, parts, unavailable, frame, searchTools } = job;
    const pages = parts.flatMap((part) => part.pages);
    const counts = parts.map((part) => [rules.backendsByNameLength.indexOf(part.backend), part.pages.length]);
    const key = JSON.stringify([kind.name, counts, unavailable, frame.extras, searchTools, rulesText]);
    const known = this.#merges.get(key);
    if (known?.pages.length === pages.length && known.pages.every((page, at) => page === pages[at])) return known;
    const merged = mergeLists({ ...job, frame: { ...frame, head: '' } });
    const kept: KnownMerge = { ...merged, key, pages, isKnown: true };
    if (sizeOfMerge(kept) <= KNOWN_BYTES_MAX) this.#merges.set(key, kept);
    return merged;
  }
}

function sizeOf({ bytes, spans }: ListPage): number {
  return bytes.length + spans.byteLength;
}

/** With its pages and rules: little may be left of them, and nothing else may keep them any more. */
function sizeOfMerge({ bytes, key, pages }: KnownMerge): number {
  return pages.reduce((sum, page) => sum + sizeOf(page), bytes.length + 2 * key.length);
}

/** Whether the pieces are an answer that is known, of the same length, to the request of this id. */
function isSame({ page: { bytes }, idStart, idEnd }: PageAnswer, pieces: readonly Uint8Array[], id: Buffer): boolean {
  if (idEnd - idStart !== id.length) return false;
  // Nobody reads the id of a page.
  id.copy(bytes, idStart);
  let at = 0;
  return pieces.every((piece) => {
    const start = at;
    at += piece.length;
    return bytes.compare(piece, 0, piece.length, start, at) === 0;
  });
}
