// What a scanner records of a document when only some of it is wanted.
export interface NodeFilter {
  /** Whether what is in a container is recorded, by where its key stands; -1 for the root and elements of arrays. */
  readonly wants: (keyStart: number, keyEnd: number) => boolean;
  /** In place of `limits.jsonNodesMax`. */
  readonly nodesMax: number;
}
