// Writes into a gateway's store from outside the gateway, as a control plane would.
import { pino } from 'pino';
import type { StoreOptions } from '../../src/config/table/store-options.js';
import { openStore } from '../../src/store/open-store.js';

/** Resolves once every process that reads the store can see the config. */
export async function writeConfig(storeOptions: StoreOptions, subject: string, config: unknown): Promise<void> {
  await writeRawConfig(storeOptions, subject, Buffer.from(JSON.stringify(config)));
}

/** A process that opens an embedded store again while a write of its own is under way there stands still. */
let lastWrite: Promise<unknown> = Promise.resolve();

/** Writes the bytes unchanged, so that they need not be a config. */
export function writeRawConfig(storeOptions: StoreOptions, subject: string, bytes: Uint8Array): Promise<void> {
  const write = lastWrite.then(() => writeNow(storeOptions, subject, bytes));
  lastWrite = write.catch(() => undefined);
  return write;
}

async function writeNow(storeOptions: StoreOptions, subject: string, bytes: Uint8Array): Promise<void> {
  const store = await openStore(storeOptions, pino({ level: 'silent' }));
  try {
    await store.write(subject, Buffer.from(bytes));
  } finally {
    await store.close();
  }
}
