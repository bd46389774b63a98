// What the signed-in user may do, as the control plane says.
import { ask } from './api.js';
import { useQuery } from './query.js';
import type { Caller } from './types.js';

/** `undefined` until it is known. */
export function useCaller(): Caller | undefined {
  return useQuery('whoami', async () => (await ask<Caller>('/whoami')).value).value;
}
