// Requests to the control plane that serves this page, with the signed-in user's token. Every failure is described in words.
import { refusedWords } from '../model/token-claims.js';
import { signOut, token } from './session.js';

export class ApiFault extends Error {
  override readonly name = 'ApiFault';
  /** 0 when there was no response. */
  readonly status: number;

  constructor(status: number, words: string) {
    super(words);
    this.status = status;
  }
}

export interface Asked {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Sent as it is; the caller passes headers that describe it. */
  readonly text?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** An ETag: the change is made only if nobody else has changed the resource since it was read. */
  readonly ifMatch?: string | undefined;
  readonly signal?: AbortSignal;
  readonly accept?: string;
}

export interface Answered<Value> {
  readonly value: Value;
  readonly etag: string | undefined;
  /** The path of the next page. */
  readonly next: string | undefined;
  /** How many user configs do not have the change yet. */
  readonly unpublished: number;
}

/** Throws an `ApiFault`. */
export async function ask<Value>(path: string, asked: Asked = {}): Promise<Answered<Value>> {
  const response = await askRaw(path, asked);
  const text = await response.text();
  const { headers } = response;
  return {
    value: (text === '' ? undefined : JSON.parse(text)) as Value,
    etag: headers.get('etag') ?? undefined,
    next: /<([^>]+)>;\s*rel="next"/.exec(headers.get('link') ?? '')?.[1],
    unpublished: Number(headers.get('switchyard-unpublished') ?? 0),
  };
}

/** @returns the response with its body unread. */
export async function askRaw(path: string, asked: Asked): Promise<Response> {
  const { method = 'GET', body, text, ifMatch, signal, accept } = asked;
  const headers = new Headers({
    ...asked.headers,
    authorization: `Bearer ${token.value}`,
  });
  const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
  if (body !== undefined) headers.set('content-type', type);
  if (ifMatch !== undefined) headers.set('if-match', ifMatch);
  if (accept !== undefined) headers.set('accept', accept);
  const init: RequestInit = {
    method,
    headers,
    ...(signal !== undefined && { signal }),
  };
  if (body !== undefined || text !== undefined) init.body = text ?? JSON.stringify(body);
  const response = await fetch(path, init).catch((error: unknown) => {
    if (signal?.aborted === true) throw error;
    throw new ApiFault(
      0,
      'The control plane does not respond: check that it is running and can be reached, then try again',
    );
  });
  if (response.ok) return response;
  const words = await wordsOf(response);
  // Signing in again continues on the same page: the address is kept.
  if (response.status === 401) signOut(refusedWords(token.value, words));
  throw new ApiFault(response.status, words);
}

/** Reads all pages of a list. */
export async function askAll<Item>(path: string): Promise<Item[]> {
  const items: Item[] = [];
  for (let next: string | undefined = path; next !== undefined;) {
    const page: Answered<Item[]> = await ask<Item[]>(next);
    items.push(...page.value);
    next = page.next;
  }
  return items;
}

async function wordsOf(response: Response): Promise<string> {
  const text = await response.text().catch(() => '');
  try {
    const { detail, error } = JSON.parse(text) as {
      readonly detail?: unknown;
      readonly error?: { message?: unknown };
    };
    // The MCP endpoints report most refusals as JSON-RPC errors.
    const words = detail ?? error?.message;
    if (typeof words === 'string') return words;
  } catch {
    // The body is not JSON: something between the browser and the control plane has responded.
  }
  return `Received status ${response.status}, but not from the control plane`;
}

/** The error in words, for users. */
export function faultWords(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
