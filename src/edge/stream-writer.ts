// Writes the events of one stream as fast as the caller reads them. The library reports only on a write whether it holds anything back. So
// it gets slices, the rest waits in this object, and when there is nothing to write, a comment line between two events shows whether the
// library still holds something back. Hot path: an event of usual size is one write.
import { keepAliveComment } from '../bytes/index.js';
import { JOINED_EVENT_BYTES_MAX } from '../exchange/index.js';
import type { HttpResponse } from './http-library.js';

/**
 * Bytes that the library gets at once. With the heads of chunk and response, they fit into the 16 KiB that the library gathers before it
 * writes. Bytes beyond that are lost if the kernel accepts none of the gathered bytes: the caller would get the head of a chunk without the
 * chunk.
 */
const SLICE_BYTES = 14 * 1024;
/** Bytes that the library gets while it holds something back, to find out whether it still does. */
const TRIED_BYTES = 1024;
const NO_BYTES = new Uint8Array(0);
const LINE_FEED = 10;

export class StreamWriter {
  readonly #res: HttpResponse;
  /** Writes the response head, which goes out with the first bytes; `undefined` once it was written. */
  #writeHead: (() => void) | undefined;
  /** Bytes that wait until the library takes more. */
  #rest: Uint8Array = NO_BYTES;
  #isBlocked = false;
  /** Whether the last event is complete: over a hop, an event may arrive in parts. */
  #isBetweenEvents = true;
  #writtenBytes = 0;

  /** @param writeHead called once, within a `cork`, before the first bytes. */
  constructor(res: HttpResponse, writeHead: () => void) {
    this.#res = res;
    this.#writeHead = writeHead;
  }

  /** The bytes that were given to the library in total. */
  get writtenBytes(): number {
    return this.#writtenBytes;
  }

  /** Whether the library held something back at the last write. */
  get isBlocked(): boolean {
    return this.#isBlocked;
  }

  /** Whether the library has everything, and so few bytes that the response may be ended while it still holds some back. */
  get isLeftToLibrary(): boolean {
    return this.#rest.length === 0 && this.#writtenBytes <= SLICE_BYTES;
  }

  /** Accepts all bytes. @returns false if they must not be changed until `tryMore` returns true. */
  write(bytes: Uint8Array): boolean {
    this.#isBetweenEvents = bytes.at(-1) === LINE_FEED && bytes.at(-2) === LINE_FEED;
    if (this.#rest.length === 0) return this.#give(bytes);
    this.#rest = Buffer.concat([this.#rest, bytes]);
    return false;
  }

  /** Whether this many bytes may be passed to `end`: they are sent at once, without waiting for a slow caller. */
  canEndWith(bytes: number): boolean {
    return bytes <= JOINED_EVENT_BYTES_MAX && !this.#isBlocked && this.#writtenBytes + bytes <= SLICE_BYTES;
  }

  /** Ends the response. @param last bytes that are sent together with the end. */
  end(last: Uint8Array): void {
    this.#writtenBytes += last.length;
    this.#res.cork(() => {
      this.#sendHead();
      if (last.length > 0) this.#res.write(last);
      // Without the library's `closeConnection`: it would write a header, possibly in the middle of the body.
      this.#res.end();
    });
  }

  /** Writes a comment line, unless it would be in the middle of an event. @returns whether nothing is held back. */
  writeComment(): boolean {
    return this.#rest.length > 0 || !this.#isBetweenEvents ? !this.#isBlocked : this.#give(keepAliveComment);
  }

  /** Tries to write the waiting bytes. @returns whether more may be written. */
  tryMore(): boolean {
    const rest = this.#rest;
    this.#rest = NO_BYTES;
    if (rest.length > 0) return this.#give(rest);
    if (this.#isBetweenEvents) return this.#give(keepAliveComment);
    // An empty cork makes the library send what it can; only the next part of the event will show how much that was.
    this.#res.cork(() => {});
    return true;
  }

  #give(bytes: Uint8Array): boolean {
    let at = 0;
    do {
      const end = at + (this.#isBlocked ? TRIED_BYTES : SLICE_BYTES);
      this.#giveSlice(at === 0 && end >= bytes.length ? bytes : bytes.subarray(at, end));
      at = end;
    } while (!this.#isBlocked && at < bytes.length);
    if (at < bytes.length) this.#rest = bytes.subarray(at);
    return !this.#isBlocked;
  }

  #giveSlice(slice: Uint8Array): void {
    this.#writtenBytes += slice.length;
    if (slice.length > JOINED_EVENT_BYTES_MAX && this.#writeHead !== undefined) this.#res.cork(() => this.#sendHead());
    this.#res.cork(() => {
      this.#sendHead();
      this.#isBlocked = !this.#res.write(slice);
    });
  }

  #sendHead(): void {
    const writeHead = this.#writeHead;
    this.#writeHead = undefined;
    writeHead?.();
  }
}
