// Requests to backends and authorization servers on behalf of a user on the consent page: never to a refused address,
// without redirects, under one deadline, and with a size limit for each response. Cold path.
import { once } from 'node:events';
import { request as requestHttp, type IncomingMessage } from 'node:http';
import { request as requestHttps } from 'node:https';
import type { UpstreamOptions } from '../../config/index.js';
import { guardedLookupOf, type Names } from '../../http-client/index.js';
import { isObject } from '../../bytes/index.js';
import { limits } from '../../shared/index.js';
import { ControlPlaneFault } from '../common/control-plane-fault.js';

export interface ConnectFetchMeans {
  readonly names: Names;
  readonly mode: UpstreamOptions['mode'];
}

interface Asked {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: URLSearchParams | string | undefined | null;
}

/** Status and `www-authenticate` of a response. */
interface AnswerHead {
  readonly status: number;
  readonly challenge: string;
}

export class ConnectFetch {
  readonly #means: ConnectFetchMeans;
  readonly #subject: string;
  readonly #signal: AbortSignal;

  /** For one step of one consent. @param subject whose share of DNS look-ups is used. */
  constructor(means: ConnectFetchMeans, subject: string, withinMs: number = limits.connectMsMax) {
    this.#means = means;
    this.#subject = subject;
    this.#signal = AbortSignal.timeout(withinMs);
  }

  /** The `fetch` that the OAuth library uses. */
  readonly fetch = async (url: string | URL, asked: Asked = {}): Promise<Response> => {
    const answer = await this.#ask(new URL(url), asked);
    const pieces: Buffer[] = [];
    let bytes = 0;
    try {
      for await (const piece of answer as AsyncIterable<Buffer>) {
        bytes += piece.length;
        if (bytes > limits.connectAnswerBytesMax)
          throw new ControlPlaneFault('party-unfit', 'A server’s response is too large.');
        pieces.push(piece);
      }
    } catch (error) {
      throw faultOf(error);
    } finally {
      answer.destroy();
    }
    const status = answer.statusCode ?? 0;
    if (status < 200 || status > 599)
      throw new ControlPlaneFault('party-unfit', 'A server’s response is not valid HTTP.');
    const type = answer.headers['content-type'] ?? '';
    const isBodiless = status === 204 || status === 205 || status === 304;
    return new Response(isBodiless ? null : Buffer.concat(pieces), { status, headers: { 'content-type': type } });
  };

  /** Reads the head only: the body may never end. */
  async head(url: URL, asked: Asked): Promise<AnswerHead> {
    const answer = await this.#ask(url, asked);
    answer.destroy();
    const challenge = answer.headers['www-authenticate'] ?? '';
    return { status: answer.statusCode ?? 0, challenge: challenge.slice(0, limits.upstreamRefusalBytesMax) };
  }

  /** The JSON object at this URL; `undefined` where there is none. */
  async object(url: URL): Promise<Readonly<Record<string, unknown>> | undefined> {
    const response = await this.fetch(url, { headers: { accept: 'application/json' } });
    if (response.status !== 200) return undefined;
    try {
      const value: unknown = JSON.parse(await response.text());
      return isObject(value) ? value : undefined;
    } catch {
      return undefined;
    }
  }

  async #ask(url: URL, { method = 'GET', headers = {}, body }: Asked): Promise<IncomingMessage> {
    this.check(url);
    const request = (url.protocol === 'https:' ? requestHttps : requestHttp)(url, {
      ...{ method, headers, agent: false, signal: this.#signal },
      lookup: guardedLookupOf(this.#means.names, this.#subject),
      maxHeaderSize: limits.upstreamHeaderBytesMax,
    });
    request.end(body === undefined || body === null ? undefined : String(body));
    try {
      const [answer] = (await once(request, 'response')) as [IncomingMessage];
      return answer;
    } catch (error) {
      throw faultOf(error);
    } finally {
      // Later errors are also reported to the reader of the response.
      request.on('error', () => {});
    }
  }

  /** Throws for a URL that must not be connected to. The addresses of a host name are checked when connecting. */
  check(url: URL): void {
    if (!/^https?:$/.test(url.protocol))
      throw new ControlPlaneFault('party-unfit', 'A server names an address that is not http or https.');
    if (url.protocol === 'http:' && this.#means.mode === 'tls-only')
      throw new ControlPlaneFault(
        'party-unfit',
        'A server names an http address, which needs --upstream-connection-mode plain-text-or-tls.',
      );
    if (this.#means.names.guard.obstacleOfHost(url.hostname) !== undefined)
      throw new ControlPlaneFault('party-unfit', 'A server names an address that is not allowed.');
  }
}

function faultOf(error: unknown): ControlPlaneFault {
  if (error instanceof ControlPlaneFault) return error;
  const { code = '', name = '' } = error as NodeJS.ErrnoException;
  if (name === 'AbortError' || name === 'TimeoutError')
    return new ControlPlaneFault('party-silent', 'A server did not answer in time: try again later.');
  if (code.startsWith('ADDRESS_'))
    return new ControlPlaneFault('party-unfit', 'A server names an address that is not allowed.');
  return new ControlPlaneFault('party-unfit', 'A server cannot be reached: try again later.', { cause: error });
}
