// The list of mutants, by area. They are chosen by hand: slips that a hurried change could make, each in a line on which
// some promise rests.
import { affinityMutants } from './mutants/affinity.js';
import { authMutants } from './mutants/auth.js';
import { batchMutants } from './mutants/batches.js';
import { bridgeMutants } from './mutants/bridges.js';
import { callerStreamMutants } from './mutants/caller-streams.js';
import { consentMutants } from './mutants/consent.js';
import { edgeMutants } from './mutants/edge.js';
import { namesMutants } from './mutants/names.js';
import { primaryMutants } from './mutants/primary.js';
import { reachMutants } from './mutants/reach.js';
import { relayedMutants, relayMutants } from './mutants/relay.js';
import { resumptionMutants } from './mutants/resumption.js';
import { sharedMutants } from './mutants/shared.js';
import { configMutants } from './mutants/store-configs.js';
import { embeddedStoreMutants } from './mutants/store-embedded.js';
import { redisStoreMutants } from './mutants/store-redis.js';
import { taskMutants } from './mutants/tasks.js';
import { upstreamMutants } from './mutants/upstream.js';
import { workerMutants } from './mutants/worker.js';
import type { Mutant } from './mutant.js';

export const areas: Readonly<Record<string, readonly Mutant[]>> = {
  names: namesMutants,
  auth: authMutants,
  shared: sharedMutants,
  reach: reachMutants,
  store: [...configMutants, ...embeddedStoreMutants, ...redisStoreMutants],
  primary: primaryMutants,
  worker: workerMutants,
  edge: edgeMutants,
  affinity: affinityMutants,
  upstream: upstreamMutants,
  relay: relayMutants,
  relayed: relayedMutants,
  bridges: bridgeMutants,
  consent: consentMutants,
  tasks: taskMutants,
  batches: batchMutants,
  resumption: [...callerStreamMutants, ...resumptionMutants],
};
