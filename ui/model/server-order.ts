// The order of the table of servers, by the column whose head was pressed.
import type { Server } from '../api/types.js';
import { ownerWords } from './permission.js';
import { stateOf, type ServerState } from './server-state.js';

/** From the worst: who sorts by state looks for what is wrong. */
const STATE_RANKS = ['inactive', 'failing', 'disabled', 'active'] as const satisfies readonly ServerState[];

const VALUES: Readonly<Record<string, (server: Server) => string | number>> = {
  Name: ({ name }) => name.toLowerCase(),
  Status: (server) => STATE_RANKS.indexOf(stateOf(server)),
  Tools: ({ toolCount }) => toolCount,
  'Belongs to': (server) => ownerWords(server).toLowerCase() || '\uffff',
  'Last seen': ({ lastSeen }) => (lastSeen === null ? Infinity : -Date.parse(lastSeen)),
};

/** @returns the servers in that order, those that are equal by their names; as they came where the column is unknown. */
export function inOrder(servers: readonly Server[], column: string, isDown: boolean): readonly Server[] {
  const valueOf = VALUES[column];
  if (valueOf === undefined) return servers;
  const valued = servers.map((server) => [valueOf(server), server] as const);
  const sign = isDown ? -1 : 1;
  valued.sort(([one, a], [other, b]) => (one < other ? -sign : one > other ? sign : a.name < b.name ? -1 : 1));
  return valued.map(([, server]) => server);
}
