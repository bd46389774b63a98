// Environment variables other than those of options, and the environment of child processes. Only this folder reads `process.env`.
import { hostname, userInfo } from 'node:os';
import { limits, KIB } from '../shared/index.js';
import { closestName } from './closest-name.js';
import { environmentVariable, type Option } from './option.js';

// Variables with the program's prefix that no command reads are faults: a misspelled one would silently leave its option at the default.

const VARIABLE_PREFIX = 'SWITCHYARD_';

/** The variable with a command's token. A token is never on the command line, which every user of the machine can read. */
export const TOKEN_VARIABLE = `${VARIABLE_PREFIX}TOKEN`;

/** Faults for variables that nothing reads, one line each. @param options the options of all commands. */
export function unknownVariableFaults(environment: NodeJS.ProcessEnv, options: readonly Option<unknown>[]): string[] {
  const knownVariables = new Set([TOKEN_VARIABLE, ...options.map(({ name }) => environmentVariable(name))]);
  return Object.entries(environment).flatMap(([name, value = '']) => {
    if (!name.startsWith(VARIABLE_PREFIX) || value === '' || knownVariables.has(name) || isSetByKubernetes(name, value))
      return [];
    const meant = closestName(name, knownVariables);
    return [
      `${name}: no option reads it; ${meant === undefined ? 'remove it' : `correct it to ${meant}, or remove it`}`,
    ];
  });
}

/**
 * Whether Kubernetes has set the variable to describe a service named `switchyard`: SWITCHYARD_SERVICE_HOST,
 * SWITCHYARD_PORT=tcp://10.0.0.1:8001, SWITCHYARD_PORT_8001_TCP_ADDR.
 */
function isSetByKubernetes(name: string, value: string): boolean {
  if (/_SERVICE_(?:HOST|PORT(?:_\w+)?)$/.test(name)) return true;
  return (
    /_PORT_\d+_(?:TCP|UDP|SCTP)(?:_(?:PROTO|PORT|ADDR))?$/.test(name) ||
    (/_PORT$/.test(name) && /^\w+:\/\//.test(value))
  );
}

/** glibc returns allocations of this size or more to the kernel when they are freed; smaller ones may stay resident for long. */
const MMAP_THRESHOLD_BYTES = 12 * KIB;

/** What systemd expects of this process, according to the environment variables that systemd has set. */
export function serviceManager(environment: NodeJS.ProcessEnv = process.env): {
  readonly notifySocket: string | undefined;
  /** Within how many milliseconds systemd expects the next notification; `undefined` if it expects none. */
  readonly watchdogMs: number | undefined;
} {
  const { NOTIFY_SOCKET: socket = '', WATCHDOG_USEC: micros = '', WATCHDOG_PID: pid = '' } = environment;
  // A WATCHDOG_PID of another process means that the variables are inherited, and not for this process.
  const isOurs = pid === '' || Number(pid) === process.pid;
  const watchdogMs = isOurs && /^[1-9]\d{0,14}$/.test(micros) ? Number(micros) / 1_000 : undefined;
  return { notifySocket: socket === '' ? undefined : socket, watchdogMs };
}

const SYSTEMD_VARIABLES: ReadonlySet<string> = new Set(['NOTIFY_SOCKET', 'WATCHDOG_USEC', 'WATCHDOG_PID']);

/** The environment for child processes: without the program's own variables, and without those of systemd. */
export function childEnvironment(environment: NodeJS.ProcessEnv = process.env): NodeJS.ProcessEnv {
  const isForChild = (name: string): boolean => !name.startsWith(VARIABLE_PREFIX) && !SYSTEMD_VARIABLES.has(name);
  return Object.fromEntries(Object.entries(environment).filter(([name]) => isForChild(name)));
}

/** A worker's environment. A worker gets its options in a message, but uWebSockets.js reads its header limit from a variable. */
export function workerEnvironment(environment: NodeJS.ProcessEnv = process.env): NodeJS.ProcessEnv {
  return {
    MALLOC_MMAP_THRESHOLD_: String(MMAP_THRESHOLD_BYTES),
    ...childEnvironment(environment),
    UWS_HTTP_MAX_HEADERS_SIZE: String(limits.requestHeaderBytesMax),
  };
}

/** The name of the user who runs a command, for the audit list; with sudo, also the name of the user who called sudo. */
export function operatorName(environment: NodeJS.ProcessEnv = process.env): string {
  const { SUDO_USER: sudoer = '' } = environment;
  const user = `${localUser()}@${hostname()}`;
  return `${sudoer === '' ? user : `${sudoer} as ${user}`} (command line)`;
}

/** The name of this process's user, or its number: in a container, a user may have no name. */
function localUser(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.() ?? 'unknown'}`;
  }
}
