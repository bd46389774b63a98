// What keeps a plane from starting at all, with the exit status that it ends the program with. Cold.
import type { exitStatus } from '../shared/exit-status.js';

/** The message is one line for a person: what cannot be done, and what to do about it. */
export class StartFault extends Error {
  override readonly name = 'StartFault';
  readonly exitStatus: number;

  constructor(status: typeof exitStatus.unavailable | typeof exitStatus.cannotCreate, message: string, cause: unknown) {
    super(message, { cause });
    this.exitStatus = status;
  }
}
