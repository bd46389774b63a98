// Requests to authorization servers as the OAuth library makes them, over the HTTP client that requests to backends go over:
// the same guard of addresses, the same shares of connections by subject. One deadline, and so many bytes. Cold.
import type { DeadlineWheel } from '../../shared/deadline-wheel.js';
import { limits } from '../../shared/limits.js';
import { plainRequest, type HttpUpstream } from '../http/http-upstream.js';
import { upstreamFault, type UpstreamFault, type UpstreamFaultKind } from '../http/upstream-fault.js';

export interface OAuthMeans {
  readonly http: HttpUpstream;
  readonly deadlines: DeadlineWheel;
}

/** The authorization server could not be asked. */
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

/** Statuses of answers without a body (Fetch, 2.2.3), as far as they can be final. */
const BODILESS: ReadonlySet<number> = new Set([204, 205, 304]);

/** @param subject on whose behalf. */
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
            // It must not go up into the socket that the answer was read from: nobody catches it there.
            giveUp('answer-invalid');
          }
        },
        onFault: fail,
      });
    });
}

/** Throws when there can be no such response. */
function responseOf(status: number, contentType: string, body: Buffer): Response {
  // What has no body must not be given one.
  return new Response(BODILESS.has(status) ? null : body, { status, headers: { 'content-type': contentType } });
}
