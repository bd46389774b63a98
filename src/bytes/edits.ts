// Edits that replace bytes of a message. All other bytes need not be copied.

/** A replacement of the bytes from `start` up to, but not including, `end`. */
export interface Edit {
  readonly start: number;
  readonly end: number;
  readonly putIn: Buffer;
}

export interface Insertion {
  readonly at: number;
  readonly putIn: Buffer;
}

/** Inserts a span into a short list that is sorted by `start`, behind spans with the same start. */
export function addInOrder<Span extends { readonly start: number }>(spans: Span[], added: Span): void {
  let at = spans.length;
  spans.push(added);
  for (let before = spans[at - 1]; before !== undefined && before.start > added.start; before = spans[at - 1]) {
    spans[at] = before;
    at -= 1;
  }
  spans[at] = added;
}

export function insertion({ at, putIn }: Insertion): Edit {
  return { start: at, end: at, putIn };
}

/** The edited message, as parts that are not copied. @param edits in any order, not overlapping. */
export function partsOf(bytes: Buffer, edits: readonly Edit[]): Buffer[] {
  const parts: Buffer[] = [];
  let at = 0;
  for (const { start, end, putIn } of inOrder(edits)) {
    parts.push(bytes.subarray(at, start), putIn);
    at = end;
  }
  parts.push(bytes.subarray(at));
  return parts;
}

/** The edited message like `partsOf`, but copied into one buffer: for many edits. */
export function edited(bytes: Buffer, edits: readonly Edit[]): Buffer {
  const wholeBytes = edits.reduce((sum, { start, end, putIn }) => sum + putIn.length - (end - start), bytes.length);
  const whole = Buffer.allocUnsafe(wholeBytes);
  let [from, to] = [0, 0];
  for (const { start, end, putIn } of inOrder(edits)) {
    to += bytes.copy(whole, to, from, start);
    to += putIn.copy(whole, to);
    from = end;
  }
  bytes.copy(whole, to, from);
  return whole;
}

function inOrder(edits: readonly Edit[]): readonly Edit[] {
  return edits.toSorted((a, b) => a.start - b.start);
}
