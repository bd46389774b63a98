// Requests to the control plane that this page comes from, with the token of whoever is signed in. Every fault is in words.
import { signOut, token } from './session.js';

export class ApiFault extends Error {
  override readonly name = 'ApiFault';
  /** 0 when no answer came. */
  readonly status: number;

  constructor(status: number, words: string) {
    super(words);
    this.status = status;
  }
}

export interface Asked {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Sent as it is, with headers that say what it is. */
  readonly text?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** The change is made only if nobody has made another since this was read. */
  readonly ifMatch?: string | undefined;
  readonly signal?: AbortSignal;
  readonly accept?: string;
}

export interface Answered<Value> {
  readonly value: Value;
  readonly etag: string | undefined;
  /** The path of the next page. */
  readonly next: string | undefined;
  /** User configs that do not have the change yet. */
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

/** With the answer's body still to be read. */
export async function askRaw(path: string, asked: Asked): Promise<Response> {
  const { method = 'GET', body, text, ifMatch, signal, accept } = asked;
  const headers = new Headers({
    ...asked.headers,
    authorization: `Bearer ${token.value}`,
  });
  if (body !== undefined) headers.set('content-type', 'application/json');
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
  // Signing in again goes on where one was: the address stays.
  if (response.status === 401) signOut(words);
  throw new ApiFault(response.status, words);
}

/** All pages of a list. */
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
    // MCP's endpoints tell most of what they refuse as errors of its own.
    const words = detail ?? error?.message;
    if (typeof words === 'string') return words;
  } catch {
    // Somebody on the way has answered.
  }
  return `Received status ${response.status}, but not from the control plane`;
}

/** For people. */
export function faultWords(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
