// The measured costs of sessions in Redis, for the arithmetic of a large fleet (arithmetic.ts): plain data, stored in measures.json.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from '../support/gateway.js';

export const eventNames = [
  'opened',
  'called where it is',
  'adopted',
  'called where it was before',
  'renewed',
  'ended',
  'ended where others had it',
  'config read',
] as const;

export type EventName = (typeof eventNames)[number];

/** What one event costs Redis. */
export interface EventCost {
  /** Commands executed, including those in scripts, by name: `INFO commandstats`. */
  readonly commands: Readonly<Record<string, number>>;
  /** CPU time of the whole Redis process, µs. */
  readonly cpuUs: number;
}

export interface FleetMeasures {
  /** ISO 8601, UTC. */
  readonly measuredAt: string;
  readonly redis: string;
  readonly processor: string;
  readonly sessions: number;
  /** Growth of Redis per session whose record it holds: key, value, expiry, and who is notified of changes. */
  readonly sessionBytes: number;
  /** The part for the key with its value: `MEMORY USAGE`. */
  readonly recordBytes: number;
  /** The key of an ended session, for as long as it is kept. */
  readonly markBytes: number;
  /** Memory per connection. */
  readonly connectionBytes: number;
  readonly connectionsPerWorker: number;
  /** By an idle worker. */
  readonly pingsPerSecond: number;
  readonly pingCpuUs: number;
  readonly events: Readonly<Record<EventName, EventCost>>;
}

export const measuresPath = join(projectRoot, 'test', 'fleet', 'measures.json');

export function readMeasures(): FleetMeasures {
  return JSON.parse(readFileSync(measuresPath, 'utf8')) as FleetMeasures;
}

/** Without commands an event costs Redis nothing: CPU time measured meanwhile was spent on something else. */
export function cpuUsOf(cost: EventCost): number {
  return commandsOf(cost) === 0 ? 0 : cost.cpuUs;
}

/** The total number of an event's commands. */
export function commandsOf({ commands }: EventCost): number {
  return Object.values(commands).reduce((sum, each) => sum + each, 0);
}
