// Requests to authorization servers as the OAuth library makes them, over the HTTP client that requests to backends go over:
// the same guard of addresses, the same shares of connections by subject. One deadline, and so many bytes. Cold.
import type { DeadlineWheel } from '../../shared/deadline-wheel.js';
import { limits } from '../../shared/limits.js';
import { plainRequest, type HttpUpstream } from '../http-upstream.js';
import { upstreamFault, type UpstreamFault } from '../upstream-fault.js';

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
      const deadline = deadlines.after(limits.tokenFetchMsMax, () => {
        call.abort();
        fail(upstreamFault('answer-timeout'));
      });
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
          received.push(Buffer.from(chunk));
          if (receivedBytes <= limits.tokenAnswerBytesMax) return;
          call.abort();
          fail(upstreamFault('answer-too-large'));
        },
        onEnd: () => {
          deadline.cancel();
          // What has no body must not be given one.
          const isEmpty = head.status === 204 || head.status === 304 || head.status < 200;
          const answer = isEmpty ? null : Buffer.concat(received);
          resolve(
            new Response(answer, { status: Math.max(head.status, 200), headers: { 'content-type': head.contentType } }),
          );
        },
        onFault: fail,
      });
    });
}
