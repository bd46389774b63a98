// What a scenario consists of: who is measured, against what, and what each connection requests.
import type { BackendName } from './backend-names.js';
import type { Script } from './load-plan.js';
import type { PlaceName, TargetName } from './targets.js';
import type { VirtualHostName } from './virtual-hosts.js';

export const scenarioNames = [
  'call',
  'call-sse',
  'session',
  'half-rate',
  'hop',
  'scaling',
  'large-arguments',
  'large-result',
  'list',
  'mixed',
  'read',
  'elicit',
  'idle',
  'streams',
  'streams-upstream',
  'call-modern',
  'bridge-to-legacy',
  'bridge-to-modern',
  'listen',
  'session-process',
  'session-store',
  'adopt',
  'call-headers',
  'call-token',
  'list-kept',
  'call-metrics',
  'call-traces',
] as const;

export type ScenarioName = (typeof scenarioNames)[number];

export type Unit = 'call' | 'session' | 'list' | 'read' | 'stream';

/** `cpu`: CPU time per unit. `p50`, `p99`: of the whole response. `resident`: memory that each unit holds. */
export type FigureKind = 'cpu' | 'p50' | 'p99' | 'resident';

export interface Scenario {
  readonly name: ScenarioName;
  /** What costs are divided by: one loop of the script. */
  readonly unit: Unit;
  /** The one figure that is compared with the yardstick, the goal and the baseline. */
  readonly figure: FigureKind;
  /** `undefined`: the figure stands alone. */
  readonly yardstick: TargetName | undefined;
  /** A second yardstick, whose figure is added, round by round. */
  readonly yardstickWith?: TargetName;
  /** The highest acceptable ratio; without a yardstick, the highest figure in bytes. */
  readonly goal: number;
  readonly measures: readonly Measure[];
  /** Numbers of connections, each a point of its own, in full mode. */
  readonly connectionCounts: readonly number[];
  /** The same in quick mode. */
  readonly quickConnectionCounts: readonly number[];
  readonly createScript: (hop: Hop, connection: number) => Script;
}

/** One run in each round. */
export type Measure =
  | LoadMeasure
  /** The bare script instead of a load on a target. */
  | { readonly kind: 'script'; readonly target: 'script' }
  /** Bare reads of records from the Redis of the gateways that share one. */
  | { readonly kind: 'reads'; readonly target: 'a read' }
  | FirstCallMeasure
  | IdleMeasure;

/** Sessions are opened at one gateway, and the first call of each goes to another, or to the same; only these calls are measured. */
export interface FirstCallMeasure {
  readonly kind: 'first-call';
  readonly target: TargetName;
  readonly opensAt: PlaceName;
  readonly place: PlaceName;
}

/** Sessions that are opened and left idle, in a gateway of their own. */
export interface IdleMeasure {
  readonly kind: 'idle';
  readonly target: 'gateway';
  /** Each has an open GET stream, or the stream of a `subscriptions/listen`; their cost while nothing is sent is measured, too. */
  readonly isListening: boolean;
}

export interface LoadMeasure {
  readonly kind: 'load';
  /** The name of the run. */
  readonly target: TargetName;
  readonly place: PlaceName;
  /** Open loop at this rate; `half` is half of the gateway's rate in a closed loop, measured just before. */
  readonly requestsPerSecond?: number | 'half';
  /** Where the sessions of a gateway with two workers are. */
  readonly owner?: 'home' | 'other';
  /** Another user asks for the long lists all the time. */
  readonly isListedMeanwhile?: true;
  /** What each connection requests in this run, if it differs from the scenario's script. */
  readonly createScript?: Scenario['createScript'];
}

/** What is in front of the backends, as far as requests depend on it. */
export type Hop =
  /** One path for all backends of a virtual host, which are distinguished by the tool's name. */
  | {
      readonly kind: 'gateway';
      /** `own`: the gateway may format a response in its own way, so that only the tool's text is searched for in it. */
      readonly answers: 'exact' | 'own';
      path(virtualHost: VirtualHostName): string;
      toolName(backend: BackendName, tool: string): string;
      uri(backend: BackendName, uri: string): string;
    }
  /** A path for each backend, whose responses are unchanged. */
  | { readonly kind: 'plain'; path(virtualHost: VirtualHostName, backend: BackendName): string };
