// What a caller may learn of the dataplane: what a subject may reach and why, who has sessions, and what became of a
// request. Admins may ask about everybody, others about themselves. Cold path.
import type { RecentRequest, RecentRequests } from '../../observation/index.js';
import {
  subjectHash,
  explanationShape,
  requestsShape,
  sessionsShape,
  type DataplaneRequest,
  type DataplaneSessions,
  type Explanation,
} from '../../shared/index.js';
import type { AdminListener } from './admin-listener.js';
import { ControlPlaneFault } from '../common/control-plane-fault.js';

/** A request that one of the planes has answered recently. */
type ToldRequest = Omit<DataplaneRequest, 'slot'> & {
  readonly plane: 'control-plane' | 'dataplane';
  /** Only for requests to the dataplane. */
  readonly slot?: number;
};

interface ExplainQuestion {
  readonly subject: string;
  readonly virtualHost: string;
  /** `''`: no particular tool. */
  readonly tool: string;
}

interface SessionsQuestion {
  /** `''`: all subjects. */
  readonly subject: string;
  /** Hash of a session id; `''`: all sessions. */
  readonly session: string;
  readonly limit: number;
  /** `''`: the first page. */
  readonly cursor: string;
}

/** Its methods throw a `ControlPlaneFault`. */
export class DataplaneViews {
  readonly #listener: AdminListener | undefined;
  readonly #recent: Pick<RecentRequests, 'find'> | undefined;

  /**
   * @param listener `undefined` where none is configured.
   * @param recent requests to the control plane's own MCP endpoints.
   */
  constructor(listener: AdminListener | undefined, recent: Pick<RecentRequests, 'find'> | undefined) {
    this.#listener = listener;
    this.#recent = recent;
  }

  /** @param asker the subject whose share of questions this uses. */
  async explain(asker: string, { subject, virtualHost, tool }: ExplainQuestion): Promise<Explanation> {
    const query = new URLSearchParams({ subject, virtual_host: virtualHost, tool });
    return understood(explanationShape, await this.#ask(asker, `/explain?${query.toString()}`));
  }

  async sessions(asker: string, { limit, ...question }: SessionsQuestion): Promise<DataplaneSessions> {
    const wanted = Object.entries({ ...question, limit: String(limit) }).filter(([, value]) => value !== '');
    const query = new URLSearchParams(wanted);
    return understood(sessionsShape, await this.#ask(asker, `/sessions?${query.toString()}`));
  }

  /**
   * Looks among this control plane's requests first, and asks the dataplane only if it finds none there.
   * @param of the subject whose requests are returned; `undefined`: everybody's.
   */
  async requests(asker: string, requestId: string, of: string | undefined): Promise<ToldRequest[]> {
    const own = (this.#recent?.find(requestId) ?? []).map(toldRequest);
    const told = own.length > 0 ? own : await this.#dataplaneRequests(asker, requestId);
    return of === undefined ? told : told.filter(({ subject }) => subject === subjectHash(of));
  }

  async #dataplaneRequests(asker: string, requestId: string): Promise<ToldRequest[]> {
    const { status, value } = await this.#requireListener().askFor(asker, `/requests/${encodeURIComponent(requestId)}`);
    if (status === 404) return [];
    return understood(requestsShape, value).requests.map((request) => ({ plane: 'dataplane', ...request }));
  }

  async #ask(asker: string, path: string): Promise<unknown> {
    const { status, value } = await this.#requireListener().askFor(asker, path);
    if (status === 404)
      throw new ControlPlaneFault('dataplane-refused', 'The dataplane has no such view: it may be an older version');
    return value;
  }

  #requireListener(): AdminListener {
    if (this.#listener !== undefined) return this.#listener;
    throw new ControlPlaneFault('dataplane-unnamed', UNNAMED);
  }
}

export const UNNAMED =
  'This control plane does not know the dataplane’s admin listener: start it with --dataplane-admin-address, e.g. 127.0.0.1:8002';

interface Shape<Value> {
  safeParse(value: unknown): { readonly success: true; readonly data: Value } | { readonly success: false };
}

/** Throws a `ControlPlaneFault`. */
export function understood<Value>(shape: Shape<Value>, value: unknown): Value {
  const parsed = shape.safeParse(value);
  if (parsed.success) return parsed.data;
  const words =
    'The response of the dataplane’s admin listener is not understood: it may be another version of Switchyard';
  throw new ControlPlaneFault('dataplane-refused', words);
}

function toldRequest({ subject, endedAtMs, durationMs, backendMs, detail, ...request }: RecentRequest): ToldRequest {
  return {
    ...{ plane: 'control-plane', ...request, subject: subjectHash(subject) },
    ...(detail !== '' && { detail }),
    durationMs: tenths(durationMs),
    ...(backendMs >= 0 && { backendMs: tenths(backendMs) }),
    endedAt: new Date(endedAtMs).toISOString(),
  };
}

function tenths(ms: number): number {
  return Math.round(ms * 10) / 10;
}
