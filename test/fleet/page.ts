// The part of docs/clusters.md on a large fleet: the measures, what follows from them, and how. Pure.
import { renderTable, type Column } from '../../bench/table.js';
import { limits } from '../../src/shared/limits.js';
import { figuresOf, fleet, words, type Load } from './arithmetic.js';
import { simulateFailure } from './failure.js';
import { commandsOf, cpuUsOf, eventNames, type EventName, type FleetMeasures } from './measures.js';
import { SESSION_LOOK_UPS_MAX, SESSION_MARK_MS } from '../../src/session/directory/session-directory.js';

const START = '<!-- fleet: npm run fleet writes what is between here -->';
const END = '<!-- and here -->';

/** The page with its figures replaced by these measures. */
export function withFleet(page: string, measures: FleetMeasures): string {
  const [before, rest] = page.split(START);
  const after = rest?.split(END)[1];
  if (before === undefined || after === undefined) throw new Error('docs/clusters.md has no place for the fleet');
  return `${before}${START}\n\n${fleetText(measures)}\n\n${END}${after}`;
}

export function fleetText(measures: FleetMeasures): string {
  const figures = figuresOf(measures);
  const failure = simulateFailure(fleet);
  const { adoption, scattered, nodes } = figures;
  const stormCommands = failure.sessions * commandsOf(adoption);
  const stormSeconds = (failure.sessions * adoption.cpuUs) / 1_000_000;
  const heirsEach = failure.sessions / failure.heirs;
  return `Measured on ${measures.measuredAt.slice(0, 10)} with ${words(measures.sessions)} sessions of two backends each, on Redis ${measures.redis} (${measures.processor}, with other load on the machine).
Redis itself reported its work (\`INFO commandstats\`, which includes commands in scripts, and \`INFO cpu\`):

${renderTable(eventColumns(measures), eventNames)}

A session's record takes ${words(measures.recordBytes)} bytes (\`MEMORY USAGE\`), and ${words(measures.sessionBytes)} bytes with Redis's own tables: keys, their expiry, and which
connections to notify of changes. The mark that an ended session leaves takes ${words(measures.markBytes)} bytes for ${SESSION_MARK_MS / 1_000} s. Each worker has ${measures.connectionsPerWorker} connections of
${words(measures.connectionBytes)} bytes, and pings Redis ${measures.pingsPerSecond} times a second (${measures.pingCpuUs} µs each).

**Assumptions**: ${words(fleet.machines)} machines with ${fleet.workersPerMachine} workers each. ${words(fleet.sessions)} sessions that last ${fleet.sessionMinutes} minutes, with a request every ${fleet.secondsBetweenRequests} s. ${words(fleet.subjects)} users,
whose configs change once a day. Each machine is replaced once a day. The balancer keeps a session on one machine. A Redis node
is one thread that may be ${percent(fleet.nodeBusyMax)} busy, and holds ${fleet.nodeGib} GiB. The resulting load per second:

${renderTable(loadColumns, figures.loads)}

In total: ${words(figures.commands)} commands a second and ${figures.cores.toFixed(1)} cores. **Memory**: ${words(fleet.sessions)} × ${words(measures.sessionBytes)} bytes are ${figures.recordsGib.toFixed(1)} GiB; marks take ${figures.marksGib.toFixed(2)} GiB.
Each node has ${words(figures.connectionsPerNode)} connections from ${words(fleet.machines * fleet.workersPerMachine)} workers, which take ${figures.connectionsGibPerNode.toFixed(2)} GiB. This needs a cluster of **${nodes} nodes** and
${nodes * fleet.replicas} replicas. Each node needs \`maxclients\` above ${words(figures.connectionsPerNode)} and \`tracking-table-max-keys\` above ${words(figures.trackedKeysPerNode)}. With a smaller table,
Redis forgets which connections to notify, and sessions are read again although nothing has changed.

**A machine dies.** The simulation takes the one of ${words(fleet.machines)} machines to which the hash assigns the most sessions. Its
${words(failure.sessions)} sessions move to ${words(failure.heirs)} other machines (consistent hashing as in nginx's \`hash … consistent\`, 160 points per machine): ${words(heirsEach)} to
each on average, and ${words(failure.sessionsOfOneMax)} to the machine that gets the most. ${words(failure.cutOff)} calls in flight end with an error, if a call takes ${fleet.requestMs} ms. Every other
session is adopted with its client's next request: ${words(failure.adoptedInFirstSecond)} in the first second, half of them within ${failure.secondsUntilHalf} s, 99 % within
${failure.secondsUntilAllButOneInAHundred} s, and never more than ${failure.adoptedByOneInASecondMax} a second on one machine. In the first second Redis carries out ${words(failure.adoptedInFirstSecond * commandsOf(adoption))} more
commands, ${percent((failure.adoptedInFirstSecond * commandsOf(adoption)) / figures.commands)} of its usual load. Clients with an open GET stream all reconnect at once; if every client did, that would be
${words(stormCommands)} commands and ${stormSeconds.toFixed(1)} s of CPU time in total, spread over ${nodes} nodes. Each worker looks up at most ${words(SESSION_LOOK_UPS_MAX)} sessions at a time,
and up to ${words(limits.waitingMax)} more look-ups wait.

**Without affinity** everything still works, but nearly every request reaches a machine that does not have its session: ${words(scattered.perSecond)}
adoptions a second, ${words(scattered.commands)} commands and ${scattered.cores.toFixed(0)} cores of Redis, and each machine holds many times as many sessions. A fleet of
this size needs a balancer that keeps each session on one machine.`;
}

function eventColumns(measures: FleetMeasures): Column<EventName>[] {
  const commandsText = (name: EventName): string =>
    Object.entries(measures.events[name].commands)
      .map(([command, calls]) => `${calls === 1 ? '' : `${calls} × `}${command.toUpperCase()}`)
      .join(', ');
  return [
    { title: 'Event', align: 'left', cell: (name) => (name === 'config read' ? name : `session ${name}`) },
    { title: 'Commands', align: 'left', cell: (name) => commandsText(name) || 'none' },
    { title: 'Redis, µs', align: 'right', cell: (name) => cpuUsOf(measures.events[name]).toFixed(1) },
  ];
}

const loadColumns: readonly Column<Load>[] = [
  { title: 'What', align: 'left', cell: ({ what }) => what },
  { title: 'Arithmetic', align: 'left', cell: ({ arithmetic }) => arithmetic },
  { title: 'A second', align: 'right', cell: ({ perSecond }) => words(perSecond) },
  { title: 'Commands', align: 'right', cell: ({ commands }) => words(commands) },
  { title: 'Cores', align: 'right', cell: ({ cores }) => cores.toFixed(2) },
];

function percent(share: number): string {
  return `${Math.round(share * 100)} %`;
}
