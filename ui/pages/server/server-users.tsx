// Who may use a server: the compositions that have something of it, and their subjects.
import type { JSX } from 'preact';
import { Link } from 'wouter-preact';
import type { Composition, Server } from '../../api/types.js';
import { counted } from '../../model/counted.js';
import { mayMake } from '../../model/permission.js';
import { itemKinds } from '../../model/server-items.js';
import { subjectWords } from '../../model/subject-words.js';
import { useCaller } from '../../api/caller.js';
import { Loaded } from '../../parts/notices.js';
import { Said } from '../../parts/said.js';
import { useCompositions } from '../compositions.js';
import { usersOf } from './loss-question.js';

const SUBJECTS_MAX = 5;

export function ServerUsers({ server }: { readonly server: Server }): JSX.Element {
  const compositions = useCompositions();
  const isMaker = mayMake(useCaller());
  return (
    <section class="card" aria-labelledby="users">
      <h2 id="users">Access</h2>
      <Loaded query={compositions}>
        {(all) => {
          const using = usersOf([server], all);
          if (using.length > 0) return <Users compositions={using} server={server.name} />;
          return (
            <p class="note">
              No composition includes it yet.{' '}
              {isMaker && <Link href={`/compose/new?search=${encodeURIComponent(server.name)}`}>New composition</Link>}
            </p>
          );
        }}
      </Loaded>
    </section>
  );
}

function Users({
  compositions,
  server,
}: {
  readonly compositions: readonly Composition[];
  readonly server: string;
}): JSX.Element {
  return (
    <ul class="items users">
      {compositions.map((composition) => (
        <li key={composition.id}>
          <Link href={`/compose/${composition.id}`}>{composition.name}</Link>{' '}
          <span class="note">
            {offerWords(composition, server)}, {subjectWords(composition.subjects.length)}
          </span>
          <p class="note one-line">
            <Said text={composition.subjects.slice(0, SUBJECTS_MAX).join(', ')} max={200} />
            {composition.subjects.length > SUBJECTS_MAX && ` and ${composition.subjects.length - SUBJECTS_MAX} more`}
          </p>
        </li>
      ))}
    </ul>
  );
}

/** What the composition has of the server. */
function offerWords({ servers }: Composition, server: string): string {
  const each = servers.find(({ name }) => name === server);
  if (each?.tools.includes('*') === true) return 'all of its tools';
  const told = itemKinds.map((kind) => [kind, each?.[kind]?.length ?? 0] as const).filter(([, count]) => count > 0);
  return told.map(([kind, count]) => counted(count, kind)).join(', ');
}
