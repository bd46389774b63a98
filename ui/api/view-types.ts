// What the control plane reports about the gateway's activity: only the members that pages show.

export interface UpstreamState {
  readonly name: string;
  readonly state: string;
  readonly reason?: string;
}

/** A worker of the dataplane: its number, or `machine/number` where there are several dataplanes. */
export type Slot = number | string;

export interface DataplaneSession {
  readonly slot: Slot;
  readonly session: string;
  readonly subject: string;
  readonly virtualHost: string;
  readonly client: string;
  readonly ageS: number;
  readonly idleS: number;
  readonly isBusy: boolean;
  readonly backends: readonly UpstreamState[];
}

export interface DataplaneSessions {
  readonly sessions: readonly DataplaneSession[];
  readonly total: number;
  readonly silent: readonly Slot[];
}

export interface ToldRequest {
  readonly plane: 'control-plane' | 'dataplane';
  readonly slot?: Slot;
  readonly requestId: string;
  readonly subject: string;
  readonly virtualHost: string;
  readonly method: string;
  readonly backend: string;
  readonly tool: string;
  readonly outcome: string;
  readonly detail?: string | number;
  /** Of a call of a tool that failed: what the same call would get now, and why. */
  readonly verdict?: string;
  /** 0: no response was sent. */
  readonly status: number;
  readonly durationMs: number;
  readonly backendMs?: number;
  readonly endedAt: string;
}

export interface ExplainedBackend {
  readonly name: string;
  readonly origin: string;
  readonly obstacle?: string;
  readonly allowedTools: 'all' | readonly string[];
  readonly circuit: string;
  readonly reason?: string;
  readonly forgiven?: Readonly<Record<string, number>>;
  readonly lastFault: { readonly reason: string; readonly at: string } | null;
  readonly sessions: readonly { readonly session: string; readonly state: string; readonly reason?: string }[];
}

export interface ExplainedByWorker {
  readonly slot: Slot;
  readonly config?: string;
  /** The config is the last known one, used while the store is lost. */
  readonly kept?: { readonly readAt: string; readonly usedUntil: string };
  readonly oddities?: string;
  readonly verdict?: string;
  readonly error?: string;
  readonly virtualHosts?: readonly string[];
  readonly backends: readonly ExplainedBackend[];
}

export interface Explanation {
  readonly subject: string;
  readonly virtualHost: string;
  readonly tool: string;
  readonly workers: readonly ExplainedByWorker[];
  readonly silent: readonly Slot[];
}

export interface AuditEntry {
  readonly at: string;
  readonly operation: string;
  readonly kind: 'servers' | 'compositions' | 'connections' | 'user-configs' | 'secrets';
  readonly subject: string;
  readonly requestId?: string;
  readonly id?: string;
  readonly name?: string;
  readonly before?: Readonly<Record<string, unknown>>;
  readonly after?: Readonly<Record<string, unknown>>;
  readonly outcome?: 'unknown';
  readonly unpublished?: number;
  readonly fault?: string;
  readonly owner?: string;
  readonly team?: string;
}

export interface Trouble {
  readonly code: string;
  /** `''` for everyone but admins. */
  readonly message: string;
}

export interface LiveReading {
  readonly at: string;
  readonly isReady: boolean;
  readonly obstacles: readonly Trouble[];
  readonly degraded: readonly Trouble[];
  readonly sessions: number;
  readonly streams: number;
  readonly requestsInFlight: number;
  readonly requestsPerSecond: number;
  readonly failuresPerSecond: number;
  readonly refusalsPerSecond: number;
  readonly callsPerSecond: number;
  /** `null` when there were no calls. */
  readonly callP50Ms: number | null;
  readonly callP99Ms: number | null;
  readonly gatewayP99Ms: number | null;
  readonly workers: readonly {
    readonly slot: Slot;
    readonly state: string;
    readonly health: string;
    readonly sessions: number;
    readonly requestsInFlight: number;
    readonly cpuShare: number;
    readonly rssBytes: number;
  }[];
  readonly backends: readonly {
    readonly name: string;
    readonly requestsPerSecond: number;
    readonly failuresPerSecond: number;
    readonly p99Ms: number | null;
  }[];
}
