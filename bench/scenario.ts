// What a scenario is made of: who is measured, against what, and what each connection asks.
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

/** `cpu`: CPU time for one unit. `p50`, `p99`: of the whole answer. `resident`: memory that each unit holds. */
export type FigureKind = 'cpu' | 'p50' | 'p99' | 'resident';

export interface Scenario {
  readonly name: ScenarioName;
  /** What a cost is counted by: one loop of the script. */
  readonly unit: Unit;
  /** The one figure that is held against the yardstick, the goal and the baseline. */
  readonly figure: FigureKind;
  /** `undefined`: the figure stands for itself. */
  readonly yardstick: TargetName | undefined;
  /** What the yardstick is given besides: their figures are added, round by round. */
  readonly yardstickWith?: TargetName;
  /** What the ratio should be at most; without a yardstick, the figure itself in bytes. */
  readonly goal: number;
  readonly measures: readonly Measure[];
  /** Runs of their own in full mode. */
  readonly connectionCounts: readonly number[];
  /** The same in quick mode. */
  readonly quickConnectionCounts: readonly number[];
  readonly createScript: (hop: Hop, connection: number) => Script;
}

/** One run of each round. */
export type Measure =
  | LoadMeasure
  /** The bare script instead of a load on a target. */
  | { readonly kind: 'script'; readonly target: 'script' }
  /** Bare reads of records from the Redis of the gateways that share one. */
  | { readonly kind: 'reads'; readonly target: 'a read' }
  | FirstCallMeasure
  | IdleMeasure;

/** Sessions are opened at one gateway, and the first call of each goes to another, or to the same; nothing but these calls is measured. */
export interface FirstCallMeasure {
  readonly kind: 'first-call';
  readonly target: TargetName;
  readonly opensAt: PlaceName;
  readonly place: PlaceName;
}

/** Sessions that are opened and left alone, in a gateway of their own. */
export interface IdleMeasure {
  readonly kind: 'idle';
  readonly target: 'gateway';
  /** Each has its GET stream open, or is one that a `subscriptions/listen` has; and it is measured what that costs while nothing is said. */
  readonly isListening: boolean;
}

export interface LoadMeasure {
  readonly kind: 'load';
  /** The name of the run. */
  readonly target: TargetName;
  readonly place: PlaceName;
  /** Open loop at this rate; `half` is half of what the gateway answered in a closed loop, just before. */
  readonly requestsPerSecond?: number | 'half';
  /** Where the sessions of a gateway with two workers are. */
  readonly owner?: 'home' | 'other';
  /** Somebody else asks for the long lists all the time. */
  readonly isListedMeanwhile?: true;
  /** What each connection asks in this run, where that is not what the scenario says. */
  readonly createScript?: Scenario['createScript'];
}

/** What stands in front of the backends, as far as a request must know. */
export type Hop =
  /** One path for all backends of a virtual host, which are told apart by the tool's name. */
  | {
      readonly kind: 'gateway';
      /** `own`: the gateway may write an answer in its own way, so that only the tool's text in it is looked for. */
      readonly answers: 'exact' | 'own';
      path(virtualHost: VirtualHostName): string;
      toolName(backend: BackendName, tool: string): string;
      uri(backend: BackendName, uri: string): string;
    }
  /** A path for each backend, whose answers come as they are. */
  | { readonly kind: 'plain'; path(virtualHost: VirtualHostName, backend: BackendName): string };
