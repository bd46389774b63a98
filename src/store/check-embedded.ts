// Recognises a damaged embedded store before it is opened. LMDB maps its file into memory and trusts it: a truncated file kills the
// process (SIGBUS), and a file whose root was overwritten looks empty. Cold path.
import { execFile } from 'node:child_process';
import { closeSync, openSync, readSync, statSync, accessSync, constants, lstatSync, statfsSync } from 'node:fs';
import { join, dirname, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { makeDirectory } from '../shared/index.js';

/** How long reading a whole store at start-up may take. After that, the store is opened although its rest was not checked. */
const STORE_PROBE_MS_MAX = 20_000;
/** How often the size of an empty file is read: another process may be filling it. If it stays empty, the store counts as damaged. */
const EMPTY_STORE_CHECKS_MAX = 20;
const EMPTY_STORE_CHECK_MS = 50;

const PROBE_PATH = fileURLToPath(new URL('embedded-probe.js', import.meta.url));

/** Byte offsets of values in LMDB's two meta pages, which describe the file. `bytes` is how much of a page is read. */
const META = { flags: 18, magic: 24, version: 28, pageBytes: 48, lastPage: 144, transaction: 152, bytes: 160 } as const;
const META_FLAG = 0x08;
const LMDB_MAGIC = 0xbeef_c0de;
const LMDB_VERSION = 2;
const PAGE_BYTES_MIN = 256;
const PAGE_BYTES_MAX = 65_536;

export class StoreDamage extends Error {
  override readonly name = 'StoreDamage';
}

/** Whether the directory has a store, complete or being created. Also true if that cannot be found out, for lack of permission. */
export function hasEmbeddedStore(path: string): boolean {
  try {
    return statSync(join(path, 'data.mdb'), { throwIfNoEntry: false }) !== undefined;
  } catch (error) {
    return !(error instanceof Error && 'code' in error && error.code === 'ENOTDIR');
  }
}

interface MetaPage {
  readonly pageBytes: number;
  readonly lastPage: bigint;
}

/**
 * Checks that every entry of the store can be read, as far as time allows. Creates the directory if there is no store yet.
 * @throws {StoreDamage} for a damaged store, with a message for an operator; the file system's error when its file cannot be read.
 */
export async function checkEmbedded(path: string, probeMsMax: number = STORE_PROBE_MS_MAX): Promise<void> {
  const file = join(path, 'data.mdb');
  let bytes = fileBytes(file);
  for (let look = 1; bytes === 0 && look < EMPTY_STORE_CHECKS_MAX; look++) {
    await sleep(EMPTY_STORE_CHECK_MS);
    bytes = fileBytes(file);
  }
  if (bytes === undefined) {
    makeDirectory(path);
    return;
  }
  const damage =
    bytes === 0 ? 'data.mdb is empty' : (findDamageInMeta(file) ?? (await findDamageInEntries(path, probeMsMax)));
  if (damage === undefined) return;
  throw new StoreDamage(damageInWords(path, damage));
}

export function damageInWords(path: string, damage: string): string {
  return `the embedded store in ${path} is damaged: ${damage}. Restore its files from a copy, or move them away to start with an empty store`;
}

/** The damage that the file's size and first pages reveal, such as a truncated file; `undefined` for none. */
export function findObviousDamage(path: string): string | undefined {
  const file = join(path, 'data.mdb');
  const bytes = fileBytes(file);
  // An empty file is a store that is being created.
  return bytes === undefined || bytes === 0 ? undefined : findDamageInMeta(file);
}

function fileBytes(file: string): number | undefined {
  return statSync(file, { throwIfNoEntry: false })?.size;
}

function findDamageInMeta(file: string): string | undefined {
  const descriptor = openSync(file, 'r');
  try {
    const first = readMeta(descriptor, 0);
    if (typeof first === 'string') return first;
    const second = readMeta(descriptor, first.pageBytes);
    if (typeof second === 'string') return second;
    const lastPage = first.lastPage > second.lastPage ? first.lastPage : second.lastPage;
    const neededBytes = (lastPage + 1n) * BigInt(first.pageBytes);
    const bytes = fileBytes(file) ?? 0; // measured after the pages were read: a store in use only grows
    return bytes < neededBytes ? `data.mdb has ${bytes} bytes and should have ${neededBytes}` : undefined;
  } finally {
    closeSync(descriptor);
  }
}

/** Reads a meta page. @returns its values, or a text that says what is wrong with the page. */
function readMeta(descriptor: number, offset: number): MetaPage | string {
  const page = Buffer.alloc(META.bytes);
  if (readSync(descriptor, page, 0, META.bytes, offset) < META.bytes) return 'data.mdb ends within its first pages';
  const isMeta = (page.readUInt16LE(META.flags) & META_FLAG) !== 0 && page.readUInt32LE(META.magic) === LMDB_MAGIC;
  if (!isMeta) return 'the first pages of data.mdb are not those of a store';
  const version = page.readUInt32LE(META.version);
  if (version !== LMDB_VERSION) return `data.mdb has format ${version}, and this program reads ${LMDB_VERSION}`;
  const pageBytes = page.readUInt32LE(META.pageBytes);
  const isPageSize =
    pageBytes >= PAGE_BYTES_MIN && pageBytes <= PAGE_BYTES_MAX && Number.isInteger(Math.log2(pageBytes));
  return isPageSize
    ? { pageBytes, lastPage: page.readBigUInt64LE(META.lastPage) }
    : 'data.mdb names an impossible page size';
}

/** Reads every entry in a separate process, because a damaged file may kill its reader. @returns the damage; `undefined` for none. */
async function findDamageInEntries(path: string, withinMs: number): Promise<string | undefined> {
  try {
    const options = { env: {}, timeout: withinMs, killSignal: 'SIGTERM' } as const;
    await promisify(execFile)(process.execPath, [PROBE_PATH, path], options);
    return undefined;
  } catch (error) {
    const { code, signal, killed, stdout } = error as Error & {
      readonly code?: number | string;
      readonly signal?: string;
      readonly killed?: boolean;
      readonly stdout?: string;
    };
    // The other process ran out of time or could not be started, which says nothing about the store.
    if (killed === true || typeof code === 'string') return undefined;
    return stdout?.trim() || `reading it ends with ${signal ?? `status ${code}`}`;
  }
}

const { R_OK, W_OK, X_OK } = constants;

/** Linux's virtual file systems, in which no store can be created, by their type in statfs(2). */
const VIRTUAL_FILE_SYSTEMS: ReadonlySet<number> = new Set([
  0x9fa0, // /proc
  0x6265_6572, // /sys
  0x27_e0eb, // cgroups
  0x6367_7270, // cgroups, version 2
  0x6462_6720, // debugfs
  0x7472_6163, // tracefs
  0x7363_6673, // securityfs
]);

/** Why a start would fail because of this store, and what to do, for `--check`; `undefined` if nothing is found. Creates nothing. */
export function embeddedObstacle(path: string): string | undefined {
  try {
    if (hasEmbeddedStore(path)) {
      accessSync(join(path, 'data.mdb'), R_OK | W_OK);
      const damage = findObviousDamage(path);
      return damage && damageInWords(path, damage);
    }
    const reason = directoryObstacle(nearestExisting(resolve(path)));
    return reason && obstacleText(reason);
  } catch (error) {
    return obstacleText(error instanceof Error ? error.message : String(error));
  }
}

/** The path, or its nearest parent that exists. */
function nearestExisting(path: string): string {
  let existing = path;
  while (lstatSync(existing, { throwIfNoEntry: false }) === undefined) existing = dirname(existing);
  return existing;
}

/** Why no store can be created in the directory. Throws the file system's error when this user may not write there. */
function directoryObstacle(directory: string): string | undefined {
  const stats = statSync(directory, { throwIfNoEntry: false });
  if (stats === undefined) return `${directory} is a symbolic link to something that does not exist`;
  if (!stats.isDirectory()) return `${directory} is not a directory`;
  accessSync(directory, W_OK | X_OK);
  return VIRTUAL_FILE_SYSTEMS.has(statfsSync(directory).type) ? `nothing can be stored in ${directory}` : undefined;
}

function obstacleText(reason: string): string {
  return `the store cannot be opened: ${reason}; give --store-path a directory that this user may write`;
}
