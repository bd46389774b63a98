// A status with its reason phrase, as the HTTP library wants it. Hot path: the strings are built once.
import { STATUS_CODES } from 'node:http';

const statusLines = new Map(
  Object.entries(STATUS_CODES).map(([status, reason]) => [Number(status), `${status} ${reason}`]),
);

export function statusLine(status: number): string {
  return statusLines.get(status) ?? String(status);
}
