// The tag of a composition, as people have said it to be (change-condition.ts). Cold.
import { tagOf } from '../common/change-condition.js';
import type { Composition } from './composition.js';

type SaidOfComposition = Pick<
  Composition,
  'id' | 'name' | 'description' | 'exposure' | 'subjects' | 'team' | 'updatedAt' | 'servers'
>;

/** A server that was given another name is the same server: names of servers say nothing here. */
export function compositionTag(composition: SaidOfComposition): string {
  const { id, name, description, exposure = 'all', subjects, team, updatedAt, servers } = composition;
  const said = servers.map(({ tools, prompts = [], resources = [], curation = null }) => [
    tools,
    prompts,
    resources,
    curation,
  ]);
  return tagOf([id, name, description, exposure, subjects, team ?? null, updatedAt, said]);
}
