// The scenarios: what one connection requests of a target, with how many connections, and what the figure is compared with.
import { calledBackendNames } from './backend-names.js';
import type { Script } from './load-plan.js';
import type { Hop, LoadMeasure, Scenario, ScenarioName } from './scenario.js';
import { StepMaker } from './step-maker.js';
import { fetchTool, storeTool } from './tool.js';
import type { VirtualHostName } from './virtual-hosts.js';

const CALLS_PER_SESSION = 10;
const SESSION_USERS = 120;
/** Few enough for a slow machine, so that the effect of the list shows, and not a queue of calls. */
const MIXED_CALLS_PER_SECOND = 1_000;
/** A call with a question in it is two requests and three messages each way. */
const ELICIT_GOAL = 2.5;
const KIB = 1_024;
/** The cost of recording a session: in files of the machine, or in Redis, whose own time is not the gateway's. */
const PROCESS_DIRECTORY_GOAL = 1.05;
const STORE_DIRECTORY_GOAL = 1.15;
/** For a first call at another gateway, against a first call where the session was opened plus the one read that is unavoidable. */
const ADOPT_GOAL = 1.3;

/** For a call whose two spans are created and sent. */
const TRACES_GOAL = 1.5;

const gateway = load('gateway');
const nginx = load('nginx');
const direct = load('direct');

const call = {
  unit: 'call',
  figure: 'cpu',
  yardstick: 'nginx',
  goal: 1.8,
  measures: [gateway, nginx, direct],
  connectionCounts: [1, 16, 64, 256],
  quickConnectionCounts: [16, 64],
  createScript: callScript('calls'),
} as const satisfies Omit<Scenario, 'name'>;

const listening = {
  ...call,
  unit: 'session',
  figure: 'resident',
  yardstick: undefined,
  measures: [{ kind: 'idle', target: 'gateway', isListening: true }],
} as const satisfies Partial<Scenario>;

/** The same sessions on gateways that differ in `--session-directory` alone. */
const written = {
  ...call,
  unit: 'session',
  yardstick: 'no directory',
  connectionCounts: [SESSION_USERS],
  quickConnectionCounts: [SESSION_USERS],
  createScript: sessionScript,
} as const satisfies Partial<Scenario>;

/** What a caller of one era pays when its backends are of the other. */
const bridge = {
  ...call,
  yardstick: 'unbridged',
  goal: 1.3,
  measures: [gateway, { ...gateway, target: 'unbridged', createScript: callScript('calls') }],
  connectionCounts: [16, 64],
  quickConnectionCounts: [64],
} as const satisfies Partial<Scenario>;

/** What a caller pays when its backends require a credential from the gateway. */
const credentialed = {
  ...bridge,
  yardstick: 'unasked',
  goal: 1.03,
  measures: [gateway, { ...gateway, target: 'unasked', createScript: callScript('calls') }],
} as const satisfies Partial<Scenario>;

/** What observability costs: the same calls, to gateways that differ in this alone. */
const observed = { ...call, goal: 1.03, connectionCounts: [16, 64], quickConnectionCounts: [64] } as const;

