// What is measured: the gateway, and the two yardsticks that the same load is put on.
import type { Hop } from './scenarios.js';

export const targetNames = ['gateway', 'nginx', 'direct'] as const;

export type TargetName = (typeof targetNames)[number];

export interface Target {
  readonly name: TargetName;
  /** Scheme, host and port. */
  readonly origin: string;
  readonly hop: Hop;
  /** It and its descendants are what the CPU time is taken of; `undefined`: nothing stands before the backend. */
  readonly rootPid: number | undefined;
}
