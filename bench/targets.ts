// What is measured, and the yardsticks that the same load is put on.
import type { Hop } from './scenario.js';

/** Of a run: what answered, and in which situation where one scenario compares several. In the order of the tables. */
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

/** Another gateway, by the name that it was given. */
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
  /** Of all its users; each has one of their own when it is not given. */
  readonly token?: string;
  /** It and its descendants are what the CPU time is taken of; `undefined`: not known, or nothing is before the backend. */
  readonly rootPid: number | undefined;
}
