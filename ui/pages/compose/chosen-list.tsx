// The right of two panes: what clients will see of the composition, by server, each with what can be changed about it, and what is wrong.
import type { JSX } from 'preact';
import { useMemo, useRef } from 'preact/hooks';
import type { Server } from '../../api/types.js';
import {
  curationOf,
  pickedOf,
  withCuration,
  withItem,
  withPicked,
  type CompositionDraft,
} from '../../model/composition-draft.js';
import { counted } from '../../model/counted.js';
import { withPrefix } from '../../model/curation.js';
import { prefixOf, tokensOf, type Seen, type SeenItem } from '../../model/seen-items.js';
import { itemKinds, type ServerItem, type ServerItems } from '../../model/server-items.js';
import { Empty } from '../../parts/empty.js';
import { Field } from '../../parts/field.js';
import { Icon } from '../../parts/icon.js';
import { Said } from '../../parts/said.js';
import { ItemCuration } from './item-curation.js';

interface ChosenProps {
  readonly seen: Seen;
  readonly servers: readonly Server[];
  readonly lists: ReadonlyMap<string, ServerItems>;
  readonly draft: CompositionDraft;
  readonly onChange: (draft: CompositionDraft) => void;
}

const SHOWN_MAX = 200;

export function ChosenList({ seen, servers, lists, draft, onChange }: ChosenProps): JSX.Element {
  const place = useRef<HTMLElement>(null);
  const { items, left, idle } = seen;
  const counts = itemKinds.map((kind) => [kind, items.filter((item) => item.kind === kind)] as const);
  const tools = counts.find(([kind]) => kind === 'tools')?.[1] ?? [];
  const told = counts.filter(([kind, each]) => kind === 'tools' || each.length > 0);
  const faulty = items.filter(({ faults }) => faults.length > 0);
  const shown = [...faulty, ...items.filter(({ faults }) => faults.length === 0), ...left].slice(0, SHOWN_MAX);
  const groups = useMemo(() => byServer(shown), [seen]);
  return (
    <section class="card seen" aria-labelledby="seen" tabIndex={0} ref={place}>
      <h2 id="seen">What clients will see</h2>
      <p class="note" role="status">
        {told.map(([kind, each]) => counted(each.length, kind)).join(', ')}
        {items.length > 0 &&
          (draft.exposure === 'search'
            ? '; clients list find_tools and call_tool alone, and find these by search'
            : `; about ${tokensOf(tools).toLocaleString()} tokens of a model’s context, estimated at four bytes each`)}
        {faulty.length > 0 && `. ${faulty.length} to check`}
      </p>
      {idle.slice(0, SHOWN_MAX).map(({ server, pattern }) => (
        <p key={`${server} ${pattern}`} class="note bad">
          The pattern {pattern} matches no tool that {server} has now
        </p>
      ))}
      {draft.servers.length === 0 && (
        <Empty icon="compose" title="Nothing selected yet">
          <p>Select tools under Available: they appear here as clients will see them.</p>
        </Empty>
      )}
      {draft.servers.map(({ name }) => (
        <ChosenServer
          key={name}
          {...{ name, draft, onChange }}
          record={servers.find((server) => server.name === name)}
          list={lists.get(name)}
          items={groups.get(name) ?? []}
          onRemoved={() => place.current?.focus()}
        />
      ))}
      {items.length > SHOWN_MAX && <p class="note">and {items.length - SHOWN_MAX} more</p>}
    </section>
  );
}

function byServer(items: readonly SeenItem[]): ReadonlyMap<string, readonly SeenItem[]> {
  const groups = new Map<string, SeenItem[]>();
  for (const item of items) groups.set(item.server, [...(groups.get(item.server) ?? []), item]);
  return groups;
}

interface ChosenServerProps extends Pick<ChosenProps, 'draft' | 'onChange'> {
  readonly name: string;
  readonly record: Server | undefined;
  readonly list: ServerItems | undefined;
  readonly items: readonly SeenItem[];
  readonly onRemoved: () => void;
}

