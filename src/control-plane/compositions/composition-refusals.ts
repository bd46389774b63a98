// Why a composition is not made or changed, in words for people.
import { GIVEN_AWAY, mayChange, mayGiveTo, ownedWords, type Caller } from '../caller.js';
import { CHANGED_MEANWHILE, compositionTag, type ChangeCondition } from '../change-condition.js';
import { CompositionFault } from './composition-fault.js';
import type { StoredComposition } from './composition-storage.js';

export function refuseChanged(composition: Parameters<typeof compositionTag>[0], condition: ChangeCondition): void {
  if (condition.isMetBy(compositionTag(composition))) return;
  throw new CompositionFault('changed-meanwhile', `The composition ${composition.name} ${CHANGED_MEANWHILE}`);
}

export function refuseUnowned(composition: StoredComposition, caller: Caller | undefined): void {
  if (mayChange(caller, composition)) return;
  throw new CompositionFault('not-owned', ownedWords('composition', composition.name, composition));
}

/** @param before the team that it has. */
export function refuseGivenAway(caller: Caller | undefined, team: string | null | undefined, before?: string): void {
  if (!mayGiveTo(caller, team, before)) throw new CompositionFault('not-owned', GIVEN_AWAY, 'team');
}

export function nameTaken(name: string): CompositionFault {
  return new CompositionFault('name-taken', `A composition named ${name} is there already`);
}
