// An event that is kept for a client whose connection broke. Most are the bytes that went out; what stays for longer than some
// seconds becomes a string, of a character for each byte: that weighs what it is, where a slice of a buffer keeps the whole
// block that it was cut from.
import { limits } from '../../shared/limits.js';

/** Small, as it goes out; or with more to it. */
export type Kept = Buffer | string | KeptEvent;

/** In the place of an event that could not be kept. */
export const LOST = '';

/** Larger data is handed over in pieces, and has memory of its own. */
export const LARGE_BYTES_FROM: number = limits.readAtOnceBytesMax;

export class KeptEvent {
  /** All of a small one; of a large one what stands before its data. */
  readonly text: string;
  /** The data of a large one. */
  readonly parts: readonly Buffer[] | undefined;
  readonly onLost: (() => void) | undefined;
  /** In bytes. */
  readonly length: number;

  constructor(text: string, parts: readonly Buffer[] | undefined, onLost: (() => void) | undefined) {
    this.text = text;
    this.parts = parts;
    this.onLost = onLost;
    let bytes = text.length;
    for (const { length } of parts ?? []) bytes += length;
    this.length = bytes;
  }
}

/** As MCP's log message: the client is told how much it has missed. */
export function lossNotification(lostCount: number): Buffer {
  const data = `${lostCount} messages from backends were lost because this stream was not read in time`;
  const params = { level: 'warning', logger: 'switchyard', data };
  return Buffer.from(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/message', params }));
}