export const scenarios: Readonly<Record<ScenarioName, Scenario>> = {
  call: { ...call, name: 'call' },
  'call-sse': {
    ...call,
    name: 'call-sse',
    goal: 2.2,
    quickConnectionCounts: [64],
    createScript: callScript('event-streams'),
  },
  session: {
    ...call,
    name: 'session',
    unit: 'session',
    goal: 2.5,
    connectionCounts: [SESSION_USERS],
    quickConnectionCounts: [SESSION_USERS],
    createScript: sessionScript,
  },
  'half-rate': {
    ...call,
    name: 'half-rate',
    figure: 'p99',
    goal: 2,
    measures: [
      { ...gateway, requestsPerSecond: 'half' },
      { ...nginx, requestsPerSecond: 'half' },
    ],
    connectionCounts: [64],
    quickConnectionCounts: [64],
  },
  hop: {
    ...call,
    name: 'hop',
    yardstick: 'at home',
    goal: 1.6,
    measures: [
      { ...gateway, place: 'two-workers', owner: 'other' },
      { ...gateway, place: 'two-workers', owner: 'home', target: 'at home' },
    ],
    connectionCounts: [16, 64],
    quickConnectionCounts: [64],
  },
  scaling: {
    ...call,
    name: 'scaling',
    yardstick: 'one worker',
    // 0.9 of the calls for each unit of CPU time.
    goal: 1 / 0.9,
    measures: [
      { ...gateway, place: 'two-workers', owner: 'home' },
      { ...gateway, target: 'one worker' },
      { ...gateway, place: 'two-workers', target: 'anywhere' },
    ],
    connectionCounts: [64],
    quickConnectionCounts: [64],
  },
  'large-arguments': {
    ...call,
    name: 'large-arguments',
    goal: 2,
    measures: [gateway, nginx],
    connectionCounts: [8],
    quickConnectionCounts: [8],
    createScript: callScript('calls', storeTool),
  },
  'large-result': {
    ...call,
    name: 'large-result',
    goal: 2,
    measures: [gateway, nginx],
    connectionCounts: [8],
    quickConnectionCounts: [8],
    createScript: callScript('calls', fetchTool),
  },
  list: {
    ...call,
    name: 'list',
    unit: 'list',
    yardstick: 'script',
    goal: 1,
    measures: [gateway, nginx, direct, { kind: 'script', target: 'script' }],
    connectionCounts: [4],
    quickConnectionCounts: [4],
    createScript: listScript('lists'),
  },
  mixed: {
    ...call,
    name: 'mixed',
    figure: 'p99',
    yardstick: 'alone',
    goal: 3,
    measures: [
      { ...gateway, requestsPerSecond: MIXED_CALLS_PER_SECOND, isListedMeanwhile: true },
      { ...gateway, requestsPerSecond: MIXED_CALLS_PER_SECOND, target: 'alone' },
      { ...nginx, requestsPerSecond: MIXED_CALLS_PER_SECOND, isListedMeanwhile: true },
      { ...nginx, requestsPerSecond: MIXED_CALLS_PER_SECOND, target: 'nginx alone' },
    ],
    connectionCounts: [16],
    quickConnectionCounts: [16],
  },
  read: { ...call, name: 'read', unit: 'read', quickConnectionCounts: [64], createScript: readScript },
  elicit: {
    ...call,
    name: 'elicit',
    figure: 'p50',
    yardstick: 'direct',
    goal: ELICIT_GOAL,
    // With one connection, process wake-ups would dominate the comparison.
    connectionCounts: [16, 64],
    quickConnectionCounts: [16],
    createScript: elicitScript,
  },
  idle: {
    ...call,
    name: 'idle',
    unit: 'session',
    figure: 'resident',
    yardstick: undefined,
    goal: 6 * KIB,
    measures: [{ kind: 'idle', target: 'gateway', isListening: false }],
    // The number of sessions: none has a connection.
    connectionCounts: [10_000],
    quickConnectionCounts: [2_000],
  },
  streams: {
    ...listening,
    name: 'streams',
    goal: 12 * KIB,
    connectionCounts: [10_000],
    quickConnectionCounts: [2_000],
  },
  'streams-upstream': {
    ...listening,
    name: 'streams-upstream',
    goal: 18 * KIB,
    // A worker has a limited number of connections for these, and one subject a share of it.
    connectionCounts: [4_000],
    quickConnectionCounts: [1_000],
    createScript: callScript('changes'),
  },
  'call-modern': {
    ...call,
    name: 'call-modern',
    goal: 1.5,
    quickConnectionCounts: [64],
    createScript: modernScript('modern'),
  },
  'bridge-to-legacy': { ...bridge, name: 'bridge-to-legacy', createScript: modernScript('calls') },
  'bridge-to-modern': { ...bridge, name: 'bridge-to-modern', createScript: callScript('modern') },
  listen: {
    ...listening,
    name: 'listen',
    unit: 'stream',
    goal: 12 * KIB,
    connectionCounts: [10_000],
    quickConnectionCounts: [1_000],
    createScript: listenScript,
  },
  'session-process': {
    ...written,
    name: 'session-process',
    goal: PROCESS_DIRECTORY_GOAL,
    measures: [gateway, { ...gateway, place: 'gateway-without-directory', target: 'no directory' }],
  },
  'session-store': {
    ...written,
    name: 'session-store',
    goal: STORE_DIRECTORY_GOAL,
    measures: [
      { ...gateway, place: 'redis-gateway' },
      { ...gateway, place: 'redis-gateway-without-directory', target: 'no directory' },
    ],
  },
  adopt: {
    ...call,
    name: 'adopt',
    yardstick: 'at home',
    yardstickWith: 'a read',
    goal: ADOPT_GOAL,
    measures: [
      { kind: 'first-call', target: 'gateway', opensAt: 'redis-gateway-beside', place: 'redis-gateway' },
      { kind: 'first-call', target: 'at home', opensAt: 'redis-gateway', place: 'redis-gateway' },
      { kind: 'reads', target: 'a read' },
    ],
    connectionCounts: [1, 16],
    quickConnectionCounts: [16],
  },
  'call-headers': { ...credentialed, name: 'call-headers', createScript: callScript('headers') },
  'call-token': { ...credentialed, name: 'call-token', createScript: callScript('tokens') },
  'list-kept': {
    ...call,
    name: 'list-kept',
    unit: 'list',
    goal: 2,
    measures: [{ ...gateway, place: 'remembering' }, nginx],
    connectionCounts: [4],
    quickConnectionCounts: [4],
    createScript: listScript('kept-lists'),
  },
  'call-metrics': {
    ...observed,
    name: 'call-metrics',
    yardstick: 'uncounted',
    measures: [
      { ...gateway, place: 'counting' },
      { ...gateway, target: 'uncounted' },
    ],
  },
  'call-traces': {
    ...observed,
    name: 'call-traces',
    // Every request has a span, which is more than such a gateway would be asked for: the aim is the cost of one span.
    goal: TRACES_GOAL,
    yardstick: 'untraced',
    measures: [
      { ...gateway, place: 'tracing' },
      { ...gateway, target: 'untraced' },
    ],
  },
};

