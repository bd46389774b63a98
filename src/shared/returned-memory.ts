// Tells of memory that is about to be used again. Whoever still reads it reads another message's bytes, perhaps another
// tenant's, and only now and then: so in tests it is filled with nonsense at once (test/support/poison.ts). Hot: one look at
// whether anybody listens.
import { channel } from 'node:diagnostics_channel';

export const returnedMemory = channel('switchyard:memory:returned');

/** @param memory nothing refers to any more, all of it. */
export function noteReturned(memory: Uint8Array): void {
  if (returnedMemory.hasSubscribers) returnedMemory.publish(memory);
}
