// A real logger whose lines are collected in an array.
import { pino } from 'pino';
import type { Logger } from '../../src/shared/logger.js';

export function logInto(lines: string[]): Logger {
  return pino({ level: 'trace' }, { write: (line: string) => void lines.push(line) });
}
