// What the environment says beside the options, and what of it the workers get. `process.env` is read in this folder
// and nowhere else.
import { limits } from '../shared/limits.js';

/** Where systemd wants to be told that the service is ready; `undefined` when it did not start us. */
export function notifySocket(environment: NodeJS.ProcessEnv = process.env): string | undefined {
  return environment['NOTIFY_SOCKET'] || undefined;
}

/** The environment of a child process: nothing of ours is left in it, and it has nothing to say to systemd. */
export function childEnvironment(environment: NodeJS.ProcessEnv = process.env): NodeJS.ProcessEnv {
  const kept = Object.entries(environment).filter(
    ([name]) => !name.startsWith('SWITCHYARD_') && name !== 'NOTIFY_SOCKET',
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
