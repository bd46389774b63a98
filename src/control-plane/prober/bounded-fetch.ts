// The `fetch` of one probe, over the HTTP client that serves backends: it follows no redirect elsewhere, bounds the bytes and JSON values of
// all responses together, and ends with its signal. It remembers the first fault, because the SDK's client wraps some errors beyond
// recognition. What it passes on is read as the relay reads it.
import { EventStreamParser } from '../../bytes/index.js';
import { isObject, limits } from '../../shared/index.js';
import {
  withCookies,
  type HttpUpstream,
  movedTarget,
  redirectPath,
  upstreamFetch,
  type UpstreamFault,
} from '../../http-client/index.js';
import type { UpstreamTarget } from '../../user-config/index.js';
import { isModern, type ProbeMessage } from './probe-client.js';
import { ProbeFault, probeFaultOf, versionFaultOf } from './probe-fault.js';

/**
 * Commas and opening brackets in all answers to one probe; values cost more to parse than bytes. Beyond that, the server counts as failed.
 */
export const PROBE_VALUES_MAX = 524_288;

/** The subject whose share of DNS look-ups probes use; no token has an empty subject. */
const PROBER = '';

export class BoundedFetch {
  readonly #http: HttpUpstream;
  readonly #signal: AbortSignal;
  /** Name, value, …: added to every request. */
  readonly #authHeaders: readonly string[];
  /** By origin, as at the dataplane: a balancer may keep the probe's session at its node by them. */
  readonly #cookies = new Map<string, string>();
  #bytesLeft: number = limits.probeBytesMax;
  #valuesLeft: number = PROBE_VALUES_MAX;
  #fault: ProbeFault | undefined;

  constructor(http: HttpUpstream, signal: AbortSignal, authHeaders: readonly string[]) {
    this.#http = http;
    this.#signal = signal;
    this.#authHeaders = authHeaders;
  }

  get fault(): ProbeFault | undefined {
    return this.#fault;
  }

  /** Forgets a fault that turned out not to matter. */
  forgetFault(): void {
    this.#fault = undefined;
  }

  /** Another probe of the same server, with bounds of its own. */
  also(signal: AbortSignal): BoundedFetch {
    return new BoundedFetch(this.#http, signal, this.#authHeaders);
  }

  /** @param version that a session is initialized in. */
  readonly fetch = async (url: string | URL, init: RequestInit = {}, version = ''): Promise<Response> => {
    const target = new URL(url);
    const { origin, pathname, search } = target;
    const body = typeof init.body === 'string' ? init.body : '';
    const message = messageIn(body);
    const cookie = this.#cookies.get(origin) ?? '';
    const headers = new Headers(init.headers);
    if (cookie !== '') headers.set('cookie', cookie);
    if (isModern(message)) headers.set('mcp-method', String(message.method));
    for (let at = 0; at + 1 < this.#authHeaders.length; at += 2)
      headers.set(this.#authHeaders[at]!, this.#authHeaders[at + 1]!);
    // A probe does not need the server's notification stream, so the client is told that there is none. A GET that
    // resumes a response goes through.
    if (init.method === 'GET' && !headers.has('last-event-id')) return new Response(null, { status: 405 });
    const asked = {
      method: init.method,
      headers: Object.fromEntries(headers),
      body: message.method === 'initialize' ? body.replace(/("protocolVersion":")[^"]*/, `$1${version}`) : init.body,
    };
    const from = { origin, path: pathname + search };
    const first = await this.#request(target, asked);
    const location = first.headers.get('location') ?? '';
    // As at the dataplane: a redirect within the origin is followed once.
    const moved = movedTarget(first.status, location, from, this.#authHeaders.length > 0);
    if (moved !== undefined) await first.body?.cancel();
    const response = moved === undefined ? first : await this.#request(new URL(origin + moved.path), asked);
    const lines = response.headers.getSetCookie().join('\n');
    this.#cookies.set(origin, withCookies(this.#cookies.get(origin) ?? '', lines, moved ?? from));
    return this.#readable(response, moved ?? from, message);
  };

  async #request(url: URL, asked: Parameters<typeof upstreamFetch>[2]): Promise<Response> {
    // The session is ended after the probe, within a timeout of its own.
    const isLate = asked.method === 'DELETE';
    const signal = isLate ? AbortSignal.timeout(limits.noticeMsMax) : this.#signal;
    const errorOf = (fault: UpstreamFault): Error => {
      const told = probeFaultOf(fault);
      return isLate ? told : this.#remember(told);
    };
    const takes = (piece: Buffer): boolean => {
      this.#bytesLeft -= piece.length;
      this.#valuesLeft -= countValues(piece);
      return this.#bytesLeft >= 0 && this.#valuesLeft >= 0;
    };
    return upstreamFetch({ http: this.#http, subject: PROBER, signal, takes, errorOf }, url, asked);
  }

  /** The response in words that the SDK's client understands, which is stricter than the relay. */
  async #readable(response: Response, from: UpstreamTarget, asked: ProbeMessage): Promise<Response> {
    const { status, ok, headers } = response;
    if (status >= 300 && status < 400) {
      await response.body?.cancel();
      const place = redirectPath(headers.get('location') ?? '', from);
      throw this.#remember(new ProbeFault('redirected', place === '' ? undefined : `(${place})`));
    }
    const type = headers.get('content-type');
    // Nothing else answers a request outside of a session.
    if (status === 202 && isModern(asked)) throw this.#remember(new ProbeFault('answer-invalid'));
    if (ok && type === 'text/event-stream') return new Response(response.body?.pipeThrough(mendedEvents()), response);
    if (ok && (type !== 'application/json' || response.body === null)) return response;
    const text = withoutNull(await response.text());
    if (ok) return new Response(text, response);
    const said = messageIn(text);
    // If it says which versions the server speaks, that is the fault.
    const fault = asked.method === 'initialize' ? versionFaultOf(said.error) : undefined;
    if (fault !== undefined) throw this.#remember(fault);
    // Without sessions, a refusal has a status of its own beside the error that says why.
    const isSaid = isModern(asked) && said.error !== undefined && String(said.id) === String(asked.id);
    return isSaid ? Response.json(said) : new Response(text, { status, headers });
  }

  #remember(fault: ProbeFault): ProbeFault {
    // After an abort the reason is already known: errors that follow from it do not count.
    if (!this.#signal.aborted) this.#fault ??= fault;
    return fault;
  }
}

/** Events as the relay reads them, written as the client reads them. */
function mendedEvents(): TransformStream<Uint8Array, Uint8Array> {
  let text = '';
  let told = '';
  const parser = new EventStreamParser((data, event, id) => {
    const lines = withoutNull(data.toString()).replaceAll('\n', '\ndata: ');
    text += `event: ${event}\nid: ${id}\ndata: ${lines}\n\n`;
  }, limits.probeBytesMax);
  return new TransformStream({
    transform: (piece, controller) => {
      text = '';
      parser.push(Buffer.from(piece));
      // Events without data convey an id and a delay for resuming.
      const { lastEventId, retryMs } = parser;
      const resuming = `${retryMs === undefined ? '' : `retry: ${retryMs}\n`}id: ${lastEventId}\ndata:\n\n`;
      if (resuming !== told && lastEventId !== '') text += resuming;
      told = resuming;
      if (text !== '') controller.enqueue(Buffer.from(text));
    },
  });
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

/** Empty for what is not JSON but, for example, a proxy's error page: the status says enough. */
function messageIn(text: string): ProbeMessage {
  try {
    const message: unknown = JSON.parse(text);
    return isObject(message) ? message : {};
  } catch {
    return {};
  }
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
