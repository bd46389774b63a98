// The private directory of the hop sockets: a primary creates it at its start and removes it at its end. The directory of a killed primary
// is removed by the next one. A primary listens on a socket in its directory to show that the directory is in use: unlike a process id,
// this is reliable across namespaces and after a reboot. Cold path.
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { StartFault, isPrivateFolder, preparedSocketPath, RestoredSocket } from '../process/index.js';
import { exitStatus, type Logger } from '../shared/index.js';

/** The longest path of a socket: 108 bytes with the final NUL (unix(7)). With a longer path, the primary does not start. */
export const UNIX_SOCKET_PATH_BYTES_MAX = 107;

/** The most connections to the socket that shows that the directory is in use. Further ones are closed. */
const HOP_DIRECTORY_HOLDER_CONNECTIONS_MAX = 16;
/** The most directories that one start inspects. Further ones stay. */
export const HOP_DIRECTORIES_SWEPT_MAX = 1_000;

const PREFIX = 'switchyard-';
/** The names that mkdtemp(3) makes. */
const DIRECTORY_NAME = /^switchyard-[A-Za-z0-9]{6}$/;
const HOLDER_SOCKET = 'primary.sock';
/** The largest process id on 64-bit Linux (proc(5), kernel.pid_max). */
const PROCESS_ID_MAX = 4_194_304;
const ADVICE = 'set TMPDIR to a short path that is writable';

export interface HopDirectory {
  readonly path: string;
  remove(): Promise<void>;
}

/**
 * Creates the directory in the system's temporary directory (`TMPDIR`), and removes those of killed primaries.
 * @throws {StartFault} when it cannot be created, or its sockets' paths would be too long.
 */
export async function makeHopDirectory(slotCount: number, logger: Logger): Promise<HopDirectory> {
  const parent = tmpdir();
  // mkdtemp(3) replaces the X, and gives the directory mode 0700.
  const longestPath = preparedSocketPath(join(parent, `${PREFIX}XXXXXX`, `slot-${slotCount - 1}.sock`), PROCESS_ID_MAX);
  if (Buffer.byteLength(longestPath) > UNIX_SOCKET_PATH_BYTES_MAX)
    throw new StartFault(exitStatus.cannotCreate, `${longestPath} is too long for a socket: ${ADVICE}`, undefined);
  await removeDeserted(parent, logger);
  let path: string;
  try {
    path = mkdtempSync(join(parent, PREFIX));
  } catch (error) {
    throw new StartFault(exitStatus.cannotCreate, `cannot make a directory in ${parent}: ${ADVICE}`, error);
  }
  const holder = new RestoredSocket(join(path, HOLDER_SOCKET), {
    onConnection: (socket) => socket.destroy(),
    onRecreated: () => logger.warn({ path }, 'the directory of the hop sockets was removed; creating it again'),
    onFault: (reason) => logger.error({ path, reason }, 'the directory of the hop sockets cannot be kept'),
    connectionsMax: HOP_DIRECTORY_HOLDER_CONNECTIONS_MAX,
  });
  const remove = async (): Promise<void> => {
    await holder.close();
    rmSync(path, { recursive: true, force: true });
  };
  try {
    await holder.listen();
  } catch (error) {
    await remove();
    throw new StartFault(exitStatus.cannotCreate, `cannot make a socket in ${path}: ${ADVICE}`, error);
  }
  return { path, remove };
}

/** Removes the directories of this user's killed primaries. A directory that may be in use stays. */
async function removeDeserted(parent: string, logger: Logger): Promise<void> {
  let names: string[];
  try {
    names = readdirSync(parent).filter((name) => DIRECTORY_NAME.test(name));
  } catch {
    return; // Making the directory will report the problem.
  }
  for (const name of names.slice(0, HOP_DIRECTORIES_SWEPT_MAX)) {
    const path = join(parent, name);
    try {
      if (!isPrivateFolder(path) || !(await isDeserted(path))) continue;
      rmSync(path, { recursive: true, force: true });
      logger.info({ path }, 'removed the leftovers of a killed gateway');
    } catch (error) {
      logger.debug({ path, reason: String(error) }, 'a directory is left alone');
    }
  }
}

/** Whether a primary used the directory and none does now. A directory without the socket is just being created, or not a primary's. */
async function isDeserted(path: string): Promise<boolean> {
  const socket = connect(join(path, HOLDER_SOCKET));
  try {
    await once(socket, 'connect'); // comes or fails at once, even if the primary hangs (unix(7))
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ECONNREFUSED';
  } finally {
    socket.destroy();
  }
}
