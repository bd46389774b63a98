// A preview of a server before it is registered.
import type { JSX } from 'preact';
import { reasonWords } from '../model/reason-words.js';
import { offerWords } from '../model/server-items.js';
import { Empty } from '../parts/empty.js';
import { Said } from '../parts/said.js';
import type { Preview } from './server-form.js';

const SHOWN_MAX = 50;

/** @param preview `undefined` before the server has been looked at. */
export function ServerPreview({ preview }: { readonly preview: Preview | undefined }): JSX.Element {
  return (
    <section class="card preview" aria-live="polite">
      {preview === undefined ? (
        <Empty icon="search" title="No preview yet">
          <p>The gateway connects to the server and shows its name, its tools, and any problem here.</p>
        </Empty>
      ) : (
        <Found preview={preview} />
      )}
    </section>
  );
}

function Found({ preview: { server, tools } }: { readonly preview: Preview }): JSX.Element {
  const { name = '', version = '' } = server.serverInfo ?? {};
  return (
    <>
      <h2>Preview</h2>
      {server.lastError !== null ? (
        <div class="fault">
          <p>
            It cannot be used: <Said text={reasonWords(server.lastError).replace(/\.$/, '')} max={1_000} />.{' '}
            {/HTTP status 40[13]/.test(server.lastError)
              ? 'It wants credentials: choose which under Credentials.'
              : 'If you register it anyway, it is tried again from time to time.'}
          </p>
        </div>
      ) : (
        <>
          <p>
            <strong>
              <Said text={name} max={100} /> <Said text={version} max={40} />
            </strong>{' '}
            has {offerWords(server)}. For clients, their names begin with{' '}
            <code>{server.curation?.prefix ?? server.name}-</code>
          </p>
          <ul class="names">
            {tools.slice(0, SHOWN_MAX).map((tool) => (
              <li key={tool.name}>
                <code>
                  <Said text={tool.name} max={128} />
                </code>
              </li>
            ))}
            {tools.length > SHOWN_MAX && <li>and {tools.length - SHOWN_MAX} more</li>}
          </ul>
        </>
      )}
    </>
  );
}
