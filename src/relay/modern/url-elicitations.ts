// What a backend of 2025-11-25 answers whose user has to go somewhere in a browser first: an error (-32042). For clients of MCP 2026-07-28, who
// do not know it (M27), it is a result that asks for input (M22); when they have given it, the call is begun anew, as such a backend expects it.
// Cold.
import { isObject } from '../../shared/json-values.js';
import { limits } from '../../shared/limits.js';
import { rpcCodes } from '../../shared/refusals.js';

const CODE = String(rpcCodes.urlElicitationRequired);

interface UrlElicitation {
  readonly mode: 'url';
  readonly message: string;
  readonly url: string;
}

/** @param error JSON, of a message. @returns where its user is to go; nothing for another error, and for one that is too large. */
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

/** What is asked for, as JSON. */
export function inputRequestsOf(elicitations: readonly UrlElicitation[]): string {
  const asked = elicitations.map((params, index) => [String(index + 1), { method: 'elicitation/create', params }]);
  return JSON.stringify(Object.fromEntries(asked));
}

/** Whether its user has gone there, as far as the client says. @param responses JSON, `inputResponses`; read where it is not too large. */
export function isAccepted(responses: Buffer): boolean {
  if (responses.length > limits.readAtOnceBytesMax) return true;
  const answers: unknown = JSON.parse(responses.toString());
  const given = isObject(answers) ? Object.values(answers) : [];
  return given.length > 0 && given.every((each) => isObject(each) && each['action'] === 'accept');
}
