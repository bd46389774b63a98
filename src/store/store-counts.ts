// How often a store was read, and where the answers came from: plain numbers, always counted. Hot path.

export class StoreCounts {
  /** Answered from the cache, because the store would have reported a change. */
  remembered = 0;
  /** Read from the store, or answered by a read already in flight. */
  asked = 0;
  /** Answered with the last known value, because the store is lost. */
  stale = 0;
  /** No answer. */
  failed = 0;
  /** Cached values that may have changed; a flush of everything counts as one. */
  invalidations = 0;

  get reads(): Readonly<Record<string, number>> {
    const { remembered, asked, stale, failed } = this;
    return { remembered, asked, stale, failed };
  }
}
