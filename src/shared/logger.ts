// The only file that uses pino: JSON lines on standard output, one logger per process.
import { createHash } from 'node:crypto';
import { pino, type Logger as PinoLogger } from 'pino';
import { LogOutput } from './log-output.js';
import { OutsideFault } from './outside-fault.js';

const STDOUT = 1;

export type Logger = PinoLogger;

export const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

export function isLogLevel(value: unknown): value is LogLevel {
  return LOG_LEVELS.some((level) => level === value);
}

let output: LogOutput | undefined;
/** One per process, a few in tests. A logger made by `child` keeps the level that it was created with. */
const loggers: Logger[] = [];

/** @param bindings members of every line, for example `{slot: 2}`. */
export function createLogger(level: string, bindings: Record<string, string | number>): Logger {
  output ??= new LogOutput(STDOUT, (droppedLines) => {
    logger.warn({ droppedLines }, 'log lines were dropped: standard output did not accept them');
  });
  const options = {
    level,
    base: { pid: process.pid, ...bindings },
    timestamp: pino.stdTimeFunctions.isoTime,
    serializers: { err: errorInLog },
  };
  const logger = pino(options, output);
  loggers.push(logger);
  return logger;
}

function errorInLog(error: Error): object {
  const told = pino.stdSerializers.err(error);
  return error instanceof OutsideFault ? { ...told, stack: undefined } : told;
}

/** Sets the level of every logger that `createLogger` has made in this process. */
export function setLogLevel(level: LogLevel): void {
  for (const logger of loggers) logger.level = level;
}

/** Call before the process exits: lines that a slow reader has not taken yet would be lost. */
export async function flushLog(): Promise<void> {
  await output?.flush();
}

/** A subject as it appears in log lines: the first 12 hex digits of its SHA-256, so that no identity is logged (X23). */
export function subjectHash(subject: string): string {
  return createHash('sha256').update(subject).digest('hex').slice(0, 12);
}

/** A session as it appears to people: its id gives access to it, so it is never shown whole. */
export function sessionHash(id: string): string {
  return subjectHash(id);
}
