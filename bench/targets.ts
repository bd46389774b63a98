// What is measured, and the yardsticks that get the same load.
import type { Hop } from './scenario.js';

/** The names of runs: what answered, and in which situation where one scenario compares several. In the order of the tables. */
export const targetNames = [
  'gateway',
  'nginx',
  'direct',
  'script',
  'at home',
  'alone',
  'nginx alone',
  'one worker',
  'anywhere',
  'before',
  'unbridged',
  'no directory',
  'a read',
  'unasked',
  'uncounted',
  'untraced',
] as const;

/** Another gateway, by the name that the user gave it. */
export type PeerName = `peer ${string}`;

export type TargetName = (typeof targetNames)[number] | PeerName;

/** What a load is put on. A scenario may put several loads on one. */
export const placeNames = [
  'gateway',
  'two-workers',
  'remembering',
  'counting',
  'tracing',
  'before',
  'two-workers-before',
  'nginx',
  'direct',
  'gateway-without-directory',
  'redis-gateway',
  'redis-gateway-without-directory',
  'redis-gateway-beside',
] as const;

export type PlaceName = (typeof placeNames)[number] | PeerName;

export function isPeerName(name: TargetName | PlaceName): name is PeerName {
  return name.startsWith('peer ');
}

export interface Target {
  readonly name: PlaceName;
  /** Scheme, host and port. */
  readonly origin: string;
  readonly hop: Hop;
  /** The token of all its users; unless given, each has one of their own. */
  readonly token?: string;
  /** CPU time is taken of this process and its descendants; `undefined`: not known, or nothing is in front of the backend. */
  readonly rootPid: number | undefined;
}
