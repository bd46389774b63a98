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
import { filterOf, NO_SPANS, taskIdFinder, uriFinder } from './value-finder.js';

/**
 * Reads a message as `readClientMessage` does, but in slices.
 * @param done called once, synchronously if there is time for the whole message. The bytes must not change until then.
 */
export function readLargeClientMessage(
  subject: string,
  bytes: Buffer,
  done: (message: ParsedClientMessage) => void,
): Scan {
  return scanQueue.scanNow(subject, bytes, CLIENT_DEPTH, (tape) => {
    done(tape === undefined ? 'not-json' : clientMessageIn(tape, bytes, tape));
  });
}

/**
 * Reads a message as `readBackendMessage` does, but in slices. One that may contain resource URIs or task ids is scanned a second time, to
 * find these. If they are too many to be found, the `uris` of a response are `undefined`.
 * @param done called once, synchronously if there is time for the whole message. The bytes must not change until then.
 * @param hasTasks whether task ids are searched for. @param isDeferred whether `done` must never be called synchronously.
 */
export function readLargeBackendMessage(
  subject: string,
  bytes: Buffer,
  done: (message: BackendMessage | undefined) => void,
  hasTasks = false,
  isDeferred = false,
): Scan {
  const searched = hasTasks ? [uriFinder, taskIdFinder] : [uriFinder];
  const seen = new Set<typeof uriFinder>();
  const onSlice = (from: number, to: number): void => {
    for (const finder of searched)
      if (!seen.has(finder) && finder.mayBeIn(bytes.subarray(Math.max(0, from - finder.overlap), to))) seen.add(finder);
  };
  let second: Scan | undefined;
  const first = scanQueue[isDeferred ? 'scan' : 'scanNow'](
    subject,
    bytes,
    BACKEND_MESSAGE_DEPTH,
    (tape) => {
      const message = tape && backendMessageIn(tape, bytes);
      if (message?.kind !== 'response') seen.delete(uriFinder);
      if (message === undefined || seen.size === 0) {
        // The empty spans are set explicitly, or the whole message would be searched for them again.
        done(message && { ...message, uris: NO_SPANS, taskIds: NO_SPANS });
        return;
      }
      const found = [...seen];
      const filter = filterOf(
        bytes,
        found.flatMap(({ containers }) => containers),
      );
      const depth = Math.max(...found.map((finder) => finder.depth));
      second = scanQueue.scan(
        subject,
        bytes,
        depth,
        (uriTape) => {
          const spansOf = (finder: typeof uriFinder) =>
            uriTape && seen.has(finder) ? finder.findOn(uriTape, bytes) : NO_SPANS;
          // The text is known to be JSON, so the second scan fails only if there are too many values. Of an answer, that is said.
          if (uriTape !== undefined) done({ ...message, uris: spansOf(uriFinder), taskIds: spansOf(taskIdFinder) });
          else done(message.kind === 'response' ? message : undefined);
        },
        { filter },
      );
    },
    { onSlice },
  );
  return { cancel: () => (second ?? first).cancel() };
}
