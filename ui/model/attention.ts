// What needs attention first: each concern with its reason, and the page on which to fix it.
import type { Composition, Server, Version } from '../api/types.js';
import type { LiveReading } from '../api/view-types.js';
import { plainReason, reasonWords } from './reason-words.js';
import { stateOf } from './server-state.js';

export interface Concern {
  readonly what: string;
  readonly why: string;
  /** A path within the console; `''` when no page can fix the concern. */
  readonly page: string;
  /** What the page is for, as the words of a button; `''` when there is none. */
  readonly remedy: string;
  /** Something is out already, not only at risk. */
  readonly isGrave: boolean;
}

/** What the dataplane reports about itself at the moment. */
export interface Watched {
  readonly reading: LiveReading | undefined;
  /** Why there is no newer reading; `''` when there is one. */
  readonly fault: string;
  readonly isUnnamed: boolean;
}

/** The worst come first: what affects everything, then servers that are out, then what may soon be out. */
export function concernsOf(
  version: Version,
  servers: readonly Server[],
  compositions: readonly Composition[],
  watched?: Watched,
): readonly Concern[] {
  const concernsAbout = (state: 'inactive' | 'failing', fact: string, facts: string): readonly Concern[] => {
    const isGrave = state === 'inactive';
    const found = servers.filter((server) => stateOf(server) === state);
    if (found.length > LISTED_MAX) {
      const page = `/servers?status=${state}`;
      return [
        { what: `${found.length} servers ${facts}`, why: firstWords(found), isGrave, page, remedy: 'View servers' },
      ];
    }
    return found.map(({ id, name, lastError }) => ({
      ...{ what: `${name} ${fact}`, why: reasonWords(lastError ?? NEVER), isGrave },
      ...{ page: `/servers/${id}`, remedy: 'View server' },
    }));
  };
  return [
    ...storeConcerns(version),
    ...(watched === undefined ? [] : dataplaneConcerns(watched)),
    ...concernsAbout('inactive', 'is inactive: its tools are not served', 'are inactive: their tools are not served'),
    ...compositions.filter(({ missingTools }) => missingTools.length > 0).map(missingConcern),
    ...concernsAbout('failing', 'did not respond to its last check', 'did not respond to their last check'),
  ];
}

/** More servers in one state are one concern: what else needs attention would be lost among them. */
const LISTED_MAX = 5;
const NEVER = 'it was never reached';

function firstWords(servers: readonly Server[]): string {
  const counts = new Map<string, number>();
  for (const { lastError } of servers) counts.set(lastError ?? NEVER, (counts.get(lastError ?? NEVER) ?? 0) + 1);
  const [reason, count] = [...counts].reduce((most, each) => (each[1] > most[1] ? each : most));
  const names = servers.slice(0, 3).map(({ name }) => name);
  const share = count === servers.length ? '' : ` (${count} of them)`;
  return `${plainReason(reason)}${share}: ${names.join(', ')} and ${servers.length - names.length} more`;
}

/** What is said when there is no concern. Only what has been asked counts as well. */
export function calmWords({ reading, isUnnamed }: Watched): { readonly isWell: boolean; readonly words: string } {
  const words = 'All enabled servers respond to the control plane, and everything is published.';
  if (reading !== undefined && !isUnnamed) return { isWell: true, words };
  const unknown = isUnnamed
    ? 'Whether the gateway serves clients, and reaches these servers, is not known here: the control plane was not told where to ask it.'
    : 'The gateway has not reported yet.';
  return { isWell: false, words: `${words} ${unknown}` };
}

/** The share of failing requests from which on the dataplane is worth a look. */
const FAILING_SHARE = 0.1;

const OBSTACLES: Readonly<Record<string, string>> = {
  'worker-absent': 'a process of the gateway is not listening',
  'store-unreachable': 'it cannot read user configs',
  'keys-missing': 'it has no key that verifies tokens',
  'keys-unreachable': 'keys of an issuer cannot be fetched',
  draining: 'it was told to stop',
  'dataplane-silent': 'one of its machines does not respond',
};

function dataplaneConcerns({ reading, fault, isUnnamed }: Watched): readonly Concern[] {
  if (isUnnamed) return [];
  if (fault !== '') return [{ ...grave('The state of the gateway is not available', fault), isGrave: false }];
  if (reading === undefined) return [];
  const { obstacles, degraded, workers, requestsPerSecond, failuresPerSecond } = reading;
  const concern = (what: string, { code, message }: LiveReading['obstacles'][number], isGrave: boolean): Concern => {
    return { ...grave(what, message || (OBSTACLES[code] ?? code)), isGrave };
  };
  const silent = workers.filter(({ health }) => health === 'silent').map(({ slot }) => slot);
  const share = requestsPerSecond > 0 ? failuresPerSecond / requestsPerSecond : 0;
  const why = `${Math.round(share * 100)} of 100 requests at the moment; look up one by its id, or check the backends of the sessions`;
  return [
    ...obstacles.map((trouble) => concern('The gateway is not ready', trouble, true)),
    ...(silent.length === 0
      ? []
      : [grave(`A process of the gateway does not respond: process ${silent.join(', ')}`, SILENT)]),
    ...(share >= FAILING_SHARE
      ? [{ ...grave('Requests to the gateway are failing', why), page: '/explain', remedy: 'Look up a request' }]
      : []),
    ...degraded.map((trouble) => concern('The gateway is running with reduced capacity', trouble, false)),
  ];
}

/** A concern that no page can fix. */
function grave(what: string, why: string): Concern {
  return { what, why: reasonWords(why), page: '', remedy: '', isGrave: true };
}

const SILENT = 'it did not respond within two seconds; a process that hangs is killed and replaced automatically';

function storeConcerns({ store, unpublishedChanges }: Version): readonly Concern[] {
  if (!store.reachable) {
    const why = 'nothing can be read or changed until it is back; the control plane retries automatically';
    return [grave('The store cannot be reached', why)];
  }
  if (unpublishedChanges === null || unpublishedChanges === 0) return [];
  const what = `${unpublishedChanges} ${unpublishedChanges === 1 ? 'change is' : 'changes are'} not published to everybody`;
  const why = 'some clients see the previous state until then; this continues automatically';
  return [{ what, why, page: '/compose', remedy: 'View compositions', isGrave: false }];
}

function missingConcern({ id, name, missingTools }: Composition): Concern {
  const [first] = missingTools;
  const others = missingTools.length > 1 ? ` and ${missingTools.length - 1} more` : '';
  const why = `${first?.tool ?? ''} of ${first?.server ?? ''}${others}: removed, renamed, or of a server that is disabled or inactive`;
  const what = `${name} refers to tools that do not exist`;
  return { what, why, page: `/compose/${id}`, remedy: 'Fix the composition', isGrave: true };
}
