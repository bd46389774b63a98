// What a server has, as it was last read: its tools, prompts and resources, searchable, each with its arguments.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { Link } from 'wouter-preact';
import { ask } from '../../api/api.js';
import { useQuery } from '../../api/query.js';
import type { Server } from '../../api/types.js';
import { offerOf } from '../../model/offers.js';
import { formOf, type FieldKind, type FormField } from '../../model/schema-form.js';
import { itemKinds, itemsOf, listPaths, type ItemKind, type ServerItem } from '../../model/server-items.js';
import { Empty } from '../../parts/empty.js';
import { Icon } from '../../parts/icon.js';
import { Loaded } from '../../parts/notices.js';
import { CodeBlock, LongSaid, Said } from '../../parts/said.js';

const SHOWN_MAX = 100;
/** No more than one sees at a glance. */
const FEW = 5;

export function ServerOffers({ server }: { readonly server: Server }): JSX.Element {
  const [kind, setKind] = useState<ItemKind>('tools');
  const paths = listPaths(server);
  const kinds = itemKinds.filter((each) => paths.some(([of]) => of === each));
  const items = useQuery(`${kind} ${server.id}`, async () => {
    const found: ServerItem[] = [];
    for (const [of, path] of paths) if (of === kind) found.push(...itemsOf(kind, (await ask<unknown[]>(path)).value));
    return found;
  });
  return (
    <section class="card offered" aria-labelledby="offered">
      <div class="top">
        <h2 id="offered">{kinds.length > 1 ? 'What it offers' : <Counted {...{ server, kind }} />}</h2>
        {kinds.length > 1 && (
          <div class="segments" role="group" aria-label="Kind">
            {kinds.map((each) => (
              <button key={each} type="button" aria-pressed={each === kind} onClick={() => setKind(each)}>
                <Counted {...{ server }} kind={each} />
              </button>
            ))}
          </div>
        )}
      </div>
      <Loaded query={items}>{(all) => <ItemList key={kind} {...{ server, kind, all }} />}</Loaded>
    </section>
  );
}

function Counted({ server, kind }: { readonly server: Server; readonly kind: ItemKind }): JSX.Element {
  const { toolCount, promptCount, resourceCount = 0, templateCount = 0 } = server;
  const count = { tools: toolCount, prompts: promptCount, resources: resourceCount + templateCount }[kind];
  return (
    <>
      <span class="kind">{kind}</span> <span class="count">{count?.toLocaleString()}</span>
    </>
  );
}

interface ListProps {
  readonly server: Server;
  readonly kind: ItemKind;
  readonly all: readonly ServerItem[];
}

function ItemList({ server, kind, all }: ListProps): JSX.Element {
  const [words, setWords] = useState('');
  const sought = words.trim().toLowerCase();
  const found = all.filter(({ text }) => text.includes(sought));
  if (all.length === 0)
    return (
      <Empty title={`No ${kind}`}>
        {server.lastSeen === null ? 'They appear here once the server is reached.' : 'The server lists none.'}
      </Empty>
    );
  return (
    <>
      {all.length > FEW && (
        <input
          type="search"
          aria-label={`Search its ${kind}`}
          placeholder={`Search its ${kind}`}
          value={words}
          onInput={(event) => setWords(event.currentTarget.value)}
        />
      )}
      {found.length === 0 && (
        <Empty icon="search" title="No match">
          Search for a part of a name.
        </Empty>
      )}
      <ul class="items">
        {found.slice(0, SHOWN_MAX).map((item) => (
          <Item key={item.key} {...{ server, kind, item }} />
        ))}
      </ul>
      {found.length > SHOWN_MAX && <p class="note">{found.length - SHOWN_MAX} more: search to see them.</p>}
    </>
  );
}

function Item({
  server,
  kind,
  item: { key, title, told },
}: Omit<ListProps, 'all'> & { item: ServerItem }): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  const { description } = told;
  const bare = { server: server.id, kind, tool: key };
  return (
    <li>
      <details onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>
          <code>
            <Said text={key} max={200} />
          </code>
          <span class="note one-line">
            <Said text={title !== '' ? title : (description ?? '')} max={160} />
          </span>
          <Hints annotations={told['annotations']} />
        </summary>
        {isOpen && (
          <>
            <LongSaid text={description} />
            <ArgumentList fields={formOf(offerOf(kind, told)?.schema)} />
            {kind !== 'resources' && (
              <Link class="button" href={`/playground?${new URLSearchParams(bare).toString()}`}>
                <Icon name="playground" />
                Try it
              </Link>
            )}
            <details>
              <summary>As the server describes it</summary>
              <CodeBlock label={`Definition of ${key.slice(0, 100)}`} text={told} />
            </details>
          </>
        )}
      </details>
    </li>
  );
}

const KIND_WORDS: Readonly<Record<FieldKind, string>> = {
  ...{ text: 'text', 'long-text': 'text', number: 'number', integer: 'whole number', boolean: 'true or false' },
  ...{ choice: '', group: 'object', list: 'list', json: 'JSON' },
};

function ArgumentList({ fields }: { readonly fields: readonly FormField[] }): JSX.Element | null {
  if (fields.length === 0) return null;
  return (
    <ul class="arguments" aria-label="Arguments">
      {fields.map(({ name, kind, choices, hint, isRequired, description }) => (
        <li key={name}>
          <code>
            <Said text={name} max={100} />
          </code>
          <div>
            <span class="note">
              <Said text={[KIND_WORDS[kind], choices.join(' | '), hint].filter((each) => each !== '').join(', ')} />
            </span>
            {isRequired && <span class="chip">required</span>}
            {description !== undefined && <LongSaid text={description} max={200} />}
          </div>
        </li>
      ))}
    </ul>
  );
}

/** What the server says of a tool's effects. Nobody has verified it. */
function Hints({ annotations }: { readonly annotations: unknown }): JSX.Element | null {
  const { readOnlyHint, destructiveHint } = (annotations ?? {}) as Readonly<Record<string, unknown>>;
  if (readOnlyHint === true) return <span class="chip">read-only</span>;
  return destructiveHint === true ? <span class="status failing">destructive</span> : null;
}
