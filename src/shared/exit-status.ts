// What the program ends with: sysexits(3), so that a supervisor and a script can tell one end from another. Cold.

export const exitStatus = {
  ok: 0,
  /** `servers refresh`: the server could not be read; the report says why. */
  serverUnread: 1,
  /** The command line, or the environment, is wrong. */
  usage: 64,
  /** The control plane refuses what was said: a member is wrong, or a name is taken. */
  refused: 65,
  notFound: 66,
  /** A listen address cannot be had: taken, not of this machine, or not allowed. For a command: the control plane fails. */
  unavailable: 69,
  /** The program is at fault, or no worker starts, however often it is tried. */
  software: 70,
  /** The directory of the hop sockets cannot be made, or that of the embedded store cannot be used or is damaged. */
  cannotCreate: 73,
  /** Not now: too many requests, the store is away, a refresh is running, or somebody has changed the same thing meanwhile. */
  tryAgain: 75,
  /** The token is missing, wrong or expired, or not let in from here. */
  notAllowed: 77,
} as const;

export type ExitStatus = (typeof exitStatus)[keyof typeof exitStatus];
