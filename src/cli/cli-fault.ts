// What keeps a command for people from its end, with the exit status (sysexits.h) that it ends the program with.

export const cliExitStatus = {
  done: 0,
  /** `servers refresh`: the server could not be read; the report says why. */
  serverUnread: 1,
  /** The control plane refuses what was said: a member is wrong, or a name is taken. */
  refused: 65,
  notFound: 66,
  /** The control plane cannot be reached, or fails. */
  unavailable: 69,
  /** Not now: too many requests, the store is away, or a refresh is running. */
  tryAgain: 75,
  /** The token is missing, wrong or expired, or not let in from here. */
  notAllowed: 77,
} as const;

export type CliExitStatus = (typeof cliExitStatus)[keyof typeof cliExitStatus];

/** The message is one line for a person: what cannot be done, and what to do about it. */
export class CliFault extends Error {
  override readonly name = 'CliFault';
  readonly exitStatus: CliExitStatus;

  constructor(exitStatus: CliExitStatus, message: string, cause?: unknown) {
    super(message, { cause });
    this.exitStatus = exitStatus;
  }
}
