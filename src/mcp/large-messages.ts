// Reads JSON-RPC messages of any size, in slices, between which the event loop serves others. Cold path except for large messages.
import type { Buffer } from 'node:buffer';
import { scanQueue, type Scan } from '../bytes/index.js';
import {
  BACKEND_MESSAGE_DEPTH,
  backendMessageIn,
  CLIENT_DEPTH,
  clientMessageIn,
  type BackendMessage,
  type ParsedClientMessage,
} from './json-rpc.js';
import { filterOf, NO_SPANS, taskIds, uris as uriPlaces } from './uri-places.js';

/**
 * Like `readClientMessage`, in slices.
 * @param subject the subject whose message it is.
 * @param done called once, synchronously if there is time for the whole message. The bytes must not change until then.
 */
export function readLargeClientMessage(
  subject: string,
  bytes: Buffer,
  done: (message: ParsedClientMessage) => void,
): Scan {
  return scanQueue.readNow(subject, bytes, CLIENT_DEPTH, (tape) => {
    done(tape === undefined ? 'not-json' : clientMessageIn(tape, bytes, tape));
  });
}

/**
 * Like `readBackendMessage`, in slices. A message that may contain resource URIs or task ids is read a second time, to find these.
 * @param subject the subject to whose session the message belongs.
 * @param done called once, synchronously if there is time for the whole message. The bytes must not change until then.
 * @param hasTasks whether task ids are searched for. @param isLater whether `done` must never be called synchronously.
 */
export function readLargeBackendMessage(
  subject: string,
  bytes: Buffer,
  done: (message: BackendMessage | undefined) => void,
  hasTasks = false,
  isLater = false,
): Scan {
  const searched = hasTasks ? [uriPlaces, taskIds] : [uriPlaces];
  const seen = new Set<typeof uriPlaces>();
  const onSlice = (from: number, to: number): void => {
    for (const places of searched)
      if (!seen.has(places) && places.mayBeIn(bytes.subarray(Math.max(0, from - places.overlap), to))) seen.add(places);
  };
  let second: Scan | undefined;
  const first = scanQueue[isLater ? 'read' : 'readNow'](
    subject,
    bytes,
    BACKEND_MESSAGE_DEPTH,
    (tape) => {
      const message = tape && backendMessageIn(tape, bytes);
      if (message?.kind !== 'response') seen.delete(uriPlaces);
      if (message === undefined || seen.size === 0) {
        // Set explicitly, or the whole message would be searched for them again at once.
        done(message && { ...message, uris: NO_SPANS, taskIds: NO_SPANS });
        return;
      }
      const found = [...seen];
      const filter = filterOf(
        bytes,
        found.flatMap(({ containers }) => containers),
      );
      const depth = Math.max(...found.map((places) => places.depth));
      second = scanQueue.read(
        subject,
        bytes,
        depth,
        (uriTape) => {
          const spansOf = (places: typeof uriPlaces) =>
            uriTape && seen.has(places) ? places.in(uriTape, bytes) : NO_SPANS;
          // The text is known to be JSON, so the second reading fails only because of too many values.
          done(uriTape && { ...message, uris: spansOf(uriPlaces), taskIds: spansOf(taskIds) });
        },
        { filter },
      );
    },
    { onSlice },
  );
  return { cancel: () => (second ?? first).cancel() };
}
