// The one file that knows pino: JSON lines on standard output, one logger per process.
import { createHash } from 'node:crypto';
import { pino, type Logger as PinoLogger } from 'pino';
import { LogOutput } from './log-output.js';

const STDOUT = 1;

export type Logger = PinoLogger;

let output: LogOutput | undefined;

/** @param bindings members of every line, as `{slot: 2}`. */
export function createLogger(level: string, bindings: Record<string, string | number>): Logger {
  output ??= new LogOutput(STDOUT, (droppedLines) => {
    logger.warn({ droppedLines }, 'log lines were dropped: standard output did not take them');
  });
  const options = { level, base: { pid: process.pid, ...bindings }, timestamp: pino.stdTimeFunctions.isoTime };
  const logger = pino(options, output);
  return logger;
}

/** Before the process exits: lines that a slow reader of the log has not taken yet would be lost. */
export async function flushLog(): Promise<void> {
  await output?.flush();
}

/** A subject in a log line: the first 12 hex digits of its SHA-256, so that no identity is written down (X23). */
export function subjectHash(subject: string): string {
  return createHash('sha256').update(subject).digest('hex').slice(0, 12);
}
