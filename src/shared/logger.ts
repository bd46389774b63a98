// The one file that knows pino: JSON lines on standard output, one logger per process.
import { createHash } from 'node:crypto';
import { pino, type Logger as PinoLogger } from 'pino';

export type Logger = PinoLogger;

/** @param bindings members of every line, as `{slot: 2}`. */
export function createLogger(level: string, bindings: Record<string, string | number>): Logger {
  return pino({ level, base: { pid: process.pid, ...bindings }, timestamp: pino.stdTimeFunctions.isoTime });
}

/** A subject in a log line: the first 12 hex digits of its SHA-256, so that no identity is written down (X23). */
export function subjectHash(subject: string): string {
  return createHash('sha256').update(subject).digest('hex').slice(0, 12);
}
