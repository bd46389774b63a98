// Announces memory that is about to be reused. Code that still reads it would read another message's bytes, perhaps another tenant's, and
// only now and then; so tests overwrite it with nonsense at once (test/support/poison.ts). Hot path: one check for subscribers.
import { channel } from 'node:diagnostics_channel';

export const returnedMemory = channel('switchyard:memory:returned');

/** @param memory all of it, with no references left. */
export function noteReturned(memory: Uint8Array): void {
  if (returnedMemory.hasSubscribers) returnedMemory.publish(memory);
}
