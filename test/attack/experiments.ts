// The attack: every experiment, in the order in which they run.
import type { Experiment } from './experiment.js';
import * as http from './experiments/http.js';

export const experiments: readonly Experiment[] = [
  http.oddMethods,
  http.preflightKeepAlive,
  http.refusedBodies,
  http.tokenSpellings,
];
