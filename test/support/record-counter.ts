// A separate process that increments one record of the embedded store by swaps, each retried until it succeeds. Arguments:
// the store's path, and the number of increments.
import { EmbeddedRecords } from '../../src/store/embedded-store.js';
import type { RecordStore } from '../../src/store/record-store.js';

export const COUNTER = { space: 'records', key: 'counter' } as const;

/** Returns how many swaps were refused meanwhile. */
export async function countUp(records: RecordStore, times: number): Promise<number> {
  let refusals = 0;
  for (let counted = 0; counted < times;) {
    const expected = await records.read(COUNTER);
    const value = Buffer.from(String(Number(expected?.toString() ?? 0) + 1));
    if (await records.swap([{ ...COUNTER, expected, value }])) counted++;
    else refusals++;
  }
  return refusals;
}

const [, , path, times] = process.argv;
if (path !== undefined && times !== undefined && process.send !== undefined) {
  const records = new EmbeddedRecords(path);
  process.send(await countUp(records, Number(times)));
  await records.close();
  process.disconnect();
}
