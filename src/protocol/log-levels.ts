// MCP's log levels.

const LEVELS = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'];

/** The higher the more severe; -1 for what is no level. */
export function severityOf(level: string): number {
  return LEVELS.indexOf(level);
}
