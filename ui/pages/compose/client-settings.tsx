// Clients' settings to copy, for the address at which they reach the gateway. The browser remembers the address, but never a token.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { clientSettings, endpointOf, type ClientSettings } from '../../model/client-settings.js';
import { Copied } from '../../parts/copied.js';
import { Field } from '../../parts/field.js';
import { CodeBlock } from '../../parts/said.js';

const KEY = 'switchyard.gateway';

export function ClientSettingsList({ id, name }: { readonly id: string; readonly name: string }): JSX.Element {
  const [base, setBase] = useState(localStorage.getItem(KEY) ?? location.origin);
  const url = endpointOf(base, id);
  const change = (typed: string): void => {
    setBase(typed);
    if (endpointOf(typed, id) !== undefined) localStorage.setItem(KEY, typed);
  };
  return (
    <section class="card settings-list" aria-labelledby="settings">
      <h2 id="settings">Connect a client</h2>
      <Field
        label="Address of the gateway"
        value={base}
        help="At the control plane’s address it works for a first try. For everyday use, enter the gateway’s, with its path: https://gateway.example.com/gw-rs"
        onChange={change}
      />
      {url === undefined ? (
        <p class="note bad">This is not an http or https address.</p>
      ) : (
        <ClientChoice settings={clientSettings(name, url)} />
      )}
    </section>
  );
}

function ClientChoice({ settings }: { readonly settings: readonly ClientSettings[] }): JSX.Element {
  const [chosen, setChosen] = useState('');
  const shown = settings.find(({ client }) => client === chosen) ?? settings[0];
  return (
    <>
      <div class="segments" role="group" aria-label="Client">
        {settings.map(({ client }) => (
          <button key={client} type="button" aria-pressed={client === shown?.client} onClick={() => setChosen(client)}>
            {client}
          </button>
        ))}
      </div>
      {shown !== undefined && (
        <>
          <p class="note">{shown.place}</p>
          <Copied
            text={shown.text}
            what={`the settings for ${shown.client}`}
            words="Copied. It contains no token: every user needs their own"
          >
            <CodeBlock label={`Settings for ${shown.client}`} text={shown.text} />
          </Copied>
        </>
      )}
    </>
  );
}
