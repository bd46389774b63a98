// All compositions: the servers and the subjects of each.
import type { JSX } from 'preact';
import { Link } from 'wouter-preact';
import { askAll } from '../api/api.js';
import { useCaller } from '../api/caller.js';
import { useQuery } from '../api/query.js';
import type { Composition } from '../api/types.js';
import { mayMake } from '../model/permission.js';
import { itemKinds } from '../model/server-items.js';
import { subjectWords } from '../model/subject-words.js';
import { Empty } from '../parts/empty.js';
import { Icon } from '../parts/icon.js';
import { Loaded } from '../parts/notices.js';
import { LongSaid } from '../parts/said.js';

export const useCompositions = () => useQuery('compositions', () => askAll<Composition>('/compositions'));

export function CompositionsPage(): JSX.Element {
  const compositions = useCompositions();
  const isMaker = mayMake(useCaller());
  return (
    <>
      <div class="heading">
        <h1>Compositions</h1>
        {isMaker && (
          <Link href="/compose/new" class="button main">
            <Icon name="add" />
            Compose one
          </Link>
        )}
      </div>
      <Loaded query={compositions}>
        {(all) =>
          all.length === 0 ? (
            <section class="card">
              <Empty icon="compose" title="There are none yet">
                <p>
                  A composition is a virtual server made of tools of other servers, for the subjects that you choose.
                </p>
                {isMaker && (
                  <Link href="/compose/new" class="button main">
                    Make the first one
                  </Link>
                )}
              </Empty>
            </section>
          ) : (
            <ul class="grid">
              {all.map((composition) => (
                <CompositionRow key={composition.id} composition={composition} />
              ))}
            </ul>
          )
        }
      </Loaded>
    </>
  );
}

function CompositionRow({ composition }: { readonly composition: Composition }): JSX.Element {
  const { id, name, description, servers, subjects, missingTools, exposure } = composition;
  const counts = itemKinds.map(
    (kind) => [kind, servers.reduce((sum, each) => sum + (each[kind] ?? []).length, 0)] as const,
  );
  const told = counts
    .filter(([kind, count]) => kind === 'tools' || count > 0)
    .map(([kind, count]) => `${count} ${count === 1 ? kind.slice(0, -1) : kind}`);
  return (
    <li class="card">
      <Link href={`/compose/${id}`}>{name}</Link>
      <LongSaid text={description} max={200} />
      {exposure === 'search' && <p class="note">Clients search its tools</p>}
      <p class="note">
        {told.join(', ')} of {servers.map((server) => server.name).join(', ')}; {subjectWords(subjects.length)}
      </p>
      {missingTools.length > 0 && (
        <p class="bad">
          Missing:{' '}
          {missingTools
            .slice(0, 5)
            .map(({ server, tool }) => `${server} ${tool}`)
            .join(', ')}
          {missingTools.length > 5 && ` and ${missingTools.length - 5} more`}
        </p>
      )}
    </li>
  );
}
