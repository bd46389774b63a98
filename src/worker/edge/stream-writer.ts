// Writes the events of one stream as fast as its caller takes them. The library says only whether it holds anything
// back, and finds out only with the next write: so it is given slices, the rest waits here, and a comment line between
// two events stands in where there is nothing to write. Hot: an event of usual size is one write.
import { keepAliveComment } from '../../protocol/event-stream.js';
import { limits } from '../../shared/limits.js';
import type { HttpResponse } from './http-library.js';

/**
 * As much as the library is given at once. With the head of its chunk, and that of the response, it fits into the 16 KiB
 * that the library gathers before it writes. What does not fit is lost if the kernel then takes nothing of what was
 * gathered: the caller gets the head of a chunk without the chunk.
 */
const SLICE_BYTES = 14 * 1024;
/** As much as it is given while it holds something back, to find out whether it still does. */
const TRIED_BYTES = 1024;
const NOTHING = new Uint8Array(0);
const LINE_FEED = 10;

export class StreamWriter {
  readonly #res: HttpResponse;
  /** Writes the head of the response, which goes out with the first bytes; `undefined` once it has. */
  #writeHead: (() => void) | undefined;
  /** What follows the bytes that the library was given. */
  #rest: Uint8Array = NOTHING;
  #isBlocked = false;
  /** Whether the bytes so far end an event. They need not: an event comes in parts over a hop. */
  #isBetweenEvents = true;
  #writtenBytes = 0;

  /** @param writeHead is called once, within a `cork`, before the first bytes. */
  constructor(res: HttpResponse, writeHead: () => void) {
    this.#res = res;
    this.#writeHead = writeHead;
  }

  /** Of everything that was given to the library. */
  get writtenBytes(): number {
    return this.#writtenBytes;
  }

  /** Whether the library held something back when it last said. */
  get isBlocked(): boolean {
    return this.#isBlocked;
  }

  /** Whether the library was given all of it, and so little that it may be ended while some is held back. */
  get isLeftToLibrary(): boolean {
    return this.#rest.length === 0 && this.#writtenBytes <= SLICE_BYTES;
  }

  /** Takes all bytes, which must stay as they are until `tryMore` answers true if this answers false. */
  write(bytes: Uint8Array): boolean {
    this.#isBetweenEvents = bytes.at(-1) === LINE_FEED && bytes.at(-2) === LINE_FEED;
    if (this.#rest.length === 0) return this.#give(bytes);
    this.#rest = Buffer.concat([this.#rest, bytes]);
    return false;
  }

  /** Whether `end` may be given so much: it goes out at once, and nobody has to wait for a slow caller to take it. */
  canEndWith(bytes: number): boolean {
    return bytes <= limits.joinedEventBytesMax && !this.#isBlocked && this.#writtenBytes + bytes <= SLICE_BYTES;
  }

  /** Ends the response. @param last goes out with it. */
  end(last: Uint8Array): void {
    this.#writtenBytes += last.length;
    this.#res.cork(() => {
      this.#sendHead();
      if (last.length > 0) this.#res.write(last);
      // Without the library's `closeConnection`: it would write a header, and here that may be in the middle of the body.
      this.#res.end();
    });
  }

  /** Not within an event, which a comment line would break. */
  writeComment(): boolean {
    return this.#rest.length > 0 || !this.#isBetweenEvents ? !this.#isBlocked : this.#give(keepAliveComment);
  }

  /** @returns true when more may be written: nothing waits here, and if anything in the library then half an event. */
  tryMore(): boolean {
    const rest = this.#rest;
    this.#rest = NOTHING;
    if (rest.length > 0) return this.#give(rest);
    if (this.#isBetweenEvents) return this.#give(keepAliveComment);
    // Has the library send what it can. Only the next part of the event can tell how much that was.
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
    if (slice.length > limits.joinedEventBytesMax && this.#writeHead !== undefined)
      this.#res.cork(() => this.#sendHead());
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
