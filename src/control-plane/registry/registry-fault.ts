// What the registry refuses, in words for people. Faults of the store are `RecordStoreFault`s and pass through.

export type RegistryFaultCode =
  'not-found' | 'name-taken' | 'prefix-taken' | 'refresh-running' | 'invalid' | 'registry-full' | 'changed-meanwhile';

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