/** The script of the user who asks for long lists meanwhile. */
export const longListScript = listScript('long-lists');

function load(place: 'gateway' | 'nginx' | 'direct'): LoadMeasure {
  return { kind: 'load', target: place, place };
}

function callScript(virtualHost: VirtualHostName, tool?: typeof storeTool): Scenario['createScript'] {
  return (hop, connection) => {
    const steps = new StepMaker(hop, virtualHost, connection);
    return { opening: steps.opening(), loop: [steps.call(steps.homeBackend, tool)], closing: [steps.closing()] };
  };
}

function modernScript(virtualHost: VirtualHostName): Scenario['createScript'] {
  return (hop, connection) => {
    const steps = new StepMaker(hop, virtualHost, connection);
    return { opening: [], loop: [steps.modernCall(steps.homeBackend)], closing: [] };
  };
}

function listenScript(hop: Hop, connection: number): Script {
  return { opening: [], loop: [new StepMaker(hop, 'promises', connection).listening()], closing: [] };
}

function readScript(hop: Hop, connection: number): Script {
  const steps = new StepMaker(hop, 'resources', connection);
  return { opening: steps.opening(), loop: [steps.read(steps.homeBackend)], closing: [steps.closing()] };
}

function elicitScript(hop: Hop, connection: number): Script {
  const steps = new StepMaker(hop, 'calls', connection);
  const opening = steps.opening({ elicitation: {} });
  return { opening, loop: [steps.confirmation(steps.homeBackend)], closing: [steps.closing()] };
}

function listScript(virtualHost: VirtualHostName): Scenario['createScript'] {
  return (hop, connection) => {
    const steps = new StepMaker(hop, virtualHost, connection);
    return { opening: steps.opening(), loop: steps.lists(), closing: [steps.closing()] };
  };
}

function sessionScript(hop: Hop, connection: number): Script {
  const steps = new StepMaker(hop, 'calls', connection);
  const calls = Array.from({ length: CALLS_PER_SESSION }, (_, index) =>
    steps.call(hop.kind === 'plain' ? steps.homeBackend : steps.backend(index)),
  );
  // The yardstick makes the hops that a gateway makes upstream: a session with each of the two backends, 16 in all.
  const sessions = hop.kind === 'plain' ? calledBackendNames.length : 1;
  const times = <T>(make: () => T): T[] => Array.from({ length: sessions }, make);
  const loop = [...times(() => steps.opening()).flat(), ...calls, ...times(() => steps.closing())];
  return { opening: [], loop, closing: [] };
}
