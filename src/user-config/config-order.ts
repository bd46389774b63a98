// Tells which of two compiled configs was read from the store later. A request carries the config that it was admitted with, which may be
// older than what other requests have brought since, because the request or the reading of the config took long.
import type { CompiledUserConfig, CompiledVirtualHost } from './compiled-config.js';

const numbers = new WeakMap<CompiledVirtualHost, number>();
let lastNumber = 0;

/** The number for a config whose bytes have just been read. */
export function nextConfigNumber(): number {
  lastNumber += 1;
  return lastNumber;
}

/** Numbers a config with the number that was taken when its bytes were read. */
export function numberConfig(config: CompiledUserConfig, number: number): void {
  for (const virtualHost of config.virtualHosts.values()) numbers.set(virtualHost, number);
}

/** Whether the first one's bytes were read before the other's; false when that is not known. */
export function isOlder(one: CompiledVirtualHost, other: CompiledVirtualHost): boolean {
  const number = numbers.get(one);
  return number !== undefined && number < (numbers.get(other) ?? 0);
}
