// Writes the head of a response; must run within a `cork`, like every later write. Hot path.
import { STATUS_CODES } from 'node:http';
import type { HttpResponse } from './http-library.js';

/** Statuses with their reason phrases, as the HTTP library wants them, built once. */
const statusLines = new Map(
  Object.entries(STATUS_CODES).map(([status, reason]) => [Number(status), `${status} ${reason}`]),
);

export function statusLine(status: number): string {
  return statusLines.get(status) ?? String(status);
}

export const NO_HEADERS: readonly string[] = Object.freeze([]);
export const STREAM_HEADERS: readonly string[] = ['cache-control', 'no-cache, no-transform', 'x-accel-buffering', 'no'];

/** @param headers name, value, name, value, … */
export function writeHeaders(res: HttpResponse, headers: readonly string[]): void {
  for (let i = 0; i + 1 < headers.length; i += 2) res.writeHeader(headers[i] ?? '', headers[i + 1] ?? '');
}
