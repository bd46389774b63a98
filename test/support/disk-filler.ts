// A separate process that fills the embedded store until it accepts no more, then reads, makes room and writes again; with
// the word `close` after the store's path it closes the store at once. Prints the outcome as JSON.
import { EmbeddedRecords } from '../../src/store/embedded-store.js';

const [, , path = '', word = ''] = process.argv;
const records = new EmbeddedRecords(path);
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
if (word === 'close') {
  await records.close();
  process.stdout.write(JSON.stringify({ fault, isClosed: true }));
  process.exit();
}
const read = (await records.read({ space: 'records', key: 'filler/0' }))?.length ?? 0;
for (let n = 0; n < count; n++) {
  await records.swap([{ space: 'records', key: `filler/${n}`, expected: value, value: undefined }]);
}
const isHealed = await records.swap([{ space: 'records', key: 'again/0', expected: undefined, value }]);
await records.close();
process.stdout.write(JSON.stringify({ fault, read, isHealed }));
