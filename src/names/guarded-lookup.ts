// Name look-ups for connections that Node makes itself, such as those of its HTTP client, which has its own way of trying several
// addresses. Refused addresses are refused here too. Cold path.
import { isIP, type LookupFunction } from 'node:net';
import { createGuardedLookup } from './address-guard.js';
import type { Names } from './names.js';

/** @param subject whose share of look-ups this one counts against */
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
