// Answers of the helper endpoints: a line of text for a person at a terminal.
import type { EndpointAnswer } from '../shared/endpoint.js';

export function plainText(status: number, body: string): EndpointAnswer {
  return { status, contentType: 'text/plain', body };
}

/** The message of a failure, for the log and for the person who tries the gateway. */
export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
