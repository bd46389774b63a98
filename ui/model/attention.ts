// What somebody should look at first: each with its reason, and the page that mends it.
import type { Composition, Server, Version } from '../api/types.js';
import { stateOf } from './server-state.js';

export interface Concern {
  readonly what: string;
  readonly why: string;
  /** Within the console; `''` when no page of it mends this. */
  readonly page: string;
}

/** The worst come first: what is wrong with everything, then with servers that are out, then with what may be out soon. */
export function concernsOf(
  version: Version,
  servers: readonly Server[],
  compositions: readonly Composition[],
): readonly Concern[] {
  const inState = (state: string): readonly Server[] => servers.filter((server) => stateOf(server) === state);
  const concernOf = ({ id, name, lastError }: Server, fact: string): Concern => ({
    what: `${name} ${fact}`,
    why: lastError ?? 'it was never reached',
    page: `/servers/${id}`,
  });
  return [
    ...storeConcerns(version),
    ...inState('inactive').map((server) => concernOf(server, 'is inactive: its tools are not served')),
    ...compositions.filter(({ missingTools }) => missingTools.length > 0).map(missingConcern),
    ...inState('failing').map((server) => concernOf(server, 'did not answer its last probe')),
  ];
}

function storeConcerns({ store, unpublishedChanges }: Version): readonly Concern[] {
  if (!store.reachable) {
    const why = 'nothing can be read or changed until it is back; the control plane tries again by itself';
    return [{ what: 'The store cannot be reached', why, page: '' }];
  }
  if (unpublishedChanges === null || unpublishedChanges === 0) return [];
  const what = `${unpublishedChanges} ${unpublishedChanges === 1 ? 'change is' : 'changes are'} not published to everybody`;
  return [
    { what, why: 'some callers are served as before until that is done; it goes on by itself', page: '/compose' },
  ];
}

function missingConcern({ id, name, missingTools }: Composition): Concern {
  const [first] = missingTools;
  const others = missingTools.length > 1 ? ` and ${missingTools.length - 1} more` : '';
  const why = `${first?.tool ?? ''} of ${first?.server ?? ''}${others}: gone, renamed, or of a server that is not served`;
  return { what: `${name} names tools that are not there`, why, page: `/compose/${id}` };
}
