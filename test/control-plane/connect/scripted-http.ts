// Answers of backends and authorization servers that a test makes up, without a network.
import { ConnectFetch, type ConnectFetchDependencies } from '../../../src/control-plane/connect/connect-fetch.js';
import type { HttpUpstream, UpstreamRequest } from '../../../src/http-client/http-upstream.js';
import { Names } from '../../../src/http-client/names/names.js';
import type { UpstreamFault } from '../../../src/http-client/upstream-fault.js';

export interface ScriptedAnswer {
  /** 200 if left out. */
  readonly status?: number;
  readonly body?: object | string;
  /** The header that the status calls for, as `WWW-Authenticate`. */
  readonly header?: string;
  /** Whether the body goes on without end. */
  readonly isEndless?: boolean;
  /** In place of an answer. */
  readonly fault?: UpstreamFault;
}

export interface AskedRequest extends UpstreamRequest {
  readonly url: string;
  readonly text: string;
}

export interface ScriptedHttp extends HttpUpstream {
  readonly asked: AskedRequest[];
  /** How many calls were given up. */
  aborted: number;
}

/** @param answer `undefined` for 404; `'silence'` for no answer at all. */
export function scriptedHttp(answer: (request: AskedRequest) => ScriptedAnswer | 'silence' | undefined): ScriptedHttp {
  const http: ScriptedHttp = {
    asked: [],
    aborted: 0,
    dispatch: (request, handler) => {
      const url = request.target.origin + request.target.path;
      const asked = { ...request, url, text: request.body?.toString() ?? '' };
      http.asked.push(asked);
      let isOver = false;
      // Keeps the process alive, as the socket of a request that waits does: the timers of signals do not.
      let openConnection: NodeJS.Timeout | undefined;
      queueMicrotask(() => {
        const said = answer(asked) ?? { status: 404 };
        if (isOver) return;
        if (said === 'silence') return void (openConnection = setInterval(() => {}, 1_000));
        const { status = 200, body = '', header = '', isEndless = false, fault } = said;
        if (fault !== undefined) return handler.onFault(fault);
        const bytes = Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
        handler.onHead(status, 'application/json', '', bytes.length, header);
        if (!isOver && bytes.length > 0) handler.onData(bytes);
        if (!isOver && !isEndless) handler.onEnd();
      });
      const abort = (): void => {
        isOver = true;
        clearInterval(openConnection);
        http.aborted += 1;
      };
      return { isSent: true, abort, pause: () => {}, resume: () => {} };
    },
    close: async () => {},
  };
  return http;
}

export function fetchVia(
  http: HttpUpstream,
  { mode = 'plain-text-or-tls', names = new Names() }: Partial<ConnectFetchDependencies> = {},
  withinMs?: number,
): ConnectFetch {
  return new ConnectFetch({ http, names, mode }, 'alice', withinMs);
}
