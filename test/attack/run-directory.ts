// Finds where a gateway keeps the sockets between its workers, from what Linux shows: the program itself is not involved.
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { dirname } from 'node:path';

/** The directory of the Unix sockets that these processes hold open. */
export function runDirectoryOf(pids: readonly number[]): string {
  const inodes = new Set(pids.flatMap(socketInodesOf));
  for (const line of readFileSync('/proc/net/unix', 'latin1').split('\n').slice(1)) {
    const fields = line.trim().split(/\s+/);
    const [inode, path] = [fields[6], fields[7]];
    if (inode !== undefined && path?.startsWith('/') === true && inodes.has(inode)) return dirname(path);
  }
  throw new Error('the workers hold no Unix socket that has a path');
}

function socketInodesOf(pid: number): string[] {
  const directory = `/proc/${pid}/fd`;
  return readdirSync(directory).flatMap((fd) => {
    try {
      return /^socket:\[(\d+)\]$/.exec(readlinkSync(`${directory}/${fd}`))?.[1] ?? [];
    } catch {
      return []; // The file was just closed.
    }
  });
}
