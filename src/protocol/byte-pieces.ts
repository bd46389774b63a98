// Keeps a body as copies of the pieces in which it arrives. Each piece is an object of some hundred bytes, and a sender may send single
// bytes, so that a body within its limit could take a hundred times its size in memory: small pieces are therefore joined periodically. Hot
// path: most bodies are one piece.
import { Buffer } from 'node:buffer';

/** Whenever the number of pieces reaches a multiple of this, the last ones, this many, are joined if they are small. */
const PIECES_TO_JOIN = 1_024;
/** From this size on, the overhead of an object per piece no longer matters, and no byte is copied often. */
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
