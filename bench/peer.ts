// Other gateways beside ours: the user has started each in front of the bench's backends, and gives its endpoint. They get
// the same load in the same rounds.
import type { LoadMeasure, Scenario } from './scenario.js';
import type { PeerName, Target } from './targets.js';

export interface Peer {
  readonly name: PeerName;
  /** Its MCP endpoint. */
  readonly url: URL;
  /** The same for every connection. */
  readonly token: string;
  /** Between a backend's name and a tool's. */
  readonly separator: string;
  /** `undefined`: its CPU time is not known. */
  readonly pid: number | undefined;
}

/** The highest process id on Linux. */
const PID_MAX = 4_194_304;
/** More connections only measure queueing: how a gateway serves many at once shows at 64. */
const CONNECTIONS_MAX = 120;
const FORM = 'NAME=URL,token,separator,pid';

/** @param word in the form of `FORM`; separator and pid may be missing. Throws an error fit for the user. */
export function parsePeer(word: string): Peer {
  const [, name = '', rest = ''] = /^([\w.-]{1,32})=(.+)$/.exec(word) ?? [];
  const [url = '', token = '', separator = '-', pid = '', ...more] = rest.split(',');
  if (name === '' || more.length > 0) throw new Error(`--peer takes ${FORM}, not ${word}`);
  // The load uses plain HTTP: TLS would measure its ciphers on the shared core.
  if (!URL.canParse(url) || new URL(url).protocol !== 'http:') throw new Error(`--peer takes an http URL, not ${url}`);
  return { name: `peer ${name}`, url: new URL(url), token, separator, pid: parsePid(pid) };
}

function parsePid(word: string): number | undefined {
  if (word === '') return undefined;
  const pid = Number(word);
  if (!Number.isInteger(pid) || pid < 1 || pid > PID_MAX) throw new Error(`--peer takes a process id, not ${word}`);
  return pid;
}

export function peerTarget({ name, url, token, separator, pid }: Peer): Target {
  return {
    name,
    origin: url.origin,
    token,
    hop: {
      kind: 'gateway',
      answers: 'own',
      path: () => url.pathname + url.search,
      toolName: (backend, tool) => `${backend}${separator}${tool}`,
      // Gateways map URIs differently; no peer is asked for a resource.
      uri: (_, uri) => uri,
    },
    rootPid: pid,
  };
}

/** The same scenario with a run of each peer in every round. */
export function besidePeers(scenario: Scenario, names: readonly PeerName[]): Scenario {
  const few = (counts: readonly number[]): number[] => counts.filter((count) => count <= CONNECTIONS_MAX);
  return {
    ...scenario,
    measures: [
      ...scenario.measures,
      ...names.map((name): LoadMeasure => ({ kind: 'load', target: name, place: name })),
    ],
    connectionCounts: few(scenario.connectionCounts),
    quickConnectionCounts: few(scenario.quickConnectionCounts),
  };
}
