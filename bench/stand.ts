// The stand: starts everything that a bench or a profile needs, and nothing that its scenarios do not need.
import { existsSync } from 'node:fs';
import { directTarget, startBackends } from './backends.js';
import type { BenchParts } from './bench.js';
import type { ChildProcesses } from './child-processes.js';
import { Gateways, type GatewaySetup } from './gateway.js';
import { MeasuringProcess } from './measuring-process.js';
import { startNginx } from './nginx.js';
import { peerTarget, type Peer } from './peer.js';
import type { Point } from './points.js';
import type { Measure } from './scenario.js';
import { isPeerName, type PeerName, type PlaceName, type Target } from './targets.js';
import { BenchRedis } from './redis.js';
import { createUsers } from './users.js';

/** Idle sessions belong to this many users at least. */
const USERS_MIN = 256;

export interface StandSetup {
  readonly children: ChildProcesses;
  readonly scratchDirectory: string;
  readonly points: readonly Point[];
  readonly peers: readonly Peer[];
  readonly firstBackendPort: number;
  /** The main.js of the build that ours is compared with. */
  readonly programBefore?: string | undefined;
  /** Arguments for the gateway's Node. */
  readonly nodeWords?: readonly string[];
}

export async function startStand(setup: StandSetup): Promise<BenchParts> {
  const { children, scratchDirectory, points, peers, programBefore, nodeWords = [] } = setup;
  const backends = await startBackends(children, setup.firstBackendPort);
  const connectionsMax = Math.max(...points.filter(isConnected).map(({ connections }) => connections), 0);
  const users = await createUsers(Math.max(USERS_MIN, connectionsMax) + 1);
  const gateways = await Gateways.prepare(children, scratchDirectory, backends, users);
  const redis = usesRedis(points) ? await BenchRedis.start(children) : undefined;
  if (redis !== undefined) await gateways.shareIn(redis);
  const starts: Readonly<Record<Exclude<PlaceName, PeerName>, () => Promise<Target> | Target>> = {
    gateway: () => gateways.start({ name: 'gateway', workers: 1, nodeWords }),
    'two-workers': () => gateways.start({ name: 'gateway-of-two', workers: 2, nodeWords }),
    remembering: () =>
      gateways.start({ name: 'gateway-with-lists', place: 'remembering', workers: 1, nodeWords, isListing: true }),
    counting: () => gateways.start({ ...ofOne('counting'), nodeWords, isCounting: true }),
    tracing: () => gateways.start({ ...ofOne('tracing'), nodeWords, isTracing: true }),
    before: () => gateways.start({ name: 'gateway-before', workers: 1, ...before(programBefore) }),
    'two-workers-before': () => gateways.start({ name: 'gateway-of-two-before', workers: 2, ...before(programBefore) }),
    'gateway-without-directory': () => gateways.start({ ...ofOne('gateway-without-directory'), directory: 'none' }),
    'redis-gateway': () => gateways.start({ ...ofOne('redis-gateway'), nodeWords, redis, directory: 'store' }),
    'redis-gateway-beside': () =>
      gateways.start({ ...ofOne('redis-gateway-beside'), nodeWords, redis, directory: 'store' }),
    'redis-gateway-without-directory': () =>
      gateways.start({ ...ofOne('redis-gateway-without-directory'), redis, directory: 'none' }),
    nginx: () => startNginx(children, scratchDirectory, backends),
    direct: () => directTarget(backends),
  };
  const targets = new Map<PlaceName, Target>();
  for (const peer of peers) targets.set(peer.name, peerTarget(peer));
  for (const place of placesOf(points)) if (!isPeerName(place)) targets.set(place, await starts[place]());
  return {
    targets,
    backendPids: backends.pids,
    users: users.list,
    load: await MeasuringProcess.startLoad(children, 'load'),
    longLists: await MeasuringProcess.startLoad(children, 'long-lists'),
    listScript: await MeasuringProcess.startListScript(children),
    redisReads: redis && { redis, process: await MeasuringProcess.startReads(children) },
    gateways,
  };
}

function before(program: string | undefined): Pick<GatewaySetup, 'program'> {
  if (program === undefined) throw new Error('no earlier build was named');
  if (!existsSync(program)) throw new Error(`${program} is not there: run npm ci && npm run build in its folder`);
  return { program };
}

function ofOne(place: PlaceName): Pick<GatewaySetup, 'name' | 'place' | 'workers'> {
  return { name: place, place, workers: 1 };
}

function placesOf(points: readonly Point[]): Set<PlaceName> {
  return new Set(points.flatMap(({ scenario }) => scenario.measures.flatMap(placesIn)));
}

function placesIn(measure: Measure): readonly PlaceName[] {
  if (measure.kind === 'first-call') return [measure.opensAt, measure.place];
  return measure.kind === 'load' ? [measure.place] : [];
}

function usesRedis(points: readonly Point[]): boolean {
  return [...placesOf(points)].some((place) => place.startsWith('redis-'));
}

function isConnected({ scenario }: Point): boolean {
  return scenario.figure !== 'resident';
}
