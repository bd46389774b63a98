// How often a store was asked, and where its answers came from: plain numbers, counted always. Hot.

export class StoreCounts {
  /** Answered from memory, as the store would have told of a change. */
  remembered = 0;
  /** Asked of the store itself, or answered together with such a question. */
  asked = 0;
  /** The store is lost, and what was last known served. */
  stale = 0;
  /** No answer. */
  failed = 0;
  /** What was remembered and may have changed; everything at once counts as one. */
  invalidations = 0;

  get reads(): Readonly<Record<string, number>> {
    const { remembered, asked, stale, failed } = this;
    return { remembered, asked, stale, failed };
  }
}
