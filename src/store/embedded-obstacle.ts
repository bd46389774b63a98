// Whether an embedded store can be opened or created at a path, as far as this can be found out without creating anything. For `--check`.
// Cold path.
import { accessSync, constants, lstatSync, statfsSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { damageInWords, findObviousDamage, isEmbeddedThere } from './check-embedded.js';

const { R_OK, W_OK, X_OK } = constants;

/** Linux's own file systems, by the type that statfs(2) gives: nobody can keep files in them, whatever their permissions say. */
const KERNEL_FILE_SYSTEMS: ReadonlySet<number> = new Set([
  0x9fa0, // /proc
  0x6265_6572, // /sys
  0x27_e0eb, // cgroups
  0x6367_7270, // cgroups, version 2
  0x6462_6720, // debugfs
  0x7472_6163, // tracefs
  0x7363_6673, // securityfs
]);

/** Why a start would fail at this store, and what to do; `undefined` when nothing is known against it. */
export function embeddedObstacle(path: string): string | undefined {
  try {
    const isThere = isEmbeddedThere(path);
    const damage = isThere ? damageOf(path) : undefined;
    if (damage !== undefined) return damageInWords(path, damage);
    const reason = isThere ? undefined : placeFault(nearestPlace(resolve(path)));
    return reason && inWords(reason);
  } catch (error) {
    return inWords(error instanceof Error ? error.message : String(error));
  }
}

function damageOf(path: string): string | undefined {
  accessSync(join(path, 'data.mdb'), R_OK | W_OK);
  return findObviousDamage(path);
}

/** The path itself if it exists, or else its nearest parent that does. */
function nearestPlace(path: string): string {
  let place = path;
  while (lstatSync(place, { throwIfNoEntry: false }) === undefined) place = dirname(place);
  return place;
}

/** Throws the file system's error when this user may not create anything there. */
function placeFault(place: string): string | undefined {
  const stats = statSync(place, { throwIfNoEntry: false });
  if (stats === undefined) return `${place} is a symbolic link to something that does not exist`;
  if (!stats.isDirectory()) return `${place} is not a directory`;
  accessSync(place, W_OK | X_OK);
  return KERNEL_FILE_SYSTEMS.has(statfsSync(place).type) ? `nothing can be stored in ${place}` : undefined;
}

function inWords(reason: string): string {
  return `the store cannot be opened: ${reason}; give --store-path a directory that this user may write`;
}
