// The tools of a server, as it last listed them: searchable by name, each expandable.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { Link } from 'wouter-preact';
import { ask } from '../api/api.js';
import { useQuery } from '../api/query.js';
import type { Server, Tool } from '../api/types.js';
import { counted } from '../model/counted.js';
import { Empty } from '../parts/empty.js';
import { Loaded } from '../parts/notices.js';
import { CodeBlock, LongSaid, Said } from '../parts/said.js';

const SHOWN_MAX = 100;
/** No more than one sees at a glance. */
const FEW = 5;

export function ServerTools({ server }: { readonly server: Server }): JSX.Element {
  const path = `/servers/${server.id}/tools`;
  const tools = useQuery(path, async () => (await ask<Tool[]>(path)).value);
  return (
    <section class="card" aria-labelledby="tools">
      <h2 id="tools">Tools</h2>
      <Loaded query={tools}>{(all) => <ToolList server={server} tools={all} />}</Loaded>
    </section>
  );
}

function ToolList({ server, tools }: { readonly server: Server; readonly tools: readonly Tool[] }): JSX.Element {
  const [words, setWords] = useState('');
  const found = tools.filter(({ name }) => name.toLowerCase().includes(words.trim().toLowerCase()));
  if (tools.length === 0)
    return (
      <Empty title="No tools">
        {server.lastSeen === null ? 'They appear here once the server is reached.' : 'The server lists none.'}
      </Empty>
    );
  return (
    <>
      {tools.length > FEW && (
        <label class="inline">
          Search its {counted(tools.length, 'tools')}
          <input type="search" value={words} onInput={(event) => setWords(event.currentTarget.value)} />
        </label>
      )}
      <ul class="items">
        {found.slice(0, SHOWN_MAX).map((tool) => (
          <li key={tool.name}>
            <details>
              <summary>
                <code>
                  <Said text={tool.name} max={128} />
                </code>{' '}
                <Hints annotations={tool.annotations} />
                <span class="note one-line">
                  <Said text={tool.title ?? tool.description ?? ''} max={160} />
                </span>
              </summary>
              <LongSaid text={tool.description} />
              <CodeBlock label={`Schema of ${tool.name.slice(0, 100)}`} text={tool.inputSchema} />
              <Link href={`/playground?server=${server.id}&tool=${encodeURIComponent(tool.name)}`}>Try it</Link>
            </details>
          </li>
        ))}
      </ul>
      {found.length > SHOWN_MAX && <p class="note">{found.length - SHOWN_MAX} more: search to see them.</p>}
    </>
  );
}

/** What the server says of a tool's effects. Nobody has verified it. */
function Hints({ annotations }: { readonly annotations: unknown }): JSX.Element | null {
  const { readOnlyHint, destructiveHint } = (annotations ?? {}) as Readonly<Record<string, unknown>>;
  if (readOnlyHint === true) return <span class="chip">read-only</span>;
  return destructiveHint === true ? <span class="status failing">destructive</span> : null;
}
