// Writes the events of one stream as fast as the caller reads them. Only a write shows whether the library holds something back. So it
// gets slices, and when there is nothing to write, a comment line between events. Hot path: an event of usual size is one write.
import { keepAliveComment } from '../bytes/index.js';
import { JOINED_EVENT_BYTES_MAX } from '../exchange/index.js';
import type { HttpResponse } from './http-library.js';

/** Bytes written at once. With the head they fit into the 16 KiB that the library gathers: beyond these, it may lose bytes. */
const SLICE_BYTES = 14 * 1024;
/** How much the library is given to find out whether it still holds something back. */
const PROBE_BYTES = 1024;
const NO_BYTES = new Uint8Array(0);
const LINE_FEED = 10;

export class StreamWriter {
  readonly #res: HttpResponse;
  /** The function that writes the head, which goes out with the first bytes; then `undefined`. */
  #writeHead: (() => void) | undefined;
  /** The bytes that wait until the library takes more. */
  #unwritten: Uint8Array = NO_BYTES;
  /** Whether the library held something back at the last write. Changed only here, like `writtenBytes`. */
  isBlocked = false;
  /** Whether the last event is whole: over a hop, an event may arrive in parts. */
  #isBetweenEvents = true;
  /** How many bytes the library was given in total. */
  writtenBytes = 0;

  /** @param writeHead called within a `cork`, before the first bytes. */
  constructor(res: HttpResponse, writeHead: () => void) {
    this.#res = res;
    this.#writeHead = writeHead;
  }

  /** Whether the response may be ended while the library holds something back: it has all bytes, and holds back few. */
  get canEndWhileBlocked(): boolean {
    return this.#unwritten.length === 0 && this.writtenBytes <= SLICE_BYTES;
  }

  /** Writes bytes, all of which are accepted. @returns false if they must not change until `writeMore` returns true. */
  write(bytes: Uint8Array): boolean {
    this.#isBetweenEvents = bytes.at(-1) === LINE_FEED && bytes.at(-2) === LINE_FEED;
    if (this.#unwritten.length === 0) return this.#writeSlices(bytes);
    this.#unwritten = Buffer.concat([this.#unwritten, bytes]);
    return false;
  }

  /** Whether `end` may send this many bytes at once. */
  canEndWith(bytes: number): boolean {
    return bytes <= JOINED_EVENT_BYTES_MAX && !this.isBlocked && this.writtenBytes + bytes <= SLICE_BYTES;
  }

  /** Ends the stream. @param last sent together with the end. */
  end(last: Uint8Array): void {
    this.writtenBytes += last.length;
    this.#res.cork(() => {
      this.#sendHead();
      if (last.length > 0) this.#res.write(last);
      // Not `closeConnection`, which would write a header, perhaps in the middle of the body.
      this.#res.end();
    });
  }

  /** Writes a comment, unless it would be in the middle of an event. @returns whether nothing is held back. */
  writeComment(): boolean {
    return this.#unwritten.length > 0 || !this.#isBetweenEvents ? !this.isBlocked : this.#writeSlices(keepAliveComment);
  }

  /** Writes more of the bytes that wait. @returns whether `write` may be called again. */
  writeMore(): boolean {
    const rest = this.#unwritten;
    this.#unwritten = NO_BYTES;
    if (rest.length > 0) return this.#writeSlices(rest);
    if (this.#isBetweenEvents) return this.#writeSlices(keepAliveComment);
    // An empty cork makes the library send what it can.
    this.#res.cork(() => {});
    return true;
  }

  #writeSlices(bytes: Uint8Array): boolean {
    let at = 0;
    do {
      const end = at + (this.isBlocked ? PROBE_BYTES : SLICE_BYTES);
      this.#writeSlice(at === 0 && end >= bytes.length ? bytes : bytes.subarray(at, end));
      at = end;
    } while (!this.isBlocked && at < bytes.length);
    if (at < bytes.length) this.#unwritten = bytes.subarray(at);
    return !this.isBlocked;
  }

  #writeSlice(slice: Uint8Array): void {
    this.writtenBytes += slice.length;
    if (slice.length > JOINED_EVENT_BYTES_MAX && this.#writeHead !== undefined) this.#res.cork(() => this.#sendHead());
    this.#res.cork(() => {
      this.#sendHead();
      this.isBlocked = !this.#res.write(slice);
    });
  }

  #sendHead(): void {
    const writeHead = this.#writeHead;
    this.#writeHead = undefined;
    writeHead?.();
  }
}
