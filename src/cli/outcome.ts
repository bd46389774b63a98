// What a command for people has to say, and how it is printed: as text or as JSON, and what went wrong in one line.
import { CliFault } from './cli-fault.js';
import { printable } from './text-table.js';
import { exitStatus } from '../shared/exit-status.js';

export interface Outcome {
  /** For `--json`; `undefined` when there is nothing. */
  readonly answer: unknown;
  /** Bytes go out as they are. */
  readonly text: string | Buffer;
  readonly exitStatus?: number;
}

/** Resolves with the program's exit status, when everything is printed. */
export async function printOutcome(isJson: boolean, work: () => Promise<Outcome>): Promise<number> {
  try {
    const { answer, text, exitStatus: status = exitStatus.ok } = await work();
    await print(process.stdout, isJson ? jsonOf(answer) : text);
    return status;
  } catch (error) {
    if (!(error instanceof CliFault)) throw error;
    await print(process.stderr, `switchyard: ${printable(error.message)}\n`);
    return error.exitStatus;
  }
}

function jsonOf(answer: unknown): string {
  return answer === undefined ? '' : `${harmlessJson(JSON.stringify(answer, null, 2))}\n`;
}

/**
 * JSON that says the same without a character that a terminal obeys, or that turns the direction of what it shows: in JSON
 * such a one can stand in strings alone, and there it may be escaped.
 */
export function harmlessJson(text: string): string {
  return text.replaceAll(/(?![\n\r\t])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (character) =>
    Array.from({ length: character.length }, (_, index) => {
      return `\\u${character.charCodeAt(index).toString(16).padStart(4, '0')}`;
    }).join(''),
  );
}

/** Resolved when it is written: the program ends right after it. */
export function print(stream: NodeJS.WriteStream, text: string | Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    stream.write(text, (error) => (error ? reject(error) : resolve()));
  });
}
