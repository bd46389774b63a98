// A process of its own that fills the embedded store until it takes no more, then reads, makes room and writes again.
// Argument: the store's path. Prints what it met with, as JSON.
import { EmbeddedRecords } from '../../src/store/embedded-records.js';

const [, , path = ''] = process.argv;
const records = await EmbeddedRecords.open(path);
const value = Buffer.alloc(100_000, 'x');
let fault = '';
let count = 0;
while (fault === '') {
  try {
    await records.swap([{ space: 'records', key: `filler/${count}`, expected: undefined, value }]);
    count += 1;
  } catch (error) {
    fault = error instanceof Error ? error.name : String(error);
  }
}
const read = (await records.read({ space: 'records', key: 'filler/0' }))?.length ?? 0;
for (let n = 0; n < count; n++) {
  await records.swap([{ space: 'records', key: `filler/${n}`, expected: value, value: undefined }]);
}
const isHealed = await records.swap([{ space: 'records', key: 'again/0', expected: undefined, value }]);
await records.close();
process.stdout.write(JSON.stringify({ fault, read, isHealed }));
