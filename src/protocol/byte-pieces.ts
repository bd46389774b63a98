// A body as copies of the pieces that it comes in. As an object of its own a piece costs some hundred bytes, and a sender
// may send single bytes, so that a body within its limit would take a hundred times the memory: small pieces are joined
// every so often. Hot: most bodies are one piece.
import { Buffer } from 'node:buffer';

/** The number of pieces at which the small ones at the end become one; so again at each multiple of it. */
const PIECES_TO_JOIN = 1_024;
/** A piece of so many bytes is worth its object. */
const LARGE_BYTES = 1_024;

/** Appends a copy of the piece. */
export function addPiece(pieces: Buffer[], piece: Uint8Array): void {
  if (pieces.push(Buffer.from(piece)) % PIECES_TO_JOIN === 0) joinSmallOnes(pieces);
}

function joinSmallOnes(pieces: Buffer[]): void {
  let first = pieces.length;
  while (first > 0 && pieces[first - 1]!.length < LARGE_BYTES) first -= 1;
  if (first < pieces.length) pieces.push(Buffer.concat(pieces.splice(first)));
}
