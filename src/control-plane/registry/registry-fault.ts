// What the registry refuses, in words for people. Faults of the store are `RecordStoreFault`s and pass through.
import { GIVEN_AWAY, mayChange, mayGiveTo, ownedWords, type Caller } from '../caller.js';
import { CHANGED_MEANWHILE, serverTag, type ChangeCondition } from '../change-condition.js';
import type { ServerRecord } from './server-record.js';

export type RegistryFaultCode =
  | 'not-found'
  | 'name-taken'
  | 'prefix-taken'
  | 'refresh-running'
  | 'invalid'
  | 'registry-full'
  | 'changed-meanwhile'
  | 'not-owned';

export class RegistryFault extends Error {
  override readonly name = 'RegistryFault';
  readonly code: RegistryFaultCode;
  /** The member of the input at fault, as in `url` or `tags.2`; with `invalid`, `name-taken` and `prefix-taken`. */
  readonly member: string | undefined;

  constructor(code: RegistryFaultCode, message: string, member?: string) {
    super(message);
    this.code = code;
    this.member = member;
  }
}

export function refuseChanged(record: ServerRecord, condition: ChangeCondition): void {
  if (condition.isMetBy(serverTag(record))) return;
  throw new RegistryFault('changed-meanwhile', `The server ${record.name} ${CHANGED_MEANWHILE}`);
}

export function refuseUnowned(record: ServerRecord, caller: Caller | undefined): void {
  if (!mayChange(caller, record)) throw new RegistryFault('not-owned', ownedWords('server', record.name, record));
}

/** @param before the team that it has. */
export function refuseGivenAway(caller: Caller | undefined, team: string | null | undefined, before?: string): void {
  if (!mayGiveTo(caller, team, before)) throw new RegistryFault('not-owned', GIVEN_AWAY, 'team');
}

export function notFound(reference: string): RegistryFault {
  return new RegistryFault('not-found', `Server not found: ${reference}`);
}
