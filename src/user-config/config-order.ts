// Which of two compiled configs is the newer reading of the store. A request brings the config that it was admitted by, which may
// be older than what others have brought meanwhile: it was long under way, or long to read.
import type { CompiledUserConfig, CompiledVirtualHost } from './compiled-config.js';

const numbers = new WeakMap<CompiledVirtualHost, number>();
let lastNumber = 0;

/** For a config whose bytes have just been read. */
export function nextConfigNumber(): number {
  lastNumber += 1;
  return lastNumber;
}

/** The config is what those bytes say. */
export function numberConfig(config: CompiledUserConfig, number: number): void {
  for (const virtualHost of config.virtualHosts.values()) numbers.set(virtualHost, number);
}

/** Whether its bytes were read before those of the other; false where that is not known. */
export function isOlder(one: CompiledVirtualHost, other: CompiledVirtualHost): boolean {
  const number = numbers.get(one);
  return number !== undefined && number < (numbers.get(other) ?? 0);
}
