// What keeps a plane from starting at all, with the exit status (sysexits.h) that it ends the program with. Cold.

export const exitStatus = {
  ok: 0,
  /** A listen address cannot be had: taken, not of this machine, or not allowed. */
  unavailable: 69,
  /** No worker starts, however often it is tried. */
  software: 70,
  /** The directory of the hop sockets cannot be made, or that of the embedded store cannot be used or is damaged. */
  cannotCreate: 73,
} as const;

/** The message is one line for a person: what cannot be done, and what to do about it. */
export class StartFault extends Error {
  override readonly name = 'StartFault';
  readonly exitStatus: number;

  constructor(status: 69 | 73, message: string, cause: unknown) {
    super(message, { cause });
    this.exitStatus = status;
  }
}
