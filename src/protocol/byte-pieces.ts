// A body as copies of the pieces that it comes in. As an object of its own a piece costs some hundred bytes, and a sender
// may send single bytes, so that a body within its limit would take a hundred times the memory: small pieces are joined
// every so often. Hot: most bodies are one piece.
import { Buffer } from 'node:buffer';

/** At each multiple of this number of pieces the last so many are joined, if they are small. */
const PIECES_TO_JOIN = 1_024;
/** Above this size the cost of an object for each piece no longer matters, and no byte is copied often. */
const WORTHWHILE_BYTES = 64 * 1024;

/** Appends a copy of the piece. */
export function addPiece(pieces: Buffer[], piece: Uint8Array): void {
  if (pieces.push(Buffer.from(piece)) % PIECES_TO_JOIN === 0) joinLast(pieces);
}

function joinLast(pieces: Buffer[]): void {
  const first = pieces.length - PIECES_TO_JOIN;
  let bytes = 0;
  for (let index = first; index < pieces.length; index += 1) bytes += pieces[index]!.length;
  if (bytes < WORTHWHILE_BYTES) pieces.push(Buffer.concat(pieces.splice(first), bytes));
}
