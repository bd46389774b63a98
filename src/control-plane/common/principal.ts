// The person behind a request, and whether they may change a thing: what editors create belongs to them, and to the one of their teams that
// they name. Only where roles are taken from tokens: elsewhere nothing has an owner, and everybody may change everything. Cold path.
import { limits } from '../../shared/index.js';
import type { Role } from '../../config/index.js';
import { ControlPlaneFault } from './control-plane-fault.js';

export interface Principal {
  readonly subject: string;
  /** `undefined`: no role. */
  readonly role: Role | undefined;
  readonly teams: readonly string[];
}

/** Owner and team of a server or a composition; both are absent if it was made while roles were not taken from tokens. */
export interface Ownership {
  /** The subject that created it. */
  readonly owner?: string | undefined;
  readonly team?: string | undefined;
}

/** Where roles are not taken from tokens, everybody is an admin. */
export function isAdmin(caller: Principal | undefined): boolean {
  return caller === undefined || caller.role === 'admin';
}

/** @param caller `undefined`: roles are not in use, so the caller may change everything. */
export function mayChange(caller: Principal | undefined, { owner, team }: Ownership): boolean {
  if (caller === undefined || isAdmin(caller)) return true;
  if (caller.role !== 'editor') return false;
  if (owner === undefined && team === undefined) return true;
  return owner === caller.subject || (team !== undefined && caller.teams.includes(team));
}

/** Throws a `ControlPlaneFault` if the caller may not change the thing. */
export function refuseUnowned(noun: string, thing: Ownership & { readonly name: string }, caller?: Principal): void {
  if (mayChange(caller, thing)) return;
  const { name, owner, team } = thing;
  const whose = team === undefined ? `its maker, ${owner ?? 'somebody else'}` : `the team ${team}`;
  throw new ControlPlaneFault(
    'not-owned',
    `The ${noun} ${name} belongs to ${whose}: changing it requires the role admin`,
  );
}

/**
 * Ownership of a new thing.
 * @param said the team that the caller names; `undefined`: the caller's only team, if there is exactly one.
 */
export function ownershipOfNew(caller: Principal | undefined, said: string | null | undefined): Ownership {
  const team = said === undefined ? onlyTeamOf(caller) : (said ?? undefined);
  return { ...(caller !== undefined && { owner: caller.subject }), ...(team !== undefined && { team }) };
}

/** Ownership after a change: the owner stays. */
export function ownershipAfter({ owner, team }: Ownership, said: string | null | undefined): Ownership {
  const next = said === undefined ? team : (said ?? undefined);
  return { ...(owner !== undefined && { owner }), ...(next !== undefined && { team: next }) };
}

/** What is wrong with the named team, as words that follow its name; `undefined` when nothing is. */
export function teamFault(said: string | null | undefined): string | undefined {
  if (said === undefined || said === null) return undefined;
  const isRight = said !== '' && said.length <= limits.claimValueCharsMax && !UNREADABLE.test(said);
  return isRight ? undefined : `must be 1 to ${limits.claimValueCharsMax} characters of Unicode text, or null`;
}

/**
 * Throws a `ControlPlaneFault` if the caller may not give a thing to the team. Anyone who may change it may take it from a team.
 * @param before the team that it has now.
 */
export function refuseForeignTeam(
  caller: Principal | undefined,
  said: string | null | undefined,
  before?: string,
): void {
  if (said === undefined || said === null || said === before) return;
  if (isAdmin(caller) || caller?.teams.includes(said) === true) return;
  throw new ControlPlaneFault('not-owned', GIVEN_AWAY);
}

const GIVEN_AWAY = 'team must be one of yours: giving it to another team requires the role admin';

const UNREADABLE = /[\p{Cc}\p{Surrogate}]/u;

function onlyTeamOf(caller: Principal | undefined): string | undefined {
  return caller?.teams.length === 1 ? caller.teams[0] : undefined;
}
