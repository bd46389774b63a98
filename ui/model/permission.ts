// What the control plane lets somebody change, so that nothing else is offered: the same rule, for the eye alone.
import type { Caller } from '../api/types.js';

export interface Owned {
  readonly owner?: string;
  readonly team?: string | null;
}

/** Whether somebody may make new things. @param caller `undefined`: not known yet. */
export function mayMake(caller: Caller | undefined): boolean {
  return caller?.role === 'editor' || caller?.role === 'admin';
}

export function mayChange(caller: Caller | undefined, { owner, team }: Owned): boolean {
  if (caller === undefined || !mayMake(caller)) return false;
  if (caller.role === 'admin' || (owner === undefined && team === undefined)) return true;
  return owner === caller.subject || (typeof team === 'string' && caller.teams.includes(team));
}

/** Whose it is, in words; `''` when it is nobody's. */
export function ownerWords({ owner, team }: Owned): string {
  const whose = [
    ...(typeof team === 'string' ? [`the team ${team}`] : []),
    ...(owner === undefined ? [] : [`${owner}, who made it`]),
  ];
  return whose.join(', and ');
}
