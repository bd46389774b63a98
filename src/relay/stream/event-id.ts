// The ids of events as clients see them: `<stream>-<request>_<position>`. A client that comes back for a stream of which nothing is left,
// perhaps to another process, brings the name of the request along that was never answered.
import type { IdSpan } from '../../upstream/rpc/rpc-request.js';
import { KIB } from '../../shared/limits/units.js';

/**
 * Request id that event ids name, for an error in place of an answer that is not kept. Beyond it, without room for its answer, a stream
 * with a longer id is dropped, and who comes back for it gets the session's own stream.
 */
export const KEPT_ID_BYTES_MAX = KIB;

export interface EventId {
  /** The number of the stream in its session. */
  readonly stream: number;
  /** The place of the event in the stream. */
  readonly position: number;
  /** The id of the request whose stream it is; `undefined` for a session stream, and for a request with a very long id. */
  readonly request: IdSpan | undefined;
}

/** Stream numbers begin at random, so that an id from another session, or an earlier one, hardly ever names a stream of this session. */
export const NUMBERS_FROM = 1_000_000_000;

/** The id of an event that nothing follows, in no stream. */
export const FINAL_ID = '0_0';

/** @returns `undefined` for a text that is no id of the gateway. */
export function parseEventId(text: string): EventId | undefined {
  const [, stream, name = '', position] = /^(\d{1,15})(-[\w-]+)?_(\d{1,15})$/.exec(text) ?? [];
  if (stream === undefined) return undefined;
  return { stream: Number(stream), position: Number(position), request: requestOfName(name) };
}

/** Whether the event is of a session stream, which belongs to no call, whichever process had it. */
export function isSessionStream({ stream }: EventId): boolean {
  return stream >= NUMBERS_FROM && stream % 2 === 0;
}

/** How the request is named in the ids of its stream's events; `''` if its id is too long for that. */
export function nameOfRequest({ bytes, start, end }: IdSpan): string {
  return end - start > KEPT_ID_BYTES_MAX ? '' : `-${bytes.toString('base64url', start, end)}`;
}

/** @returns `undefined` for a name that is none: clients can send any. */
export function requestOfName(name: string): IdSpan | undefined {
  const bytes = Buffer.from(name.slice(1), 'base64url');
  if (bytes.length === 0 || bytes.length > KEPT_ID_BYTES_MAX || !isId(bytes)) return undefined;
  return { bytes, start: 0, end: bytes.length };
}

function isId(bytes: Buffer): boolean {
  try {
    const id: unknown = JSON.parse(bytes.toString());
    return typeof id === 'string' || typeof id === 'number';
  } catch {
    return false;
  }
}
