// What keeps a command for people from its end.
import type { exitStatus, ExitStatus } from '../shared/exit-status.js';

/** Those that a command for people ends with. */
export type CliExitStatus = Exclude<ExitStatus, typeof exitStatus.software | typeof exitStatus.cannotCreate>;

/** The message is one line for a person: what cannot be done, and what to do about it. */
export class CliFault extends Error {
  override readonly name = 'CliFault';
  readonly exitStatus: CliExitStatus;

  constructor(exitStatus: CliExitStatus, message: string, cause?: unknown) {
    super(message, { cause });
    this.exitStatus = exitStatus;
  }
}
