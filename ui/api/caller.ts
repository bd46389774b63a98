// What the signed-in user may do, according to the control plane.
import { ask } from './api.js';
import { useQuery } from './query.js';
import type { Caller } from './types.js';

/** `undefined` until the control plane has responded. */
export function useCaller(): Caller | undefined {
  return useQuery('whoami', async () => (await ask<Caller>('/whoami')).value).value;
}
