// Reads the body of a response to `fetch`, until the request's signal aborts, and up to a number of bytes.

/**
 * Reads the body as text. `fetch` itself may forget its signal once the head has arrived, and would then read an endless body for five
 * minutes. Of a compressed body, the decompressed bytes count.
 * @param signal the request's signal. If it aborts, the promise is rejected with its reason.
 * @param tooLarge makes the error for a body of more than `bytesMax`.
 */
export async function readBodyText(
  response: Response,
  signal: AbortSignal,
  bytesMax = Infinity,
  tooLarge: () => Error = () => new Error(`it has more than ${bytesMax} bytes`),
): Promise<string> {
  const reader = response.body?.getReader() as ReadableStreamDefaultReader<Uint8Array> | undefined;
  if (reader === undefined) return '';
  const cut = (): void => void reader.cancel().catch(() => {});
  signal.addEventListener('abort', cut);
  try {
    const pieces: Uint8Array[] = [];
    let bytes = 0;
    for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
      bytes += piece.value.length;
      if (bytes > bytesMax) throw tooLarge();
      pieces.push(piece.value);
    }
    signal.throwIfAborted();
    return Buffer.concat(pieces).toString('utf8');
  } finally {
    signal.removeEventListener('abort', cut);
    cut();
  }
}
