// The fault that keeps a plane from starting at all, with the program's exit status. Cold path.
import type { exitStatus } from '../shared/exit-status.js';

/** The message is one line for an operator: what is not possible, and what to do about it. */
export class StartFault extends Error {
  override readonly name = 'StartFault';
  readonly exitStatus: number;

  constructor(status: typeof exitStatus.unavailable | typeof exitStatus.cannotCreate, message: string, cause: unknown) {
    super(message, { cause });
    this.exitStatus = status;
  }
}
