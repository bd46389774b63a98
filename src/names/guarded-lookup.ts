// Names for connections that Node makes itself, as those of its HTTP client: it has its own way to try several addresses.
// Addresses that are refused are refused here. Cold.
import { isIP, type LookupFunction } from 'node:net';
import { createGuardedLookup } from './address-guard.js';
import type { Names } from './names.js';

/** @param subject whose share of look-ups it is */
export function guardedLookupOf(names: Names, subject: string): LookupFunction {
  return createGuardedLookup((name, _options, callback) => {
    names.lookUp(name, subject, (outcome) => {
      if (typeof outcome === 'string') {
        const code = outcome === 'not-found' ? 'ENOTFOUND' : 'EAI_AGAIN';
        callback(Object.assign(new Error(`the host name has no address: ${outcome}`), { code }), []);
      } else {
        callback(
          null,
          outcome.map((address) => ({ address, family: isIP(address) })),
        );
      }
    });
  }, names.guard);
}
