// What compositions refuse, in words for people. Faults of the store are `RecordStoreFault`s and pass through.

export type CompositionFaultCode =
  'not-found' | 'name-taken' | 'invalid' | 'compositions-full' | 'changed-meanwhile' | 'not-owned';

export class CompositionFault extends Error {
  override readonly name = 'CompositionFault';
  readonly code: CompositionFaultCode;
  /** The member of the input at fault, as in `name` or `servers.0.tools`; with `invalid` only. */
  readonly member: string | undefined;

  constructor(code: CompositionFaultCode, message: string, member?: string) {
    super(message);
    this.code = code;
    this.member = member;
  }
}
