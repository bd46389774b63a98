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

/** Whether the caller is an admin. If roles are not taken from tokens (`undefined`), everybody is. */
export function isAdmin(caller: Principal | undefined): boolean {
  return caller === undefined || caller.role === 'admin';
}

/** Whether the caller may change the entity. @param caller `undefined` if roles are not in use. */
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

/** The ownership of a new entity. @param requestedTeam `null` for none; if `undefined`, the caller's team, if there is only one. */
export function ownershipOfNew(caller: Principal | undefined, requestedTeam: string | null | undefined): Ownership {
  const [onlyTeam, ...otherTeams] = caller?.teams ?? [];
  const defaultTeam = otherTeams.length === 0 ? onlyTeam : undefined;
  const team = requestedTeam === undefined ? defaultTeam : (requestedTeam ?? undefined);
  return { ...(caller !== undefined && { owner: caller.subject }), ...(team !== undefined && { team }) };
}

/** The ownership after a change: the owner stays. @param requestedTeam `null` for none; `undefined` if the team stays, too. */
export function ownershipAfter({ owner, team }: Ownership, requestedTeam: string | null | undefined): Ownership {
  const next = requestedTeam === undefined ? team : (requestedTeam ?? undefined);
  return { ...(owner !== undefined && { owner }), ...(next !== undefined && { team: next }) };
}

/** What is wrong with the name of a team, as a text that follows the member's name: `must be …`; `undefined` if it is valid. */
export function teamFault(team: string | null | undefined): string | undefined {
  if (team === undefined || team === null) return undefined;
  const isValid = team !== '' && team.length <= limits.claimValueCharsMax && !UNREADABLE_CHARS.test(team);
  return isValid ? undefined : `must be 1 to ${limits.claimValueCharsMax} characters of Unicode text, or null`;
}

/** Throws a `ControlPlaneFault` if the caller may not give an entity to the team. @param currentTeam the entity's team so far. */
export function refuseForeignTeam(
  caller: Principal | undefined,
  team: string | null | undefined,
  currentTeam?: string,
): void {
  if (team === undefined || team === null || team === currentTeam) return;
  if (isAdmin(caller) || caller?.teams.includes(team) === true) return;
  const message = 'team must be one of yours: giving it to another team requires the role admin';
  throw new ControlPlaneFault('not-owned', message);
}

const UNREADABLE_CHARS = /[\p{Cc}\p{Surrogate}]/u;
