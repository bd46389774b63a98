// The prompts and resources of a server, as it last listed them.
import type { JSX } from 'preact';
import { ask } from '../api/api.js';
import { useQuery } from '../api/query.js';
import type { Server } from '../api/types.js';
import { itemsOf, listPaths, type ServerItem } from '../model/server-items.js';
import { Loaded } from '../parts/notices.js';
import { CodeBlock, LongSaid, Said } from '../parts/said.js';

const SHOWN_MAX = 100;
const KINDS = [
  ['prompts', 'Prompts'],
  ['resources', 'Resources'],
] as const;

export function ServerLists({ server }: { readonly server: Server }): JSX.Element {
  const paths = listPaths(server);
  return (
    <>
      {KINDS.filter(([kind]) => paths.some(([each]) => each === kind)).map(([kind, title]) => (
        <List key={kind} {...{ server, kind, title }} />
      ))}
    </>
  );
}

interface ListProps {
  readonly server: Server;
  readonly kind: 'prompts' | 'resources';
  readonly title: string;
}

function List({ server, kind, title }: ListProps): JSX.Element {
  const items = useQuery(`${kind} ${server.id}`, async () => {
    const found: ServerItem[] = [];
    for (const [each, path] of listPaths(server)) {
      if (each === kind) found.push(...itemsOf(kind, (await ask<unknown[]>(path)).value));
    }
    return found;
  });
  return (
    <section class="card" aria-labelledby={kind}>
      <h2 id={kind}>{title}</h2>
      <Loaded query={items}>
        {(all) => (
          <>
            {all.length === 0 && <p class="note">None reported.</p>}
            <ul class="items">
              {all.slice(0, SHOWN_MAX).map(({ key, title: heading, told }) => (
                <li key={key}>
                  <details>
                    <summary>
                      <code>
                        <Said text={key} max={200} />
                      </code>{' '}
                      <Said text={heading} max={80} />
                    </summary>
                    <LongSaid text={told['description']} />
                    <CodeBlock label={`All of ${key.slice(0, 100)}`} text={told} />
                  </details>
                </li>
              ))}
            </ul>
            {all.length > SHOWN_MAX && <p class="note">{all.length - SHOWN_MAX} more.</p>}
          </>
        )}
      </Loaded>
    </section>
  );
}
