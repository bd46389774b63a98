// A separate process that writes into the embedded store at the path in its first argument: one write per message,
// acknowledged when done.
import { EmbeddedStore } from '../../src/store/embedded-store.js';

export interface WriteOrder {
  readonly subject: string;
  /** Base64, so that the message can carry any bytes. */
  readonly value: string;
}

const path = process.argv[2];
if (path === undefined || process.send === undefined) throw new Error('started by a test, with a path and a channel');
const store = new EmbeddedStore(path);
process.on('message', (order: WriteOrder) => {
  void store.write(order.subject, Buffer.from(order.value, 'base64')).then(() => process.send?.('written'));
});
process.on('disconnect', () => void store.close());
process.send('ready');
