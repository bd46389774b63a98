// MCP's log levels.

const LEVELS = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'];

/** Higher is more severe; -1 for an unknown level. */
export function severityOf(level: string): number {
  return LEVELS.indexOf(level);
}
