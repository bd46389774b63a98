// The program's version, and its exit statuses. Cold path.

/** The version that `--version` and MCP's `serverInfo` report. A test compares it with package.json. */
export const PROGRAM_VERSION = '0.1.0';

/** The exit statuses, from sysexits(3), so that supervisors and scripts can tell reasons apart. */
export const exitStatus = {
  ok: 0,
  /** `servers refresh`: the server could not be read; the report says why. */
  serverUnread: 1,
  /** The command line, or the environment, is wrong. */
  usage: 64,
  /** The control plane refuses the request: a member is wrong, or a name is taken. */
  refused: 65,
  notFound: 66,
  /** A listen address cannot be used: taken, not of this machine, or not permitted. For a command: the control plane fails. */
  unavailable: 69,
  /** A bug in the program; or no worker starts, after all attempts. */
  software: 70,
  /** The directory for hop sockets cannot be created, or that of the embedded store cannot be used or is damaged. */
  cannotCreate: 73,
  /** A temporary failure: too many requests, no store, a refresh is running, or someone changed the same record meanwhile. */
  tryAgain: 75,
  /** The token is missing, invalid or expired, or this address may not connect. */
  notAllowed: 77,
} as const;

export type ExitStatus = (typeof exitStatus)[keyof typeof exitStatus];
