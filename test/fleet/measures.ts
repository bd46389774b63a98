// What was measured of sessions in Redis, for the arithmetic of a large fleet (arithmetic.ts): plain data, kept in measures.json.
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
  /** Commands that it carried out, those in scripts among them, by their names: `INFO commandstats`. */
  readonly commands: Readonly<Record<string, number>>;
  /** Of its whole process, µs. */
  readonly cpuUs: number;
}

export interface FleetMeasures {
  /** ISO 8601, UTC. */
  readonly measuredAt: string;
  readonly redis: string;
  readonly processor: string;
  readonly sessions: number;
  /** What Redis grew by for each session whose record it holds: key, value, expiry, and who is to be told of changes. */
  readonly sessionBytes: number;
  /** Of these, the key with its value: `MEMORY USAGE`. */
  readonly recordBytes: number;
  /** The key of a session that has ended, for as long as it is kept. */
  readonly markBytes: number;
  /** Of a connection. */
  readonly connectionBytes: number;
  readonly connectionsPerWorker: number;
  /** Of a worker that nobody asks anything. */
  readonly pingsPerSecond: number;
  readonly pingCpuUs: number;
  readonly events: Readonly<Record<EventName, EventCost>>;
}

export const measuresPath = join(projectRoot, 'test', 'fleet', 'measures.json');

export function readMeasures(): FleetMeasures {
  return JSON.parse(readFileSync(measuresPath, 'utf8')) as FleetMeasures;
}

/** What Redis is not asked costs it nothing: what it did meanwhile was something else. */
export function cpuUsOf(cost: EventCost): number {
  return commandsOf(cost) === 0 ? 0 : cost.cpuUs;
}

/** Commands of an event together. */
export function commandsOf({ commands }: EventCost): number {
  return Object.values(commands).reduce((sum, each) => sum + each, 0);
}
