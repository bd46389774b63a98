// An event that is kept for a client whose connection broke. Most are kept as the bytes that were sent. An event that stays for longer
// than a few seconds becomes a string of one character per byte: the string takes its own size only, while a slice of a buffer keeps
// the whole block that it was cut from.
import { limits } from '../../shared/limits.js';

/** A small event as it is sent (bytes, or the same in Latin-1), or an event with large data or a callback. */
export type Kept = Buffer | string | KeptEvent;

/** Stands for an event that could not be kept. */
export const LOST = '';

/** Larger data is written in pieces, and has memory of its own. */
export const LARGE_BYTES_FROM: number = limits.readAtOnceBytesMax;

export class KeptEvent {
  /** The whole of a small event; of a large event, what precedes its data. */
  readonly text: string;
  /** The data of a large event. */
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

/** An MCP log message that tells the client how many messages it has missed. */
export function lossNotification(lostCount: number): Buffer {
  const data = `${lostCount} messages from backends were lost because this stream was not read in time`;
  const params = { level: 'warning', logger: 'switchyard', data };
  return Buffer.from(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/message', params }));
}
