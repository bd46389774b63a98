/** Runs the task for every item, with at most `countMax` under way at once; rejects with the first failure. */
export async function inParallel<Item>(
  items: readonly Item[],
  countMax: number,
  task: (item: Item) => Promise<void>,
): Promise<void> {
  // The lanes share one iterator, so that each item is taken by exactly one lane.
  const rest = items.values();
  const lane = async (): Promise<void> => {
    for (const item of rest) await task(item);
  };
  await Promise.all(Array.from({ length: countMax }, lane));
}
