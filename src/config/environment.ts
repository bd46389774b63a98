// What the environment says beside the options, and what of it the workers get. `process.env` is read in this folder
// and nowhere else.
import { hostname, userInfo } from 'node:os';
import { limits } from '../shared/limits.js';

/** What systemd wants to be told, and where; nothing when it did not start us. */
export function serviceManager(environment: NodeJS.ProcessEnv = process.env): {
  readonly notifySocket: string | undefined;
  /** Within so long after each other it wants signs of life. */
  readonly watchdogMs: number | undefined;
} {
  const { NOTIFY_SOCKET: socket = '', WATCHDOG_USEC: micros = '', WATCHDOG_PID: pid = '' } = environment;
  // Where it is somebody else's, we have inherited it.
  const isOurs = pid === '' || Number(pid) === process.pid;
  const watchdogMs = isOurs && /^[1-9]\d{0,14}$/.test(micros) ? Number(micros) / 1_000 : undefined;
  return { notifySocket: socket === '' ? undefined : socket, watchdogMs };
}

const SYSTEMD_VARIABLES: ReadonlySet<string> = new Set(['NOTIFY_SOCKET', 'WATCHDOG_USEC', 'WATCHDOG_PID']);

/** The environment of a child process: nothing of ours is left in it, and it has nothing to say to systemd. */
export function childEnvironment(environment: NodeJS.ProcessEnv = process.env): NodeJS.ProcessEnv {
  const kept = Object.entries(environment).filter(
    ([name]) => !name.startsWith('SWITCHYARD_') && !SYSTEMD_VARIABLES.has(name),
  );
  return Object.fromEntries(kept);
}

/**
 * The environment of a worker, which gets its options as a message. uWebSockets.js reads its header limit from here, and
 * glibc from how many bytes on memory is asked of the kernel, and given back to it, by itself.
 */
export function workerEnvironment(environment: NodeJS.ProcessEnv = process.env): NodeJS.ProcessEnv {
  return {
    MALLOC_MMAP_THRESHOLD_: String(limits.memoryReturnedFromBytes),
    ...childEnvironment(environment),
    UWS_HTTP_MAX_HEADERS_SIZE: String(limits.requestHeaderBytesMax),
  };
}

/** Who runs a command, for those who look later: the user of this machine, and behind sudo the one who asked it. */
export function operatorName(environment: NodeJS.ProcessEnv = process.env): string {
  const { SUDO_USER: sudoer = '' } = environment;
  const user = `${localUser()}@${hostname()}`;
  return `${sudoer === '' ? user : `${sudoer} as ${user}`} (command line)`;
}

/** In a container it need not have a name. */
function localUser(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.() ?? 'unknown'}`;
  }
}
