// Reads a command's input: a file, or standard input.
import { createReadStream } from 'node:fs';
import { exitStatus } from '../shared/index.js';
import { CliFault } from './command-result.js';

export const STANDARD_INPUT = '-';

/** Reads input until its end. @param bytesMax reading stops soon after this many bytes; the caller refuses longer input. */
export async function readUpTo(input: AsyncIterable<Uint8Array>, bytesMax: number): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of input) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes > bytesMax) break;
  }
  return Buffer.concat(chunks);
}

/** Reads a file or standard input with `readUpTo`. Rejects with a CliFault if it cannot be read. */
export async function readInput(file: string, bytesMax: number): Promise<Buffer> {
  try {
    return await readUpTo(file === STANDARD_INPUT ? process.stdin : createReadStream(file), bytesMax);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown reason';
    throw new CliFault(exitStatus.notFound, `${inputName(file)} cannot be read (${code})`, error);
  }
}

/** The name of the input in messages to people. */
export function inputName(file: string): string {
  return file === STANDARD_INPUT ? 'standard input' : file;
}
