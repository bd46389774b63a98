// What a verified token says of its bearer beside the name: a role and teams, from claims that the operator names. A claim counts
// only if it is a string or a list of strings within bounds; otherwise it is treated as absent. Cold path: once per token.
import type { StandingClaims } from '../config/dataplane-options.js';
import { limits } from '../shared/limits.js';
import { roles, type Role } from '../shared/roles.js';

/** Values in a claim of roles or teams. Beyond it, the claim is ignored: no role, no team. */
export const CLAIM_VALUES_MAX = 256;

export interface Standing {
  /** The highest role that the token names; `undefined` when it names none. */
  readonly role: Role | undefined;
  /** Without duplicates. */
  readonly teams: readonly string[];
}

/** Claims whose value is a space-separated list (RFC 8693 section 4.2, and the non-standard `scp`). */
const SPACED = new Set(['scope', 'scp']);

export function standingOf(payload: object, { role, teams, roleNames }: StandingClaims): Standing {
  const named = new Set(textsAt(payload, role));
  return Object.freeze({
    role: roles.findLast((each) => roleNames[each].some((name) => named.has(name))),
    teams: Object.freeze(teams === undefined ? [] : [...new Set(textsAt(payload, teams))]),
  });
}

function textsAt(payload: object, path: readonly string[]): readonly string[] {
  const value = valueAt(payload, path);
  if (typeof value === 'string') {
    return within(SPACED.has(path.at(-1)!) ? value.split(' ').filter((text) => text !== '') : [value]);
  }
  return Array.isArray(value) ? within(value) : [];
}

/** Own members only: inherited properties are not claims. */
function valueAt(payload: object, path: readonly string[]): unknown {
  let value: unknown = payload;
  for (const step of path) {
    if (typeof value !== 'object' || value === null || Array.isArray(value) || !Object.hasOwn(value, step)) {
      return undefined;
    }
    value = (value as Readonly<Record<string, unknown>>)[step];
  }
  return value;
}

/** All values or none: using part of a malformed list would be a guess. */
function within(values: readonly unknown[]): readonly string[] {
  if (values.length > CLAIM_VALUES_MAX) return [];
  const texts = values.filter((value) => typeof value === 'string');
  const areRight = texts.every((text) => text !== '' && text.length <= limits.claimValueCharsMax);
  return areRight && texts.length === values.length ? texts : [];
}
