// Records of one size class, in files that are hash tables: heads first, and behind them one cell per head. A key has a bucket in every
// file; when the bucket is full in one file, the next file is used. A record is found, written and removed with a read and a write or two
// in an open file, and no location is cached, so processes that share the folder see each other's changes. Cold path: a few times per
// session.
//
//   free ──put: the body first, then the head──> live ──cleared, or its time is over──> free
import { closeSync, constants, fstatSync, ftruncateSync, openSync, readSync, writeSync } from 'node:fs';

/**
 * Files of one slot for records of one size in the gateway's own directory; the largest files have room for 65,536 records each. When all
 * are full, the record is not written.
 */
const SESSION_RECORD_FILES_MAX = 64;

/** A head: expiry on the wall clock (0 for a free cell), version, length of the body, key. */
const VERSION_AT = 8;
const LENGTH_AT = 12;
const KEY_AT = 16;
const KEY_BYTES = 32;
const HEAD_BYTES = KEY_AT + KEY_BYTES;

const CELLS_PER_BUCKET = 16;
const BUCKET_BYTES = CELLS_PER_BUCKET * HEAD_BYTES;
/** Cells of the first file; each further file has four times as many as its predecessor, up to CELLS_MAX. */
const CELLS_MIN = 4_096;
const CELLS_MAX = 65_536;
const FILE_MODE = 0o600;

/** Location of a live record, valid until the next write. */
export interface RecordPlace {
  readonly version: number;
  readonly cells: RecordCells;
  readonly file: CellFile;
  readonly cell: number;
  readonly length: number;
}

interface CellFile {
  readonly descriptor: number;
  readonly cellCount: number;
  /** Whether it was written since the last check for emptiness. */
  isWritten: boolean;
}

const heads = Buffer.alloc(BUCKET_BYTES);
const head = Buffer.alloc(HEAD_BYTES);
const expiry = Buffer.alloc(VERSION_AT);
/** The file and bucket whose heads are in `heads`, until the next write. */
let headsFile: CellFile | undefined;
let headsBucket = -1;
const manyHeads = Buffer.alloc(CELLS_MIN * HEAD_BYTES);
const headsView = viewOf(heads);
const manyHeadsView = viewOf(manyHeads);
/** Where a process starts to look for a free cell; two that look at the same moment start at different cells. */
const firstCell = process.pid % CELLS_PER_BUCKET;

export class RecordCells {
  readonly cellBytes: number;
  readonly #path: string;
  readonly #files: CellFile[] = [];
  #lastLooked = 0;

  /** @param path the path of its files without their number: `.0`, `.1` and so on are appended. */
  constructor(path: string, cellBytes: number) {
    this.#path = path;
    this.cellBytes = cellBytes;
    this.openOthers();
  }

