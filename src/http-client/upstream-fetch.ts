// A `fetch` for libraries, over the HTTP client for backends: with its address guard, certificate authorities and shares of connections. A
// response is read as fast as its reader takes it. Cold path.
import { plainRequest, type HttpUpstream, type UpstreamRequest } from './http-upstream.js';
import { isTemporaryRefusal } from './response-parser.js';
import {
  faultReason,
  movedTarget,
  upstreamFault,
  type UpstreamFault,
  type UpstreamFaultKind,
} from './upstream-fault.js';

interface FetchContext {
  readonly http: HttpUpstream;
  readonly subject: string;
  /** A signal that ends the request, and the reading of its response. */
  readonly signal: AbortSignal;
  /** Called for each piece of a response. @returns false to fail the request because its response is too large. */
  readonly acceptsPiece: (piece: Buffer) => boolean;
  readonly errorOf: (fault: UpstreamFault) => Error;
}

export interface FetchedRequest {
  readonly method?: string | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

/** Statuses of responses without a body (Fetch, 2.2.3). */
const BODILESS_STATUSES: ReadonlySet<number> = new Set([204, 205, 304]);

/** How many redirects of one request are followed, as by official clients. */
const REDIRECTS_MAX = 5;

/**
 * Sends a request. The response has only the headers that `UpstreamHandler.onHead` gets. Redirects are followed within the origin; those of
 * a POST, which may carry a secret, only to the same path with or without a trailing slash.
 */
export async function upstreamFetch(
  context: FetchContext,
  url: URL,
  request: FetchedRequest,
  redirectsLeft = REDIRECTS_MAX,
): Promise<Response> {
  const response = await fetchOnce(context, url, request);
  const isGet = (request.method ?? 'GET') === 'GET';
  // For a GET, all redirects mean the same.
  const status = isGet && [301, 302, 303].includes(response.status) ? 308 : response.status;
  const target = { origin: url.origin, path: url.pathname + url.search };
  const moved = movedTarget(status, response.headers.get('location') ?? '', target, !isGet);
  if (moved === undefined || redirectsLeft === 0) return response;
  await response.body?.cancel();
  return upstreamFetch(context, new URL(moved.origin + moved.path), request, redirectsLeft - 1);
}

async function fetchOnce(
  { http, subject, signal, acceptsPiece, errorOf }: FetchContext,
  { origin, pathname, search }: URL,
  { method = 'GET', headers = {}, body }: FetchedRequest,
): Promise<Response> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(errorOf(upstreamFault('answer-timeout', true)));
    let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
    const fail = (fault: UpstreamFault): void => {
      signal.removeEventListener('abort', onAbort);
      const error = errorOf(fault);
      controller?.error(error);
      reject(error);
    };
    const abortWith = (kind: UpstreamFaultKind): void => {
      call.abort();
      fail(upstreamFault(kind));
    };
    const onAbort = (): void => abortWith('answer-timeout');
    const request = plainRequest(
      subject,
      { origin, path: pathname + search },
      method as UpstreamRequest['method'],
      Object.entries(headers).flat(),
      typeof body === 'string' || body instanceof URLSearchParams ? Buffer.from(String(body)) : undefined,
    );
    const call = http.dispatch(request, {
      onHead: (status, contentType, sessionId, _bodyBytes, statusHeader) => {
        const stream = new ReadableStream<Uint8Array>({
          start: (created) => void (controller = created),
          pull: () => call.resume(),
          cancel: () => call.abort(),
        });
        try {
          const head = { status, headers: headersOf(status, contentType, sessionId, statusHeader) };
          resolve(new Response(BODILESS_STATUSES.has(status) ? null : stream, head));
        } catch {
          // `Response` refuses some statuses by an exception, which nothing would catch in the socket's callback.
          abortWith('answer-invalid');
        }
      },
      onData: (piece) => {
        if (!acceptsPiece(piece)) return abortWith('answer-too-large');
        controller?.enqueue(new Uint8Array(piece));
        if ((controller?.desiredSize ?? 0) <= 0) call.pause();
      },
      onEnd: () => {
        signal.removeEventListener('abort', onAbort);
        controller?.close();
      },
      onFault: fail,
    });
    signal.addEventListener('abort', onAbort, { once: true });
  });
}

/** A `fetch` that follows no redirects. */
export function fetchOver(
  http: HttpUpstream,
): (url: string, signal: AbortSignal, headers: Readonly<Record<string, string>>) => Promise<Response> {
  const errorOf = (fault: UpstreamFault): Error => new Error(faultReason(fault));
  return async (url, signal, headers) =>
    fetchOnce({ http, subject: '', signal, acceptsPiece: () => true, errorOf }, new URL(url), { headers });
}

function headersOf(status: number, contentType: string, sessionId: string, statusHeader: string): Headers {
  const statusHeaderName =
    status < 300
      ? 'set-cookie'
      : status < 400
        ? 'location'
        : isTemporaryRefusal(status)
          ? 'retry-after'
          : 'www-authenticate';
  const headers = new Headers({ 'content-type': contentType, 'mcp-session-id': sessionId });
  for (const line of statusHeader.split('\n')) headers.append(statusHeaderName, line);
  for (const [name, value] of [...headers]) if (value === '') headers.delete(name);
  return headers;
}
