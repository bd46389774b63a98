// The credentials that a server requires. Secrets are named here and stored with `switchyard secrets`: none is ever typed or shown.
import type { JSX } from 'preact';
import { secretCommand, type ServerDraft } from '../../model/server-draft.js';
import { Copied } from '../../parts/copied.js';
import { Field } from '../../parts/field.js';
import { CodeBlock } from '../../parts/said.js';

interface CredentialProps {
  readonly draft: ServerDraft;
  /** What is set now, in words; `undefined` for a new server. */
  readonly known: string | undefined;
  readonly change: (members: Partial<ServerDraft>) => void;
}

const SECRET_HELP = 'A name for it, such as github-token. The value itself is never entered or shown here';

export function CredentialFields({ draft, known, change }: CredentialProps): JSX.Element {
  const choices = [
    ...(known === undefined ? [] : ([['keep', `Unchanged: ${known}`]] as const)),
    ['none', 'None'],
    ['headers', 'A secret in a header'],
    ['client', 'Access tokens for the gateway itself (OAuth client credentials)'],
    ['user', 'Each user’s own consent (OAuth)'],
  ] as const;
  const field = (
    name: 'headerName' | 'secretName' | 'tokenEndpoint' | 'issuer' | 'clientId' | 'scope' | 'resource',
    label: string,
    more: { readonly isRequired?: boolean; readonly help?: string; readonly type?: 'url' } = {},
  ): JSX.Element => (
    <Field key={name} label={label} value={draft[name]} onChange={(typed) => change({ [name]: typed })} {...more} />
  );
  return (
    <fieldset>
      <legend>Credentials</legend>
      {choices.map(([value, words]) => (
        <label key={value} class="choice">
          <input
            type="radio"
            name="credentials"
            checked={draft.credentials === value}
            onChange={() => change({ credentials: value })}
          />
          {words}
        </label>
      ))}
      {draft.credentials === 'headers' && (
        <>
          {known?.includes(', ') === true && (
            <p class="note bad">
              This replaces {known}: a form has one header, the interface and imports have several.
            </p>
          )}
          {field('headerName', 'Header', { isRequired: true })}
          {field('secretName', 'Name of the secret', { isRequired: true, help: SECRET_HELP })}
          <SecretCommand
            {...{ secret: draft.secretName.trim(), addresses: [draft.url] }}
            scheme={/^authorization$/i.test(draft.headerName.trim()) ? 'Bearer ' : ''}
          />
        </>
      )}
      {draft.credentials === 'client' && (
        <>
          {field('tokenEndpoint', 'Token endpoint', { isRequired: true, type: 'url' })}
          {field('clientId', 'Client id', { isRequired: true })}
          {field('secretName', 'Name of the client’s secret', { isRequired: true, help: SECRET_HELP })}
          <SecretCommand {...{ secret: draft.secretName.trim(), addresses: [draft.url, draft.tokenEndpoint] }} />
          {field('scope', 'Scope')}
          {field('resource', 'Resource')}
        </>
      )}
      {draft.credentials === 'user' && (
        <>
          <p class="note">Once it is registered, each user connects it on its page. Empty: as the server specifies.</p>
          {field('issuer', 'Authorization server', { type: 'url' })}
          {field('clientId', 'Client id', {
            help: 'Requires the authorization server. Empty: the gateway registers itself',
          })}
          {field('secretName', 'Name of the client’s secret', { help: SECRET_HELP })}
          {field('scope', 'Scope')}
          {field('resource', 'Resource')}
        </>
      )}
    </fieldset>
  );
}

interface CommandProps {
  readonly secret: string;
  readonly addresses: readonly string[];
  /** What stands before the secret in the header. */
  readonly scheme?: string;
}

/** The value goes from the operator's shell into the store: neither the browser nor the control plane ever has it. */
function SecretCommand({ secret, addresses, scheme = '' }: CommandProps): JSX.Element | null {
  const command = secret === '' ? '' : secretCommand(secret, addresses);
  if (command === '') return null;
  const text = `printf '${scheme}%s' "$TOKEN" |\n  ${command}`;
  return (
    <>
      <p class="note">Store its value with this command, where the gateway runs. The same replaces it later.</p>
      <Copied {...{ text, what: 'the command', words: 'Copied. Set TOKEN to the secret first' }}>
        <CodeBlock label="Command that stores the secret" text={text} />
      </Copied>
    </>
  );
}
