// The state of a server, derived from its record for its maintainers, and the search among servers.

export const serverStates = ['active', 'failing', 'inactive', 'disabled'] as const;
export type ServerState = (typeof serverStates)[number];

interface Judged {
  readonly status: 'active' | 'inactive';
  readonly enabled: boolean;
  readonly reachable: boolean;
}

/** `failing`: still served, although the last probe did not reach it. */
export function stateOf({ status, enabled, reachable }: Judged): ServerState {
  if (!enabled) return 'disabled';
  if (status === 'inactive') return 'inactive';
  return reachable ? 'active' : 'failing';
}

export interface ServerSearch {
  readonly words: string;
  readonly tag: string;
  readonly state: string;
}

interface Searched extends Judged {
  readonly name: string;
  readonly url: string;
  readonly description: string;
  readonly tags: readonly string[];
}

/** Each word must occur in the server's name, address, description or tags. */
export function isFound(server: Searched, { words, tag, state }: ServerSearch): boolean {
  if (tag !== '' && !server.tags.includes(tag)) return false;
  if (state !== '' && stateOf(server) !== state) return false;
  const text = [server.name, server.url, server.description, ...server.tags].join('\n').toLowerCase();
  return words
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}
