// What a large fleet demands of its Redis, from the measured cost of one session and the assumed use of the fleet. Pure.
import { commandsOf, cpuUsOf, type EventCost, type FleetMeasures } from './measures.js';
import { SESSION_MARK_MS } from '../../src/session/directory/session-directory.js';
import { SESSION_RENEWALS_PER_IDLE_TIMEOUT } from '../../src/session/sessions.js';

const SECONDS_A_DAY = 86_400;
const GIB = 1_024 ** 3;

/** How the fleet is used: each assumption is on the expensive side. */
export interface Fleet {
  readonly machines: number;
  readonly workersPerMachine: number;
  readonly sessions: number;
  /** From `initialize` to DELETE, which every client sends. */
  readonly sessionMinutes: number;
  /** `--session-idle-timeout`. */
  readonly idleTimeoutMinutes: number;
  /** In each session, evenly spread. */
  readonly secondsBetweenRequests: number;
  /** The duration of a request. */
  readonly requestMs: number;
  readonly subjects: number;
  readonly configChangesPerSubjectAndDay: number;
  /** How often each machine is replaced, whereupon its sessions go to others. */
  readonly replacementsPerDay: number;
  /** Of one Redis node, which is single-threaded: how busy it may be, and its memory. */
  readonly nodeBusyMax: number;
  readonly nodeGib: number;
  /** Replicas of each node, which take over when it dies. */
  readonly replicas: number;
}

export const fleet: Fleet = {
  machines: 1_000,
  workersPerMachine: 8,
  sessions: 50_000_000,
  sessionMinutes: 60,
  idleTimeoutMinutes: 60,
  secondsBetweenRequests: 60,
  requestMs: 200,
  subjects: 5_000_000,
  configChangesPerSubjectAndDay: 1,
  replacementsPerDay: 1,
  nodeBusyMax: 0.5,
  nodeGib: 16,
  replicas: 1,
};

export interface Load {
  readonly what: string;
  readonly arithmetic: string;
  readonly perSecond: number;
  readonly commands: number;
  /** Seconds of Redis CPU time per second. */
  readonly cores: number;
}

export interface FleetFigures {
  readonly loads: readonly Load[];
  readonly commands: number;
  readonly cores: number;
  readonly recordsGib: number;
  readonly marksGib: number;
  readonly nodes: number;
  readonly connectionsPerNode: number;
  readonly connectionsGibPerNode: number;
  readonly trackedKeysPerNode: number;
  /** The cost of an adoption by a machine that does not have the user's config either. */
  readonly adoption: EventCost;
  /** Requests without affinity: every one is an adoption. */
  readonly scattered: Load;
}

export function figuresOf(measures: FleetMeasures, use: Fleet = fleet): FleetFigures {
  const { events } = measures;
  const openings = use.sessions / (use.sessionMinutes * 60);
  const adoption = together(events.adopted, events['config read']);
  const roundSeconds = (use.idleTimeoutMinutes * 60) / SESSION_RENEWALS_PER_IDLE_TIMEOUT;
  const changes = (use.subjects * use.configChangesPerSubjectAndDay) / SECONDS_A_DAY;
  const workers = use.machines * use.workersPerMachine;
  const load = (what: string, arithmetic: string, perSecond: number, cost: EventCost): Load => ({
    ...{ what, arithmetic, perSecond },
    commands: perSecond * commandsOf(cost),
    cores: (perSecond * cpuUsOf(cost)) / 1_000_000,
  });
  const sessions = words(use.sessions);
  const loads = [
    load('sessions opened', `${sessions} ÷ ${use.sessionMinutes * 60} s`, openings, events.opened),
    load('sessions ended', 'as many', openings, events.ended),
    load('configs read', 'one for each session that is opened, at most', openings, events['config read']),
    load(
      'configs read again',
      `${words(use.subjects)} changes a day, at each worker that has one of the ${use.sessions / use.subjects} sessions`,
      changes * (use.sessions / use.subjects),
      events['config read'],
    ),
    load('records renewed', `${sessions} ÷ ${roundSeconds} s`, use.sessions / roundSeconds, events.renewed),
    load(
      'sessions adopted',
      `${sessions} a day: each machine is replaced once`,
      (use.sessions * use.replacementsPerDay) / SECONDS_A_DAY,
      adoption,
    ),
    load(
      'requests where the session is',
      `${sessions} ÷ ${use.secondsBetweenRequests} s`,
      use.sessions / use.secondsBetweenRequests,
      events['called where it is'],
    ),
  ];
  const pings = (nodes: number): Load => ({
    what: 'signs of life',
    arithmetic: `${words(workers)} workers × ${measures.pingsPerSecond} × ${nodes} nodes`,
    perSecond: workers * measures.pingsPerSecond * nodes,
    commands: workers * measures.pingsPerSecond * nodes,
    cores: (workers * measures.pingsPerSecond * nodes * measures.pingCpuUs) / 1_000_000,
  });
  const bytes = use.sessions * measures.sessionBytes;
  const markBytes = openings * (SESSION_MARK_MS / 1_000) * measures.markBytes;
  const connectionBytes = workers * measures.connectionsPerWorker * measures.connectionBytes;
  const cores = sum(loads, (each) => each.cores);
  const fits = (nodes: number): boolean =>
    cores / nodes + pings(1).cores <= use.nodeBusyMax &&
    (bytes + markBytes) / nodes + connectionBytes <= use.nodeGib * GIB;
  let nodes = 1;
  while (!fits(nodes)) {
    if (nodes === NODES_MAX) throw new Error('no number of nodes is enough: each has connections of every worker');
    nodes += 1;
  }
  const all = [...loads, pings(nodes)];
  return {
    loads: all,
    commands: sum(all, (each) => each.commands),
    cores: sum(all, (each) => each.cores),
    recordsGib: bytes / GIB,
    marksGib: markBytes / GIB,
    nodes,
    connectionsPerNode: workers * measures.connectionsPerWorker,
    connectionsGibPerNode: connectionBytes / GIB,
    trackedKeysPerNode: use.sessions / nodes,
    adoption,
    scattered: load('', '', use.sessions / use.secondsBetweenRequests, events.adopted),
  };
}

/** The most nodes that a Redis cluster can have. */
const NODES_MAX = 1_000;

function together(one: EventCost, other: EventCost): EventCost {
  const commands: Record<string, number> = { ...one.commands };
  for (const [name, calls] of Object.entries(other.commands)) commands[name] = (commands[name] ?? 0) + calls;
  return { commands, cpuUs: one.cpuUs + other.cpuUs };
}

function sum<Item>(items: readonly Item[], value: (item: Item) => number): number {
  return items.reduce((total, item) => total + value(item), 0);
}

/** For example `50,000,000`. */
export function words(value: number): string {
  return Math.round(value).toLocaleString('en-US');
}
