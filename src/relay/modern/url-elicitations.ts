// A backend of 2025-11-25 whose user must first open an address in a browser answers with an error (-32042). Clients of MCP 2026-07-28 do
// not know it (M27), so they get a result that asks for input (M22); once they have given it, the call is made from the start, as such a
// backend expects. Cold path.
import { isObject } from '../../shared/json-values.js';
import { limits } from '../../shared/limits.js';
import { rpcCodes } from '../../shared/refusals.js';

const CODE = String(rpcCodes.urlElicitationRequired);

interface UrlElicitation {
  readonly mode: 'url';
  readonly message: string;
  readonly url: string;
}

/** @param error JSON, of a message. @returns what the user must open; `undefined` for another error, and for one that is too large. */
export function readUrlElicitations(error: Buffer): readonly UrlElicitation[] | undefined {
  if (error.length > limits.heldQuestionBytesMax || !error.includes(CODE)) return undefined;
  const { code, data } = JSON.parse(error.toString()) as { code?: unknown; data?: unknown };
  if (code !== rpcCodes.urlElicitationRequired) return undefined;
  const listed = isObject(data) ? data['elicitations'] : undefined;
  const elicitations = Array.isArray(listed) ? listed.map(readElicitation) : [];
  const sound = elicitations.filter((each) => each !== undefined);
  return sound.length === 0 ? undefined : sound.slice(0, limits.backendRequestsOpenMax);
}

function readElicitation(value: unknown): UrlElicitation | undefined {
  if (!isObject(value)) return undefined;
  const { url, message = '' } = value;
  if (typeof url !== 'string' || typeof message !== 'string') return undefined;
  return { mode: 'url', message, url };
}

/** The result's `inputRequests`, as JSON. */
export function inputRequestsOf(elicitations: readonly UrlElicitation[]): string {
  const asked = elicitations.map((params, index) => [String(index + 1), { method: 'elicitation/create', params }]);
  return JSON.stringify(Object.fromEntries(asked));
}

/** Whether, as the client says, its user has opened the addresses. @param responses JSON, `inputResponses`; accepted unread if large. */
export function isAccepted(responses: Buffer): boolean {
  if (responses.length > limits.readAtOnceBytesMax) return true;
  const answers: unknown = JSON.parse(responses.toString());
  const given = isObject(answers) ? Object.values(answers) : [];
  return given.length > 0 && given.every((each) => isObject(each) && each['action'] === 'accept');
}
