// Reads backends' messages of any size in slices, between which the event loop serves others; and once more, when a message may contain
// resource URIs or task ids, to find these. Cold path except for large messages.
import { backendMessageIn, BACKEND_MESSAGE_DEPTH, type BackendMessage } from './json-rpc.js';
import { readings, type Scan } from '../bytes/index.js';
import { leadingFilter, NO_SPANS, uris, taskIds } from './uri-places.js';

type LargeMessageReader = (message: BackendMessage | undefined) => void;

/**
 * Like `readBackendMessage`; for a response, its URIs are found as well.
 * @param subject the subject whose session it belongs to.
 * @param done called once, synchronously when there is time for all of it. The bytes must not change until then.
 * @param hasTasks whether task ids are found as well. @param isLater whether `done` is never called synchronously.
 */
export function readLargeBackendMessage(
  subject: string,
  bytes: Buffer,
  done: LargeMessageReader,
  hasTasks = false,
  isLater = false,
): Scan {
  const sought = hasTasks ? [uris, taskIds] : [uris];
  const named = new Set<typeof uris>();
  const onSlice = (from: number, to: number): void => {
    for (const places of sought)
      if (!named.has(places) && places.mayBeIn(bytes.subarray(Math.max(0, from - places.overlap), to)))
        named.add(places);
  };
  let second: Scan | undefined;
  const first = readings[isLater ? 'read' : 'readNow'](
    subject,
    bytes,
    BACKEND_MESSAGE_DEPTH,
    (tape) => {
      const message = tape && backendMessageIn(tape, bytes);
      if (message?.kind !== 'response') named.delete(uris);
      if (message === undefined || named.size === 0) {
        // Set explicitly: otherwise the whole message would be searched for them again in one go.
        done(message && { ...message, uris: NO_SPANS, taskIds: NO_SPANS });
        return;
      }
      const found = [...named];
      const filter = leadingFilter(
        bytes,
        found.flatMap(({ leading }) => leading),
      );
      const depth = Math.max(...found.map((places) => places.depth));
      second = readings.read(
        subject,
        bytes,
        depth,
        (again) => {
          const spansOf = (places: typeof uris) => (again && named.has(places) ? places.in(again, bytes) : NO_SPANS);
          // The text is known to be JSON: only too many values can make it fail.
          done(again && { ...message, uris: spansOf(uris), taskIds: spansOf(taskIds) });
        },
        { filter },
      );
    },
    { onSlice },
  );
  return { cancel: () => (second ?? first).cancel() };
}
