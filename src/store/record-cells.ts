// Records of one size class in files that are hash tables: heads in front, and behind them a cell for each. A key has its
// bucket in every file; when that is full in one, the next file has room. So a record is found, written and removed by a read and
// a write or two in a file that is open, and nothing is remembered of what lies where: processes that share the folder see what
// the others did. Cold: a few times a session.
//
//   free ──put: the body first, then the head──> live ──cleared, or its time is over──> free
import { closeSync, constants, fstatSync, ftruncateSync, openSync, readSync, writeSync } from 'node:fs';
import { limits } from '../shared/limits.js';

/** A head: when it expires, on the wall clock, and 0 for a free cell; version; length of the body; key. */
const VERSION_AT = 8;
const LENGTH_AT = 12;
const KEY_AT = 16;
const KEY_BYTES = 32;
const HEAD_BYTES = KEY_AT + KEY_BYTES;

const CELLS_PER_BUCKET = 16;
const BUCKET_BYTES = CELLS_PER_BUCKET * HEAD_BYTES;
/** Of the first file; each has four times as many as the one before it, until the largest. */
const CELLS_MIN = 4_096;
const CELLS_MAX = 65_536;
const FILE_MODE = 0o600;

/** Where a live record is. It holds until something is written. */
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
  /** Since the last look at whether it is empty. */
  isWritten: boolean;
}

const heads = Buffer.alloc(BUCKET_BYTES);
const head = Buffer.alloc(HEAD_BYTES);
const expiry = Buffer.alloc(VERSION_AT);
/** Which bucket of which file is in `heads`, until something is written. */
let headsFile: CellFile | undefined;
let headsBucket = -1;
const manyHeads = Buffer.alloc(CELLS_MIN * HEAD_BYTES);
const headsView = viewOf(heads);
const manyHeadsView = viewOf(manyHeads);
/** Two processes that look for a free cell at the same moment begin at different ones. */
const firstCell = process.pid % CELLS_PER_BUCKET;

export class RecordCells {
  readonly cellBytes: number;
  readonly #path: string;
  readonly #files: CellFile[] = [];
  #lastLooked = 0;

  /** @param path where its files are, each with its number behind it. */
  constructor(path: string, cellBytes: number) {
    this.#path = path;
    this.cellBytes = cellBytes;
    this.openOthers();
  }

  /** Opens files that another process has made. */
  openOthers(): void {
    while (this.#files.length < limits.sessionRecordFilesMax && this.#tryOpen(constants.O_RDWR));
  }

  /** Adds every live record with that key: there are two where a process was killed between a write and what it replaced. */
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

  /** @returns `undefined` when it is not all there. */
  body({ file, cell, length }: RecordPlace): Buffer | undefined {
    const bytes = Buffer.allocUnsafe(Math.min(length, this.cellBytes));
    const count = readSync(file.descriptor, bytes, 0, bytes.length, this.#bodyAt(file, cell));
    return count === length ? bytes : undefined;
  }

  /**
   * Right behind `collect` of that key: what that has seen of the last file it looked at is not read again.
   * @throws when there is no room: nothing of it is there then.
   */
  put(key: Buffer, version: number, body: Buffer, expiresAtMs: number): void {
    for (let number = 0; number < limits.sessionRecordFilesMax; number += 1) {
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

  /** Looks at one file: one without a record gives its room back. When somebody has removed the files, new ones are made. */
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

  /** Never what a link leads to: whatever that is, it is no file of records. @returns `undefined` where the file, or its folder, is not there. */
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

/** Into `heads`: what the file does not have yet is free. */
function readBucket(file: CellFile, key: Buffer): void {
  const bucket = bucketOf(file, key);
  const count = readSync(file.descriptor, heads, 0, BUCKET_BYTES, bucket * BUCKET_BYTES);
  heads.fill(0, count);
  headsFile = file;
  headsBucket = bucket;
}

/** In the bucket as it was read to find out what is there of that key, if that was the last that was read. */
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
