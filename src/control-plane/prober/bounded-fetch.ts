// The `fetch` of one probe, on Node's HTTP: it never connects to a refused address, follows no redirect elsewhere, bounds the
// bytes and JSON values of all responses together, and ends with its signal. It remembers the first fault, because the
// SDK's client wraps some errors beyond recognition.
import { once } from 'node:events';
import { Agent as HttpAgent, request as requestHttp, type IncomingMessage, type RequestOptions } from 'node:http';
import { Agent as HttpsAgent, request as requestHttps } from 'node:https';
import type { LookupFunction } from 'node:net';
import type { SecureContext } from 'node:tls';
import { type AddressGuard, withCookies, encodingIn, movedTarget, redirectPath } from '../../http-client/index.js';
import { limits } from '../../shared/index.js';
import { ProbeFault, probeFaultOf, versionFaultOf } from './probe-fault.js';

/**
 * Commas and opening brackets in all answers to one probe; values cost more to parse than bytes. Beyond it, the server counts as failed.
 */
export const PROBE_VALUES_MAX = 524_288;

export class BoundedFetch {
  readonly #lookup: LookupFunction;
  readonly #guard: AddressGuard;
  readonly #signal: AbortSignal;
  readonly #authHeaders: readonly string[];
  readonly #httpAgent = new HttpAgent({ keepAlive: true });
  readonly #httpsAgent: HttpsAgent;
  /** By origin, as at the dataplane: a balancer may keep the probe's session at its node by them. */
  readonly #cookies = new Map<string, string>();
  #bytesLeft: number = limits.probeBytesMax;
  #valuesLeft: number = PROBE_VALUES_MAX;
  #fault: ProbeFault | undefined;

  constructor(options: {
    readonly lookup: LookupFunction;
    /** Checks addresses that are written in the URL. */
    readonly guard: AddressGuard;
    /** Certificate authorities to trust; Node.js's own by default. */
    readonly trust?: SecureContext | undefined;
    readonly signal: AbortSignal;
    /** Name, value, …: added to every request. */
    readonly authHeaders?: readonly string[];
  }) {
    this.#authHeaders = options.authHeaders ?? [];
    this.#lookup = options.lookup;
    this.#guard = options.guard;
    this.#signal = options.signal;
    this.#httpsAgent = new HttpsAgent({ keepAlive: true, ...(options.trust && { secureContext: options.trust }) });
  }

  get fault(): ProbeFault | undefined {
    return this.#fault;
  }

  /** Forgets a fault that turned out not to matter. */
  forgetFault(): void {
    this.#fault = undefined;
  }

