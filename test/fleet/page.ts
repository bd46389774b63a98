// The part of docs/clusters.md on a large fleet: the measures, what follows from them, and how. Pure.
import { renderTable, type Column } from '../../bench/table.js';
import { limits } from '../../src/shared/limits.js';
import { figuresOf, fleet, words, type Load } from './arithmetic.js';
import { simulateFailure } from './failure.js';
import { commandsOf, cpuUsOf, eventNames, type EventName, type FleetMeasures } from './measures.js';

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
  return `Measured on ${measures.measuredAt.slice(0, 10)} with ${words(measures.sessions)} sessions of two backends on Redis ${measures.redis} (${measures.processor}, busy with other things, too), which says itself what it
did (\`INFO commandstats\`, commands in scripts among them, and \`INFO cpu\`):

${renderTable(eventColumns(measures), eventNames)}

A session's record is ${words(measures.recordBytes)} bytes (\`MEMORY USAGE\`), ${words(measures.sessionBytes)} with all that Redis keeps besides: the table of keys, of their expiry, and of who is to be
told of changes. What an ended session leaves behind takes ${words(measures.markBytes)} bytes for ${limits.sessionMarkMs / 1_000} s. A worker has ${measures.connectionsPerWorker} connections of
${words(measures.connectionBytes)} bytes, and asks ${measures.pingsPerSecond} times a second whether Redis is there (${measures.pingCpuUs} µs).

**Assumed**: ${words(fleet.machines)} machines of ${fleet.workersPerMachine} workers; ${words(fleet.sessions)} sessions, ${fleet.sessionMinutes} minutes each, with a request every ${fleet.secondsBetweenRequests} s; ${words(fleet.subjects)} users, whose
configs change once a day; each machine is replaced once a day; the balancer keeps a session at one machine. A node of Redis is one thread, to be
busy at ${percent(fleet.nodeBusyMax)} at most, and holds ${fleet.nodeGib} GiB. From this follows, a second:

${renderTable(loadColumns, figures.loads)}

Together ${words(figures.commands)} commands and ${figures.cores.toFixed(1)} cores. **Memory**: ${words(fleet.sessions)} × ${words(measures.sessionBytes)} bytes are ${figures.recordsGib.toFixed(1)} GiB, marks ${figures.marksGib.toFixed(2)} GiB. On each node
${words(fleet.machines * fleet.workersPerMachine)} workers have ${words(figures.connectionsPerNode)} connections, ${figures.connectionsGibPerNode.toFixed(2)} GiB. That is a cluster of **${nodes} nodes**, and ${nodes * fleet.replicas} replicas. Each
needs \`maxclients\` above ${words(figures.connectionsPerNode)}, and \`tracking-table-max-keys\` above ${words(figures.trackedKeysPerNode)}, or Redis forgets who knows what, and sessions are read
anew although nothing has changed.

**A machine dies**, the one of ${words(fleet.machines)} that the hash gave most: its ${words(failure.sessions)} sessions go to ${words(failure.heirs)} others (as nginx's \`hash … consistent\` has it, 160 points each), ${words(heirsEach)} to each
and ${words(failure.sessionsOfOneMax)} to one. ${words(failure.cutOff)} calls in flight end with an error, if one takes ${fleet.requestMs} ms. The others are adopted with their clients' next requests:
${words(failure.adoptedInFirstSecond)} in the first second, half after ${failure.secondsUntilHalf} s, 99 % after ${failure.secondsUntilAllButOneInAHundred} s, never more than ${failure.adoptedByOneInASecondMax} a second at one machine. Redis carries out ${words(failure.adoptedInFirstSecond * commandsOf(adoption))} commands more in that
second, ${percent((failure.adoptedInFirstSecond * commandsOf(adoption)) / figures.commands)} of what it does anyway. If all clients come at once, as they do who have a GET stream, it is ${words(stormCommands)} commands and ${stormSeconds.toFixed(1)} s of CPU time
on ${nodes} nodes, once; a machine looks up ${words(limits.sessionLookUpsMax)} at a time for each worker, and up to ${words(limits.sessionLookUpsWaitingMax)} wait.

**Without affinity** everything goes on as well, but nearly every request finds its session elsewhere: ${words(scattered.perSecond)} adoptions a second, ${words(scattered.commands)} commands
and ${scattered.cores.toFixed(0)} cores of Redis, and each machine holds many times the sessions. In a fleet of this size the balancer has to keep sessions where they are.`;
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
