// The `fetch` that the OAuth library uses for authorization servers, over the HTTP client that also serves backends: the same address guard
// and the same per-subject connection shares. One deadline and a limit of bytes for each request. Cold path.
import type { DeadlineWheel } from '../fair/index.js';
import { limits } from '../shared/index.js';
import {
  plainRequest,
  type HttpUpstream,
  upstreamFault,
  type UpstreamFault,
  type UpstreamFaultKind,
} from '../http-client/index.js';

export interface OAuthMeans {
  readonly http: HttpUpstream;
  readonly deadlines: DeadlineWheel;
}

/** The request to the authorization server failed. */
export class OAuthFetchError extends Error {
  override readonly name = 'OAuthFetchError';
  readonly fault: UpstreamFault;

  constructor(fault: UpstreamFault) {
    super(fault.kind);
    this.fault = fault;
  }
}

interface FetchInit {
  readonly method: string;
  readonly headers: Record<string, string>;
  readonly body: URLSearchParams | string | undefined | null;
}

/** Final statuses of responses without a body (Fetch, 2.2.3). */
const BODILESS: ReadonlySet<number> = new Set([204, 205, 304]);

/** @param subject on whose behalf the requests are made. */
export function oauthFetch({ http, deadlines }: OAuthMeans, subject: string) {
  return async (url: string, { headers, body }: FetchInit): Promise<Response> =>
    new Promise((resolve, reject) => {
      const { origin, pathname, search } = new URL(url);
      const received: Buffer[] = [];
      let receivedBytes = 0;
      const head = { status: 0, contentType: '' };
      const fail = (fault: UpstreamFault): void => {
        deadline.cancel();
        reject(new OAuthFetchError(fault));
      };
      const giveUp = (kind: UpstreamFaultKind): void => {
        call.abort();
        fail(upstreamFault(kind));
      };
      const deadline = deadlines.after(limits.tokenFetchMsMax, () => giveUp('answer-timeout'));
      const request = plainRequest(
        subject,
        { origin, path: pathname + search },
        'POST',
        Object.entries(headers).flat(),
        Buffer.from(String(body ?? '')),
      );
      const call = http.dispatch(request, {
        onHead: (status, contentType) => Object.assign(head, { status, contentType }),
        onData: (chunk) => {
          receivedBytes += chunk.length;
          if (receivedBytes > limits.tokenAnswerBytesMax) giveUp('answer-too-large');
          else received.push(Buffer.from(chunk));
        },
        onEnd: () => {
          deadline.cancel();
          try {
            resolve(responseOf(head.status, head.contentType, Buffer.concat(received)));
          } catch {
            // An exception must not reach the socket's read callback: nothing catches it there.
            giveUp('answer-invalid');
          }
        },
        onFault: fail,
      });
    });
}

/** Throws when such a response cannot exist. */
function responseOf(status: number, contentType: string, body: Buffer): Response {
  // `Response` rejects a body for a bodiless status.
  return new Response(BODILESS.has(status) ? null : body, { status, headers: { 'content-type': contentType } });
}
