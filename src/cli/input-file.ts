// Reads a command's input: a file, or standard input.
import { createReadStream } from 'node:fs';
import { exitStatus } from '../shared/index.js';
import { CliFault } from './command-result.js';

export const STANDARD_INPUT = '-';

/** Reads all input. Throws a CliFault. @param bytesMax reading stops soon after this many bytes; the caller refuses longer input. */
export async function readInput(file: string, bytesMax: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of file === STANDARD_INPUT ? process.stdin : createReadStream(file)) {
      chunks.push(Buffer.from(chunk as Buffer));
      bytes += chunks.at(-1)!.length;
      if (bytes > bytesMax) break;
    }
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown reason';
    throw new CliFault(exitStatus.notFound, `${inputName(file)} cannot be read (${code})`, error);
  }
  return Buffer.concat(chunks);
}

/** What messages to people call the input. */
export function inputName(file: string): string {
  return file === STANDARD_INPUT ? 'standard input' : file;
}
