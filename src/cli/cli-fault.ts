// Why an interactive command failed.
import type { exitStatus, ExitStatus } from '../shared/exit-status.js';

/** The exit statuses of interactive commands. */
export type CliExitStatus = Exclude<ExitStatus, typeof exitStatus.software | typeof exitStatus.cannotCreate>;

/** The message is one line for a person: what failed, and what to do about it. */
export class CliFault extends Error {
  override readonly name = 'CliFault';
  readonly exitStatus: CliExitStatus;

  constructor(exitStatus: CliExitStatus, message: string, cause?: unknown) {
    super(message, { cause });
    this.exitStatus = exitStatus;
  }
}
