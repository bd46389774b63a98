// The result of an interactive command and how it is printed: as text or as JSON, and a failure in one line.
import { CliFault } from './cli-fault.js';
import { printable } from './text-table.js';
import { exitStatus } from '../shared/exit-status.js';

export interface CommandResult {
  /** Printed with `--json`; `undefined` when there is nothing to print. */
  readonly answer: unknown;
  /** A Buffer is written unchanged. */
  readonly text: string | Buffer;
  readonly exitStatus?: number;
}

/** Resolves with the program's exit status once everything is printed. */
export async function printResult(isJson: boolean, work: () => Promise<CommandResult>): Promise<number> {
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
 * The same JSON without characters that a terminal interprets or that change the direction of its text: in JSON these can occur only in
 * strings, where they may be escaped.
 */
export function harmlessJson(text: string): string {
  return text.replaceAll(/(?![\n\r\t])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (character) =>
    Array.from({ length: character.length }, (_, index) => {
      return `\\u${character.charCodeAt(index).toString(16).padStart(4, '0')}`;
    }).join(''),
  );
}

/** Resolves once it is written, because the program ends right afterwards. */
export function print(stream: NodeJS.WriteStream, text: string | Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    stream.write(text, (error) => (error ? reject(error) : resolve()));
  });
}
