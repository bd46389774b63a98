// A status with its reason, as the library wants it. Hot: made once for each.
import { STATUS_CODES } from 'node:http';

const statusLines = new Map(
  Object.entries(STATUS_CODES).map(([status, reason]) => [Number(status), `${status} ${reason}`]),
);

export function statusLine(status: number): string {
  return statusLines.get(status) ?? String(status);
}
