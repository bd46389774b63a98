// The attack: every experiment, in the order in which they run.
import type { Experiment } from './experiment.js';
import * as asking from './experiments/asking.js';
import * as backends from './experiments/backends.js';
import * as controlPlane from './experiments/control-plane.js';
import * as controlPlaneOperations from './experiments/control-plane-operations.js';
import * as controlPlaneStreams from './experiments/control-plane-streams.js';
import * as heads from './experiments/heads.js';
import * as http from './experiments/http.js';
import * as matching from './experiments/matching.js';
import * as names from './experiments/names.js';
import * as processes from './experiments/processes.js';
import * as proxies from './experiments/proxies.js';
import * as shares from './experiments/shares.js';
import * as starts from './experiments/starts.js';

export const experiments: readonly Experiment[] = [
  // The HTTP face.
  http.oddMethods,
  http.preflightKeepAlive,
  http.refusedBodies,
  http.tokenSpellings,
  http.smuggling,
  http.smugglingByCoding,
  http.pipelining,
  http.unfinishedHandshakesNode,
  http.unfinishedHandshakesUws,
  http.slowUnwantedBodiesNode,
  http.slowUnwantedBodiesUws,
  http.ownRequestIds,
  heads.headRequests,
  heads.splitRequests,
  heads.refusedHeads,
  heads.largeInitialize,
  // Hostile and broken backends.
  backends.fatInitialize,
  backends.hungBackend,
  backends.twoLists,
  backends.endlessPages,
  backends.endlessStream,
  backends.earlyAnswers,
  backends.metadataAddress,
  asking.manyAsks,
  asking.forgedAnswers,
  asking.unreadStreams,
  names.silentNameServer,
  names.rebind,
  // One subject that takes all it can get.
  shares.sessionFlood,
  shares.fatSessions,
  shares.allConnections,
  shares.stalledReaders,
  shares.largeCalls,
  shares.listFlood,
  shares.slowReader,
  // Much that is compared with much.
  matching.wordyQueries,
  matching.wordyQueriesAtControlPlane,
  matching.longUris,
  matching.ungrantedUpdates,
  matching.dottedUris,
  matching.fixedArguments,
  // The gateway's own processes.
  processes.workerKilled,
  processes.runDirectoryRemoved,
  processes.massEnd,
  processes.silentAdmin,
  starts.workerStopped,
  starts.secondGateway,
  // The control plane.
  controlPlane.fatServer,
  controlPlane.manySubjects,
  controlPlane.silentConnections,
  controlPlaneOperations.fatMembers,
  controlPlaneOperations.oddVersions,
  controlPlaneOperations.switchedOff,
  controlPlaneOperations.fullDisk,
  controlPlaneOperations.unreadLog,
  controlPlaneStreams.manyAsks,
  controlPlaneStreams.unreadStreams,
  // A proxy in between.
  proxies.slowAnswers,
];
