// All compositions: the servers and the subjects of each.
import type { JSX } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { Link } from 'wouter-preact';
import { askAll } from '../api/api.js';
import { useCaller } from '../api/caller.js';
import { useQuery } from '../api/query.js';
import type { Composition } from '../api/types.js';
import { contentWords } from '../model/composition-draft.js';
import { counted } from '../model/counted.js';
import { mayMake } from '../model/permission.js';
import { Empty } from '../parts/empty.js';
import { Icon } from '../parts/icon.js';
import { NextSteps } from '../parts/next-steps.js';
import { Loaded } from '../parts/notices.js';
import { Said } from '../parts/said.js';
import { Since } from '../parts/since.js';
import { Table, type Column, type Order, type Row } from '../parts/table.js';

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
            New composition
          </Link>
        )}
      </div>
      <Loaded query={compositions}>
        {(all) =>
          all.length === 0 ? (
            <section class="card">
              <Empty icon="compose" title="No compositions yet">
                <p>
                  A composition is a virtual server made of tools of other servers, for the subjects that you choose.
                </p>
                {isMaker && (
                  <Link href="/compose/new" class="button main">
                    New composition
                  </Link>
                )}
              </Empty>
            </section>
          ) : (
            <>
              <CompositionTable compositions={all} />
              <NextSteps count={all.length} steps={NEXT} />
            </>
          )
        }
      </Loaded>
    </>
  );
}

const NEXT = [
  ['playground', '/playground', 'Try a tool', 'Call it, and see what is sent and answered'],
  ['explain', '/explain', 'Check access', 'See why a user has a tool or not'],
] as const;

const COLUMNS: readonly Column[] = [
  { name: 'Name', isSorted: true },
  { name: 'Contents' },
  { name: 'Users', isSorted: true },
  { name: 'Team', isSorted: true, isExtra: true },
  { name: 'Last edited', isSorted: true },
];

function CompositionTable({ compositions }: { readonly compositions: readonly Composition[] }): JSX.Element {
  const [order, setOrder] = useState<Order>({ column: 'Name', isDown: false });
  const [words, setWords] = useState('');
  const found = useMemo(() => {
    const sought = words.trim().toLowerCase();
    const all = compositions.filter((composition) => textOf(composition).includes(sought));
    const sign = order.isDown ? -1 : 1;
    const valueOf = VALUES[order.column] ?? nameOf;
    return all.sort((a, b) => sign * compare(valueOf(a), valueOf(b)) || compare(a.name, b.name));
  }, [compositions, words, order]);
  const rows = useMemo(() => found.map(rowOf), [found]);
  const columns = useMemo(() => {
    const isTeamless = compositions.every(({ team }) => team === undefined);
    return COLUMNS.map((column) => ({ ...column, isEmpty: column.name === 'Team' && isTeamless }));
  }, [compositions]);
  return (
    <>
      <form class="filters" role="search" onSubmit={(event) => event.preventDefault()}>
        <label>
          Search
          <input
            type="search"
            value={words}
            placeholder="name, server, person or team"
            onInput={(event) => setWords(event.currentTarget.value)}
          />
        </label>
      </form>
      <section class="card table-card" aria-label="Compositions">
        <p class="top note" role="status">
          {found.length === compositions.length ? '' : `${found.length} of `}
          {counted(compositions.length, 'compositions')}
        </p>
        {rows.length === 0 ? (
          <Empty icon="search" title="No composition matches">
            <p>Search for the name of a composition, or of somebody who may use it.</p>
          </Empty>
        ) : (
          <Table label="Table of compositions" {...{ columns, rows, order }} onOrder={setOrder} />
        )}
      </section>
    </>
  );
}

const nameOf = ({ name }: Composition): string => name.toLowerCase();

const VALUES: Readonly<Record<string, (composition: Composition) => string | number>> = {
  Name: nameOf,
  Users: ({ subjects }) => subjects.length,
  Team: ({ team = '\uffff' }) => team.toLowerCase(),
  'Last edited': ({ updatedAt }) => -Date.parse(updatedAt),
};

function compare<Value extends string | number>(one: Value, other: Value): number {
  return one < other ? -1 : one > other ? 1 : 0;
}

function textOf({ name, description, servers, subjects, team = '' }: Composition): string {
  return [name, description, team, ...servers.map((server) => server.name), ...subjects].join('\n').toLowerCase();
}

function rowOf({
  id,
  name,
  description,
  servers,
  subjects,
  missingTools,
  exposure,
  team,
  updatedAt,
}: Composition): Row {
  return {
    key: id,
    cells: [
      <>
        <Link href={`/compose/${id}`}>{name}</Link>
        {description !== '' && (
          <p class="note one-line">
            <Said text={description} max={160} />
          </p>
        )}
      </>,
      <div>
        {contentWords(servers)}
        <p class="note one-line">of {servers.map((server) => server.name).join(', ')}</p>
        {exposure === 'search' && <p class="note">Clients search them</p>}
        {missingTools.length > 0 && (
          <p class="note bad">
            Missing:{' '}
            {missingTools
              .slice(0, 5)
              .map(({ server, tool }) => `${server} ${tool}`)
              .join(', ')}
            {missingTools.length > 5 && ` and ${missingTools.length - 5} more`}
          </p>
        )}
      </div>,
      <div>
        {subjects.length === 0 ? 'nobody yet' : counted(subjects.length, 'users')}
        <p class="note one-line">
          <Said text={subjects.slice(0, 5).join(', ')} max={100} />
        </p>
      </div>,
      team !== undefined && (
        <span class="owner">
          <Icon name="people" />
          <Said text={team} max={60} />
        </span>
      ),
      <Since time={updatedAt} />,
    ],
  };
}
