// Preloaded into every process of the test suite (`--import`, by test/runner): fills reused memory with nonsense as soon as
// it is returned, so that code that still reads it fails visibly.
import { subscribe } from 'node:diagnostics_channel';

export const POISON = 0xdd;

subscribe('switchyard:memory:returned', (memory) => {
  (memory as Uint8Array).fill(POISON);
});
