// Who sends a request, and what they may change: what an editor creates belongs to the editor and to one of the editor's
// teams. If roles are not taken from tokens, nothing has an owner and everybody may change everything. Cold path.
import { limits } from '../../shared/index.js';
import type { Role } from '../../config/index.js';
import { ControlPlaneFault } from './control-plane-fault.js';

export interface Principal {
  readonly subject: string;
  /** `undefined` if the principal has no role. */
  readonly role: Role | undefined;
  readonly teams: readonly string[];
}

/** Both are absent if the entity was made while roles were not taken from tokens. */
export interface Ownership {
  /** The subject that created the entity. */
  readonly owner?: string | undefined;
  readonly team?: string | undefined;
}

/** If roles are not taken from tokens, everybody is an admin. */
export function isAdmin(caller: Principal | undefined): boolean {
  return caller === undefined || caller.role === 'admin';
}

/** @param caller `undefined` if roles are not in use. */
export function mayChange(caller: Principal | undefined, { owner, team }: Ownership): boolean {
  if (caller === undefined || isAdmin(caller)) return true;
  if (caller.role !== 'editor') return false;
  if (owner === undefined && team === undefined) return true;
  return owner === caller.subject || (team !== undefined && caller.teams.includes(team));
}

export function refuseUnowned(noun: string, entity: Ownership & { readonly name: string }, caller?: Principal): void {
  if (mayChange(caller, entity)) return;
  const { name, owner, team } = entity;
  const whose = team === undefined ? `its maker, ${owner ?? 'somebody else'}` : `the team ${team}`;
  throw new ControlPlaneFault(
    'not-owned',
    `The ${noun} ${name} belongs to ${whose}: changing it requires the role admin`,
  );
}

/** @param named the team that the caller names; `null` for none; `undefined` for the caller's only team, if there is just one. */
export function ownershipOfNew(caller: Principal | undefined, named: string | null | undefined): Ownership {
  const [onlyTeam, ...otherTeams] = caller?.teams ?? [];
  const defaultTeam = otherTeams.length === 0 ? onlyTeam : undefined;
  const team = named === undefined ? defaultTeam : (named ?? undefined);
  return { ...(caller !== undefined && { owner: caller.subject }), ...(team !== undefined && { team }) };
}

/** The ownership after a change: the owner stays, and the team may be another. */
export function ownershipAfter({ owner, team }: Ownership, named: string | null | undefined): Ownership {
  const next = named === undefined ? team : (named ?? undefined);
  return { ...(owner !== undefined && { owner }), ...(next !== undefined && { team: next }) };
}

/** What is wrong with the named team, as the rest of a sentence that begins with the member's name; `undefined` if nothing is. */
export function teamFault(named: string | null | undefined): string | undefined {
  if (named === undefined || named === null) return undefined;
  const isValid = named !== '' && named.length <= limits.claimValueCharsMax && !UNREADABLE_CHARS.test(named);
  return isValid ? undefined : `must be 1 to ${limits.claimValueCharsMax} characters of Unicode text, or null`;
}

/** Throws a `ControlPlaneFault` if the caller may not give an entity to the team. @param before the team that the entity has now. */
export function refuseForeignTeam(
  caller: Principal | undefined,
  named: string | null | undefined,
  before?: string,
): void {
  if (named === undefined || named === null || named === before) return;
  if (isAdmin(caller) || caller?.teams.includes(named) === true) return;
  const message = 'team must be one of yours: giving it to another team requires the role admin';
  throw new ControlPlaneFault('not-owned', message);
}

const UNREADABLE_CHARS = /[\p{Cc}\p{Surrogate}]/u;
