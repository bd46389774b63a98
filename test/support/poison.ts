// Loaded into every process of the test suite before anything else (`--import`, by test/runner): memory that is used again is
// filled with nonsense as soon as it comes back, so that whoever still reads it is seen to.
import { subscribe } from 'node:diagnostics_channel';

export const POISON = 0xdd;

subscribe('switchyard:memory:returned', (memory) => {
  (memory as Uint8Array).fill(POISON);
});
