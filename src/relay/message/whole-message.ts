// Joins a request with the changes made so far and parses it again, so that a change can be made within an earlier one. Cold path.
import { readClientMessage, type ClientMessage } from '../../protocol/json-rpc.js';
import { limits } from '../../shared/limits.js';
import type { OutgoingMessage } from '../../upstream/http/http-upstream.js';
import { partsOf } from './edits.js';

export interface WholeMessage {
  readonly outgoing: OutgoingMessage;
  readonly message: ClientMessage;
}

const NOTHING = Buffer.alloc(0);

/** @returns `undefined` where the message is too large to be parsed at once. */
export function wholeMessage({ body, leftOut, putIn, ...rest }: OutgoingMessage): WholeMessage | undefined {
  if (body.length > limits.readAtOnceBytesMax) return undefined;
  const whole = Buffer.concat(partsOf(body, [{ start: 0, end: 0, ...leftOut, putIn: putIn ?? NOTHING }]));
  const reading = readClientMessage(whole);
  if (typeof reading === 'string' || reading.kind === 'batch') return undefined;
  return { outgoing: { ...rest, body: whole }, message: reading };
}
