// Selects what a scanner records when only part of a document is wanted.
export interface NodeFilter {
  /** Whether the contents of a container are recorded, by the position of its key; -1 for the root and array elements. */
  readonly wants: (keyStart: number, keyEnd: number) => boolean;
  /** Replaces `limits.jsonNodesMax`. */
  readonly nodesMax: number;
}
