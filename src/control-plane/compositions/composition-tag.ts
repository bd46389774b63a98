// The tag of a composition, over what people have set (change-condition.ts). Cold path.
import { tagOf } from '../common/change-condition.js';
import type { Composition } from './composition.js';

type SaidOfComposition = Pick<
  Composition,
  'id' | 'name' | 'description' | 'exposure' | 'subjects' | 'team' | 'updatedAt' | 'servers'
>;

/** Server names are left out: a renamed server is the same server. */
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