function ChosenServer({ name, record, list, items, draft, onChange, onRemoved }: ChosenServerProps): JSX.Element {
  const picked = pickedOf(draft, name, 'tools');
  const patterns = picked.filter((each) => each.includes('*'));
  const curation = curationOf(draft, name);
  const known = useMemo(() => {
    const all = itemKinds.flatMap((kind) => (list?.[kind] ?? []).map((item) => [`${kind} ${item.key}`, item] as const));
    return new Map(all);
  }, [list]);
  return (
    <div class="chosen-server">
      <h3>{name}</h3>
      {patterns.map((pattern) => (
        <p key={pattern} class="pattern">
          <code>{pattern}</code> <span class="note">present and future tools</span>
          <button
            type="button"
            class="quiet"
            aria-label={`Take ${pattern} away`}
            onClick={() => {
              onChange(
                withPicked(
                  draft,
                  name,
                  'tools',
                  picked.filter((each) => each !== pattern),
                ),
              );
              onRemoved();
            }}
          >
            <Icon name="close" />
          </button>
        </p>
      ))}
      <ul class="items chosen">
        {items.map((item) => (
          <ChosenItem
            key={`${item.kind} ${item.item}`}
            {...{ item, draft, onChange, onRemoved }}
            told={known.get(`${item.kind} ${item.item}`)}
            isNamed={(draft.servers.find((each) => each.name === name)?.[item.kind] ?? []).includes(item.item)}
          />
        ))}
      </ul>
      <details class="prefix">
        <summary>
          Names begin with{' '}
          <code>{prefixOf({ name, tools: [], ...(curation && { curation }) }, record) || 'nothing'}</code>
        </summary>
        <Field
          label={`Prefix of the names of ${name}`}
          value={prefixOf({ name, tools: [], ...(curation && { curation }) }, record)}
          help="The default unless you change it; empty for none. A - is added after it."
          onChange={(typed) => {
            const isUnchanged = typed === prefixOf({ name, tools: [] }, record);
            const changed = withPrefix(curation, isUnchanged ? undefined : typed.replace(/-$/, ''));
            onChange(withCuration(draft, name, changed));
          }}
        />
      </details>
    </div>
  );
}

interface ChosenItemProps extends Pick<ChosenProps, 'draft' | 'onChange'> {
  readonly item: SeenItem;
  readonly told: ServerItem | undefined;
  /** By its own name, not by a pattern. */
  readonly isNamed: boolean;
  readonly onRemoved: () => void;
}

function ChosenItem({ item: seen, told, isNamed, draft, onChange, onRemoved }: ChosenItemProps): JSX.Element {
  const { kind, name, server, item, faults, isLeftOut } = seen;
  const shown = (
    <>
      <code class={isLeftOut === true ? 'left-out' : undefined}>
        <Said text={name} max={128} />
      </code>
      {kind === 'prompts' && <span class="chip">prompt</span>}
      {kind === 'resources' && <span class="chip">resource</span>}
      {isLeftOut === true && <span class="note">left out</span>}
    </>
  );
  return (
    <li>
      <div class="chosen-row">
        {kind === 'resources' ? (
          <div class="plain">{shown}</div>
        ) : (
          <ItemCuration
            kind={kind}
            item={told ?? { key: item, alias: '', title: '', text: '', told: {} }}
            curation={curationOf(draft, server)}
            onChange={(curation) => onChange(withCuration(draft, server, curation))}
          >
            {shown}
          </ItemCuration>
        )}
        {isNamed && (
          <button
            type="button"
            class="quiet remove"
            aria-label={`Remove ${item.slice(0, 100)} of ${server}`}
            onClick={() => {
              onChange(withItem(draft, server, kind, told ?? { key: item, alias: '' }, false));
              onRemoved();
            }}
          >
            <Icon name="close" />
          </button>
        )}
      </div>
      {faults.map((fault) => (
        <p key={fault} class="note bad">
          This name <Said text={fault} />
        </p>
      ))}
    </li>
  );
}
