// Reads the body of a `fetch` within its deadline and a number of bytes.

/**
 * The body of a response. `fetch` alone forgets its signal once the head has arrived and garbage was collected: it would read an endless
 * body for five minutes. Compressed bodies count with their decompressed bytes.
 * @param signal that of the request; rejects with its reason.
 * @param tooLarge makes the error for a body of more than `bytesMax`.
 */
export async function bodyText(
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
