// Requests to backends and authorization servers for a consent or sign-in: never to a refused address, with
// redirects only within an origin, with one deadline and a size limit for each response. Cold path.
import type { UpstreamOptions } from '../../config/index.js';
import {
  type Names,
  type HttpUpstream,
  type FetchedRequest,
  upstreamFetch,
  type UpstreamFault,
} from '../../http-client/index.js';
import { isObject, tryParseJson, limits } from '../../shared/index.js';
import { ControlPlaneFault } from '../common/control-plane-fault.js';

export interface ConnectFetchDependencies {
  readonly http: HttpUpstream;
  readonly names: Pick<Names, 'guard'>;
  readonly mode: UpstreamOptions['mode'];
}

export class ConnectFetch {
  readonly #dependencies: ConnectFetchDependencies;
  readonly #subject: string;
  readonly #signal: AbortSignal;

  /** One instance is for one step of a consent or sign-in. @param subject whose quota of connections and look-ups is used. */
  constructor(dependencies: ConnectFetchDependencies, subject: string, withinMs: number = limits.connectMsMax) {
    this.#dependencies = dependencies;
    this.#subject = subject;
    this.#signal = AbortSignal.timeout(withinMs);
  }

  /** Requests a URL in the way that the OAuth library expects of `fetch`. */
  readonly fetch = async (url: string | URL, request: FetchedRequest = {}): Promise<Response> => {
    const target = new URL(url);
    this.checkUrl(target);
    let bytes = 0;
    const acceptsPiece = ({ length }: Buffer): boolean => (bytes += length) <= limits.authorizationAnswerBytesMax;
    const { http } = this.#dependencies;
    const bounds = { subject: this.#subject, signal: this.#signal, acceptsPiece, errorOf: faultOf };
    return upstreamFetch({ http, ...bounds }, target, request);
  };

  /** Resolves with the response; with `undefined` if it is compressed: that was not asked for, and cannot be read. */
  async fetchReadable(url: URL, request: FetchedRequest): Promise<Response | undefined> {
    return this.fetch(url, request).catch((error: unknown) => {
      if (error instanceof ControlPlaneFault && error.cause === ENCODED_FAULT) return undefined;
      throw error;
    });
  }

  /** The JSON object at the URL; `undefined` if there is none. */
  async fetchObject(url: URL): Promise<Readonly<Record<string, unknown>> | undefined> {
    const response = await this.fetchReadable(url, { headers: { accept: 'application/json' } });
    const text = await response?.text();
    if (response?.status !== 200 || text === undefined) return undefined;
    const value = tryParseJson(text);
    return isObject(value) ? value : undefined;
  }

  /** Throws if the URL must not be connected to. The addresses of a host name are checked when connecting. */
  checkUrl(url: URL): void {
    if (!/^https?:$/.test(url.protocol)) throw unusableResponse('A server names an address that is not http or https.');
    if (url.protocol === 'http:' && this.#dependencies.mode === 'tls-only')
      throw unusableResponse(
        'A server names an http address, which needs --upstream-connection-mode plain-text-or-tls.',
      );
    if (this.#dependencies.names.guard.obstacleOfHost(url.hostname) !== undefined) throw unusableResponse(NOT_ALLOWED);
  }
}

const NOT_ALLOWED = 'A server names an address that is not allowed.';

const FAULT_MESSAGES: Readonly<Partial<Record<UpstreamFault['kind'], string>>> = {
  'address-refused': NOT_ALLOWED,
  'address-not-allowed': NOT_ALLOWED,
  'answer-too-large': 'A server’s response is too large.',
  'answer-invalid': 'A server’s response is not valid HTTP.',
  'answer-encoded': 'A server’s response is compressed, which was not asked for.',
};

const ENCODED_FAULT: UpstreamFault['kind'] = 'answer-encoded';

function faultOf({ kind }: UpstreamFault): ControlPlaneFault {
  if (kind === 'answer-timeout' || kind === 'connect-timeout')
    return new ControlPlaneFault('party-silent', 'A server did not answer in time: try again later.');
  return unusableResponse(FAULT_MESSAGES[kind] ?? 'A server cannot be reached: try again later.', kind);
}

export function unusableResponse(words: string, cause?: UpstreamFault['kind']): ControlPlaneFault {
  return new ControlPlaneFault('party-unfit', words, { cause });
}
