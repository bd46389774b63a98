// The one file that knows pino: JSON lines on standard output, one logger per process.
import { createHash } from 'node:crypto';
import { pino, type Logger as PinoLogger } from 'pino';
import { LogOutput } from './log-output.js';

const STDOUT = 1;

export type Logger = PinoLogger;

export const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

export function isLogLevel(value: unknown): value is LogLevel {
  return LOG_LEVELS.some((level) => level === value);
}

let output: LogOutput | undefined;
/** One a process, and in tests a few; those made of them by `child` keep the level that they began with. */
const loggers: Logger[] = [];

/** @param bindings members of every line, as `{slot: 2}`. */
export function createLogger(level: string, bindings: Record<string, string | number>): Logger {
  output ??= new LogOutput(STDOUT, (droppedLines) => {
    logger.warn({ droppedLines }, 'log lines were dropped: standard output did not accept them');
  });
  const options = { level, base: { pid: process.pid, ...bindings }, timestamp: pino.stdTimeFunctions.isoTime };
  const logger = pino(options, output);
  loggers.push(logger);
  return logger;
}

/** Of all loggers of this process, from now on. */
export function setLogLevel(level: LogLevel): void {
  for (const logger of loggers) logger.level = level;
}

/** Before the process exits: lines that a slow reader of the log has not taken yet would be lost. */
export async function flushLog(): Promise<void> {
  await output?.flush();
}

/** A subject in a log line: the first 12 hex digits of its SHA-256, so that no identity is written down (X23). */
export function subjectHash(subject: string): string {
  return createHash('sha256').update(subject).digest('hex').slice(0, 12);
}

/** A session where people see it: its id is as good as a key to it, and is never shown whole. */
export function sessionHash(id: string): string {
  return subjectHash(id);
}
