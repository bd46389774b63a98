// Writes the events of one stream as fast as its caller reads them. The library reports only whether it is holding anything
// back, and only on a write: so it is given slices, the rest waits here, and a comment line between two events serves as the
// probe when there is nothing to write. Hot path: an event of usual size is one write.
import { keepAliveComment } from '../bytes/index.js';
import { JOINED_EVENT_BYTES_MAX } from '../exchange/index.js';
import type { HttpResponse } from './http-library.js';

/**
 * The most that the library is given at once. Together with the chunk head and the response head it fits
 * into the 16 KiB that the library gathers before it writes. Anything beyond that is lost if the kernel
 * then accepts none of the gathered bytes: the caller would get the head of a chunk without the chunk.
 */
const SLICE_BYTES = 14 * 1024;
/** The most that the library is given while it holds something back, to find out whether it still does. */
const TRIED_BYTES = 1024;
const NOTHING = new Uint8Array(0);
const LINE_FEED = 10;

export class StreamWriter {
  readonly #res: HttpResponse;
  /** Writes the response head, which goes out with the first bytes; `undefined` once it was written. */
  #writeHead: (() => void) | undefined;
  /** The bytes that come after those given to the library. */
  #rest: Uint8Array = NOTHING;
  #isBlocked = false;
  /** Whether the bytes so far end with a complete event: over a hop, an event comes in parts. */
  #isBetweenEvents = true;
  #writtenBytes = 0;

  /** @param writeHead is called once, within a `cork`, before the first bytes. */
  constructor(res: HttpResponse, writeHead: () => void) {
    this.#res = res;
    this.#writeHead = writeHead;
  }

  /** Total bytes given to the library. */
  get writtenBytes(): number {
    return this.#writtenBytes;
  }

  /** Whether the library held something back at the last write. */
  get isBlocked(): boolean {
    return this.#isBlocked;
  }

  /** Whether the library has everything, and little enough that the response may be ended while some of it is held back. */
  get isLeftToLibrary(): boolean {
    return this.#rest.length === 0 && this.#writtenBytes <= SLICE_BYTES;
  }

  /** Accepts all bytes. If this returns false, they must stay unchanged until `tryMore` returns true. */
  write(bytes: Uint8Array): boolean {
    this.#isBetweenEvents = bytes.at(-1) === LINE_FEED && bytes.at(-2) === LINE_FEED;
    if (this.#rest.length === 0) return this.#give(bytes);
    this.#rest = Buffer.concat([this.#rest, bytes]);
    return false;
  }

  /** Whether so many bytes may be passed to `end`: they go out at once, with no need to wait for a slow caller. */
  canEndWith(bytes: number): boolean {
    return bytes <= JOINED_EVENT_BYTES_MAX && !this.#isBlocked && this.#writtenBytes + bytes <= SLICE_BYTES;
  }

  /** Ends the response. @param last goes out together with the end. */
  end(last: Uint8Array): void {
    this.#writtenBytes += last.length;
    this.#res.cork(() => {
      this.#sendHead();
      if (last.length > 0) this.#res.write(last);
      // Without the library's `closeConnection`: it would write a header, possibly in the middle of the body.
      this.#res.end();
    });
  }

  /** Writes a comment line, but never in the middle of an event, which it would break. @returns whether nothing is held back. */
  writeComment(): boolean {
    return this.#rest.length > 0 || !this.#isBetweenEvents ? !this.#isBlocked : this.#give(keepAliveComment);
  }

  /** @returns true when more may be written: nothing waits here, and the library holds at most part of an unfinished event. */
  tryMore(): boolean {
    const rest = this.#rest;
    this.#rest = NOTHING;
    if (rest.length > 0) return this.#give(rest);
    if (this.#isBetweenEvents) return this.#give(keepAliveComment);
    // An empty cork makes the library send what it can; only the next part of the event will tell how much that was.
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
