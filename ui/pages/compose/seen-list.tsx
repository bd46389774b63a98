// A preview of what clients will see of a composition, and which of their naming rules it breaks.
import type { JSX } from 'preact';
import { tokensOf, type Seen } from '../../model/seen-items.js';
import { itemKinds } from '../../model/server-items.js';
import { Empty } from '../../parts/empty.js';
import { Said } from '../../parts/said.js';

const SHOWN_MAX = 200;
const KIND_WORDS = { tools: 'tools', prompts: 'prompts', resources: 'resources' } as const;

export function SeenList({ seen: { items, idle } }: { readonly seen: Seen }): JSX.Element {
  const counts = itemKinds.map((kind) => [kind, items.filter((item) => item.kind === kind)] as const);
  const tools = counts.find(([kind]) => kind === 'tools')?.[1] ?? [];
  const told = counts.filter(([kind, each]) => kind === 'tools' || each.length > 0);
  const faulty = items.filter(({ faults }) => faults.length > 0);
  const shown = [...faulty, ...items.filter(({ faults }) => faults.length === 0)].slice(0, SHOWN_MAX);
  return (
    <section class="card seen" aria-labelledby="seen" tabIndex={0}>
      <h2 id="seen">What clients will see</h2>
      <p class="note" role="status">
        {told.map(([kind, each]) => `${each.length} ${KIND_WORDS[kind]}`).join(', ')}; the list of tools takes about{' '}
        {tokensOf(tools).toLocaleString()} tokens of a model’s context, estimated at four bytes each
        {faulty.length > 0 && `. ${faulty.length} to check`}
      </p>
      {idle.slice(0, SHOWN_MAX).map(({ server, pattern }) => (
        <p key={`${server} ${pattern}`} class="note bad">
          The pattern {pattern} matches no tool that {server} has now
        </p>
      ))}
      {items.length === 0 && (
        <Empty title="Nothing yet">Choose tools beside this, and see here what clients will.</Empty>
      )}
      {items.length > 0 && (
        <ul class="items">
          {shown.map(({ kind, name, server, item, faults }) => (
            <li key={`${kind} ${server} ${item}`}>
              <code>
                <Said text={name} max={128} />
              </code>
              {kind !== 'tools' && <span class="note"> {kind === 'prompts' ? 'prompt' : `resource of ${server}`}</span>}
              {faults.map((fault) => (
                <p key={fault} class="note bad">
                  This name <Said text={fault} />
                </p>
              ))}
            </li>
          ))}
        </ul>
      )}
      {items.length > SHOWN_MAX && <p class="note">and {items.length - SHOWN_MAX} more</p>}
    </section>
  );
}
