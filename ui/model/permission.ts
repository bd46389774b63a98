// The control plane's permission rule, repeated so that the console offers only what is permitted; it enforces nothing.
import type { Caller } from '../api/types.js';

export interface Owned {
  readonly owner?: string;
  readonly team?: string | null;
}

/** Whether the caller may create records. @param caller `undefined`: not known yet. */
export function mayMake(caller: Caller | undefined): boolean {
  return caller?.role === 'editor' || caller?.role === 'admin';
}

export function mayChange(caller: Caller | undefined, { owner, team }: Owned): boolean {
  if (caller === undefined || !mayMake(caller)) return false;
  if (caller.role === 'admin' || (owner === undefined && team === undefined)) return true;
  return owner === caller.subject || (typeof team === 'string' && caller.teams.includes(team));
}

/** Who owns the record, in words; `''` when nobody does. */
export function ownerWords({ owner, team }: Owned): string {
  const whose = [
    ...(typeof team === 'string' ? [`the team ${team}`] : []),
    ...(owner === undefined ? [] : [`${owner}, who made it`]),
  ];
  return whose.join(', and ');
}