  readonly fetch = async (url: string | URL, init: RequestInit = {}): Promise<Response> => {
    const headers = Object.fromEntries(new Headers(init.headers));
    headers['accept-encoding'] = 'identity';
    const target = new URL(url);
    const cookies = this.#cookies.get(target.origin) ?? '';
    if (cookies !== '') headers['cookie'] = cookies;
    for (let at = 0; at + 1 < this.#authHeaders.length; at += 2)
      headers[this.#authHeaders[at]!.toLowerCase()] = this.#authHeaders[at + 1]!;
    // A probe does not need the server's notification stream, so the client is told that there is none. A GET that
    // resumes a response goes through.
    if (init.method === 'GET' && headers['last-event-id'] === undefined) return new Response(null, { status: 405 });
    const body = typeof init.body === 'string' ? init.body : '';
    // The session is ended after the probe, within a timeout of its own.
    const isLate = init.method === 'DELETE';
    const signal = isLate ? AbortSignal.timeout(limits.noticeMsMax) : this.#signal;
    try {
      const options = { method: init.method ?? 'GET', headers, signal };
      const first = await this.#request(target, body, options);
      const moved = this.#moved(first, target);
      if (moved !== undefined) first.destroy();
      const answer = moved === undefined ? first : await this.#request(moved, body, options);
      const response = this.#response(answer, moved ?? target);
      return response.status >= 400 && isInitialize(body) ? await checkVersionRefusal(response) : response;
    } catch (error) {
      throw isLate ? probeFaultOf(error) : this.#remember(error);
    }
  };

  /** Cuts every connection. */
  close(): void {
    this.#httpAgent.destroy();
    this.#httpsAgent.destroy();
  }

  async #request(url: URL, body: string, options: RequestOptions): Promise<IncomingMessage> {
    const obstacle = this.#guard.obstacleOfHost(url.hostname);
    if (obstacle !== undefined) throw new ProbeFault(obstacle);
    const isTls = url.protocol === 'https:';
    const request = (isTls ? requestHttps : requestHttp)(url, {
      ...options,
      agent: isTls ? this.#httpsAgent : this.#httpAgent,
      lookup: this.#lookup,
      maxHeaderSize: limits.upstreamHeaderBytesMax,
    });
    request.end(body);
    const [answer] = (await once(request, 'response')) as [IncomingMessage];
    // Later errors are also reported to the reader of the response.
    request.on('error', () => {});
    return answer;
  }

  /** As at the dataplane: a redirect within the origin is followed once. */
  #moved({ statusCode = 0, headers }: IncomingMessage, { origin, pathname, search }: URL): URL | undefined {
    const from = { origin, path: pathname + search };
    const moved = movedTarget(statusCode, headers.location ?? '', from, this.#authHeaders.length > 0);
    return moved && new URL(origin + moved.path);
  }

  #response(answer: IncomingMessage, { origin, pathname, search }: URL): Response {
    const status = answer.statusCode ?? 0;
    const asked = { origin, path: pathname + search };
    const encoding = encodingIn(answer.headers['content-encoding'] ?? '');
    if (status >= 300 && status <= 399) {
      const place = redirectPath(answer.headers.location ?? '', asked);
      throw new ProbeFault('redirected', place === '' ? undefined : `(${place})`);
    }
    if (status > 599) throw new ProbeFault('answer-invalid');
    if (encoding !== '') throw new ProbeFault('answer-encoded', encoding);
    const lines = status < 300 ? (answer.headers['set-cookie'] ?? []).join('\n') : '';
    this.#cookies.set(origin, withCookies(this.#cookies.get(origin) ?? '', lines, asked));
    const headers = new Headers();
    // The headers that the client reads.
    for (const name of ['content-type', 'mcp-session-id']) {
      const value = answer.headers[name];
      if (typeof value === 'string') headers.set(name, value);
    }
    const hasBody = status !== 204 && status !== 205;
    const isStream = headers.get('content-type')?.startsWith('text/event-stream') === true;
    const body = hasBody ? ReadableStream.from(withoutNulls(this.#bodyOf(answer), isStream)) : null;
    return new Response(body, { status, headers });
  }

  async *#bodyOf(answer: IncomingMessage): AsyncGenerator<Uint8Array> {
    try {
      for await (const chunk of answer) {
        const bytes = chunk as Buffer;
        this.#bytesLeft -= bytes.length;
        this.#valuesLeft -= countValues(bytes);
        if (this.#bytesLeft < 0 || this.#valuesLeft < 0) throw new ProbeFault('answer-too-large');
        yield bytes;
      }
    } catch (error) {
      throw this.#remember(error);
    }
  }

  #remember(error: unknown): ProbeFault {
    const fault = probeFaultOf(error);
    // After an abort the reason is already known: errors that follow from it do not count.
    if (!this.#signal.aborted) this.#fault ??= fault;
    return fault;
  }
}

/** Leaves out what the relay overlooks and the client would refuse, in JSON or in each line of events. */
async function* withoutNulls(body: AsyncIterable<Uint8Array>, isStream: boolean): AsyncGenerator<Uint8Array> {
  const decoder = new TextDecoder();
  const mended = (text: string): Buffer =>
    Buffer.from(isStream ? text.replace(/(?<=(?:^|[\r\n])data:)[^\r\n]*/g, withoutNull) : withoutNull(text));
  let rest = '';
  for await (const bytes of body) {
    const text = decoder.decode(bytes, { stream: true });
    const end = isStream ? text.lastIndexOf('\n') + 1 : 0;
    if (end > 0) yield mended(rest + text.slice(0, end));
    rest = end > 0 ? text.slice(end) : rest + text;
  }
  yield mended(rest + decoder.decode());
}

/** Of `result` and `error`, some servers write both in every answer, one of them `null`. */
function withoutNull(json: string): string {
  if (!/"(?:result|error)"\s*:\s*null/.test(json)) return json;
  try {
    const message = JSON.parse(json) as { result?: unknown; error?: unknown };
    if (message.error === null) delete message.error;
    else if (message.result === null) delete message.result;
    return JSON.stringify(message);
  } catch {
    return json;
  }
}

function isInitialize(body: string): boolean {
  return body !== '' && (JSON.parse(body) as { method?: unknown }).method === 'initialize';
}

/** The response unchanged; throws if it says which versions the server speaks, because that is then the fault. */
async function checkVersionRefusal(response: Response): Promise<Response> {
  const text = await response.text();
  let message: { readonly error?: unknown } | null = null;
  try {
    message = JSON.parse(text) as { readonly error?: unknown } | null;
  } catch {
    // Not JSON but, for example, a proxy's error page: the status says enough.
  }
  const fault = versionFaultOf(message?.error);
  if (fault !== undefined) throw fault;
  return new Response(text, { status: response.status, headers: response.headers });
}

/** An upper bound of the JSON values in these bytes: each but the first follows one of these characters, which also count in strings. */
function countValues(bytes: Buffer): number {
  let count = 0;
  for (const byte of bytes) if (byte === COMMA || byte === BRACE || byte === BRACKET) count += 1;
  return count;
}

const COMMA = 0x2c;
const BRACE = 0x7b;
const BRACKET = 0x5b;