  /** Opens files that another process has created. */
  openOthers(): void {
    while (this.#files.length < SESSION_RECORD_FILES_MAX && this.#tryOpen(constants.O_RDWR));
  }

  /** Adds every live record with that key: two when a process was killed between writing a record and freeing its predecessor. */
  collect(key: Buffer, places: RecordPlace[]): void {
    const nowMs = Date.now();
    for (const file of this.#files) {
      readBucket(file, key);
      for (let index = 0; index < CELLS_PER_BUCKET; index += 1) {
        const at = index * HEAD_BYTES;
        if (hasKey(at, key) && isLive(headsView, at, nowMs)) places.push(this.#placeAt(file, key, index));
      }
    }
  }

  #placeAt(file: CellFile, key: Buffer, index: number): RecordPlace {
    const at = index * HEAD_BYTES;
    const cell = bucketOf(file, key) * CELLS_PER_BUCKET + index;
    const [version, length] = [heads.readUInt32BE(at + VERSION_AT), heads.readUInt32BE(at + LENGTH_AT)];
    return { version, cells: this, file, cell, length };
  }

  /** @returns `undefined` when the body is incomplete. */
  body({ file, cell, length }: RecordPlace): Buffer | undefined {
    const bytes = Buffer.allocUnsafe(Math.min(length, this.cellBytes));
    const count = readSync(file.descriptor, bytes, 0, bytes.length, this.#bodyAt(file, cell));
    return count === length ? bytes : undefined;
  }

  /**
   * Call it right after `collect` for the same key: the last bucket that `collect` read is not read again.
   * @throws when there is no room; then nothing of the record is stored.
   */
  put(key: Buffer, version: number, body: Buffer, expiresAtMs: number): void {
    for (let number = 0; number < SESSION_RECORD_FILES_MAX; number += 1) {
      const file = this.#files[number] ?? this.#make();
      const cell = freeCell(file, key);
      if (cell === undefined) continue;
      file.isWritten = true;
      writeAll(file, body, this.#bodyAt(file, cell));
      head.writeDoubleBE(expiresAtMs);
      head.writeUInt32BE(version, VERSION_AT);
      head.writeUInt32BE(body.length, LENGTH_AT);
      key.copy(head, KEY_AT);
      writeAll(file, head, cell * HEAD_BYTES);
      return;
    }
    throw new Error('no room for the record of a session');
  }

  /** @param expiresAtMs 0 to free the cell. */
  setExpiry({ file, cell }: RecordPlace, expiresAtMs: number): void {
    expiry.writeDoubleBE(expiresAtMs);
    writeAll(file, expiry, cell * HEAD_BYTES);
  }

  /** Truncates the next file in turn if it holds no live record. Closes all files if any was deleted, so that new ones are created. */
  tidy(): void {
    if (this.#files.length === 0) return;
    if (this.#files.some((file) => fstatSync(file.descriptor).nlink === 0)) return this.close();
    this.#lastLooked = (this.#lastLooked + 1) % this.#files.length;
    const file = this.#files[this.#lastLooked];
    if (file === undefined) return;
    if (!file.isWritten && fstatSync(file.descriptor).size > 0 && isEmpty(file)) ftruncateSync(file.descriptor);
    file.isWritten = false;
  }

  close(): void {
    for (const { descriptor } of this.#files.splice(0)) closeSync(descriptor);
  }

  #bodyAt(file: CellFile, cell: number): number {
    return file.cellCount * HEAD_BYTES + cell * this.cellBytes;
  }

  #make(): CellFile {
    const file = this.#tryOpen(constants.O_RDWR | constants.O_CREAT);
    if (file === undefined) throw new Error('the folder of the records of sessions is gone');
    return file;
  }

  /** Never follows a symbolic link. @returns `undefined` when the file or its folder does not exist. */
  #tryOpen(flags: number): CellFile | undefined {
    const number = this.#files.length;
    try {
      const descriptor = openSync(`${this.#path}.${number}`, flags | constants.O_NOFOLLOW, FILE_MODE);
      const file = { descriptor, cellCount: Math.min(CELLS_MIN * 4 ** number, CELLS_MAX), isWritten: false };
      this.#files.push(file);
      return file;
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
      throw error;
    }
  }
}

function bucketOf(file: CellFile, key: Buffer): number {
  return key.readUInt32BE() % (file.cellCount / CELLS_PER_BUCKET);
}

/** Reads a bucket into `heads`; a part that the file does not reach yet counts as free. */
function readBucket(file: CellFile, key: Buffer): void {
  const bucket = bucketOf(file, key);
  const count = readSync(file.descriptor, heads, 0, BUCKET_BYTES, bucket * BUCKET_BYTES);
  heads.fill(0, count);
  headsFile = file;
  headsBucket = bucket;
}

/** A free cell of the key's bucket, as `collect` read it if that was the last bucket read. */
function freeCell(file: CellFile, key: Buffer): number | undefined {
  if (headsFile !== file || headsBucket !== bucketOf(file, key)) readBucket(file, key);
  const nowMs = Date.now();
  for (let count = 0; count < CELLS_PER_BUCKET; count += 1) {
    const index = (firstCell + count) % CELLS_PER_BUCKET;
    if (!isLive(headsView, index * HEAD_BYTES, nowMs)) return bucketOf(file, key) * CELLS_PER_BUCKET + index;
  }
  return undefined;
}

function viewOf({ buffer, byteOffset, byteLength }: Buffer): DataView {
  return new DataView(buffer, byteOffset, byteLength);
}

function isLive(bytes: DataView, at: number, nowMs: number): boolean {
  return bytes.getFloat64(at) > nowMs;
}

function hasKey(at: number, key: Buffer): boolean {
  if (headsView.getUint32(at + KEY_AT) !== key.readUInt32BE()) return false;
  return heads.compare(key, 0, KEY_BYTES, at + KEY_AT, at + HEAD_BYTES) === 0;
}

function isEmpty(file: CellFile): boolean {
  const nowMs = Date.now();
  for (let begun = 0; begun < file.cellCount; begun += CELLS_MIN) {
    const count = readSync(file.descriptor, manyHeads, 0, manyHeads.length, begun * HEAD_BYTES);
    for (let at = 0; at + HEAD_BYTES <= count; at += HEAD_BYTES) if (isLive(manyHeadsView, at, nowMs)) return false;
  }
  return true;
}

function writeAll(file: CellFile, bytes: Buffer, at: number): void {
  headsFile = undefined;
  const count = writeSync(file.descriptor, bytes, 0, bytes.length, at);
  if (count < bytes.length) throw new Error('no room for the record of a session');
}
