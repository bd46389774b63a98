// The state of a server's form, and the request made from it. Secrets are named, never typed, so the form has no secret to show.
import type { Auth, SecretPlace, Server } from '../api/types.js';
import { quoted } from './curl-text.js';

export interface ServerDraft {
  readonly name: string;
  readonly url: string;
  readonly transport: Transport;
  readonly description: string;
  /** Separated by commas. */
  readonly tags: string;
  /** `undefined`: not set by the user. Empty: no team. */
  readonly team: string | undefined;
  /** `keep`: unchanged. */
  readonly credentials: 'keep' | 'none' | 'headers' | 'client' | 'user';
  readonly headerName: string;
  readonly secretName: string;
  readonly tokenEndpoint: string;
  readonly issuer: string;
  readonly clientId: string;
  readonly scope: string;
  readonly resource: string;
}

export type Transport = 'STREAMABLEHTTP' | 'SSE';

export const BLANK_DRAFT: ServerDraft = {
  ...{ name: '', url: '', transport: 'STREAMABLEHTTP', description: '', tags: '', team: undefined },
  ...{ credentials: 'none', headerName: 'authorization', secretName: '' },
  ...{ tokenEndpoint: '', issuer: '', clientId: '', scope: '', resource: '' },
};

/** The fields of the credentials hold what is set, for those who replace it. */
export function draftOf({ name, url, transport = 'STREAMABLEHTTP', description, tags, auth }: Server): ServerDraft {
  return {
    ...BLANK_DRAFT,
    ...authFields(auth),
    name,
    url,
    transport,
    description,
    tags: tags.join(', '),
    credentials: 'keep',
  };
}

function authFields(auth: Auth | null | undefined): Partial<ServerDraft> {
  const nameOf = (place: SecretPlace | undefined): string =>
    place !== undefined && 'secret' in place ? place.secret : '';
  if (auth === undefined || auth === null) return {};
  if (auth.type === 'headers') {
    const [[headerName, place] = ['authorization', undefined]] = Object.entries(auth.headers);
    return { headerName, secretName: nameOf(place) };
  }
  const { client_id: clientId = '', client_secret, scope = '', resource = '' } = auth;
  const shared = { clientId, scope, resource, secretName: nameOf(client_secret) };
  if (auth.type === 'oauth2-user') return { ...shared, issuer: auth.issuer ?? '' };
  return { ...shared, tokenEndpoint: auth.token_endpoint };
}

/** The form of somebody who has changed some fields, after somebody else has changed the server. */
export function mergedForm(before: ServerDraft, mine: ServerDraft, theirs: ServerDraft): ServerDraft {
  const changed = Object.entries(mine).filter(([member, value]) => value !== before[member as keyof ServerDraft]);
  return { ...theirs, ...(Object.fromEntries(changed) as Partial<ServerDraft>) };
}

export interface ServerRequest {
  readonly name: string;
  readonly url: string;
  readonly transport: Transport;
  readonly description: string;
  readonly tags: readonly string[];
  readonly team?: string | null;
  readonly auth?: Auth | null;
}

export function requestOf(draft: ServerDraft): ServerRequest {
  const { name, url, transport, description, team } = draft;
  const tags = draft.tags
    .split(',')
    .map((tag) => tag.trim())
    .filter((tag) => tag !== '');
  const auth = authOf(draft);
  return {
    ...{ name: name.trim(), url: url.trim(), transport, description, tags },
    ...(team !== undefined && { team: team.trim() === '' ? null : team.trim() }),
    ...(auth !== undefined && { auth }),
  };
}

/** `null`: no credentials. `undefined`: unchanged. */
function authOf({ credentials, headerName, ...draft }: ServerDraft): Auth | null | undefined {
  const secret = draft.secretName.trim();
  const optional = said({ scope: draft.scope, resource: draft.resource });
  switch (credentials) {
    case 'keep':
      return undefined;
    case 'none':
      return null;
    case 'headers':
      return { type: 'headers', headers: { [headerName.trim()]: { secret } } };
    case 'client':
      return {
        type: 'oauth2-client-credentials',
        ...{ token_endpoint: draft.tokenEndpoint.trim(), client_id: draft.clientId.trim(), client_secret: { secret } },
        ...optional,
      };
    case 'user':
      return {
        type: 'oauth2-user',
        ...said({ issuer: draft.issuer, client_id: draft.clientId }),
        ...(secret !== '' && { client_secret: { secret } }),
        ...optional,
      };
  }
}

/** The texts that are not blank. */
function said<Name extends string>(texts: Readonly<Record<Name, string>>): { readonly [Each in Name]?: string } {
  const entries = Object.entries<string>(texts).map(([name, text]) => [name, text.trim()] as const);
  return Object.fromEntries(entries.filter(([, text]) => text !== '')) as { [Each in Name]?: string };
}

/** The command that stores a secret for these addresses; it reads the value from its input. `''` where one is not an address yet. */
export function secretCommand(secret: string, addresses: readonly string[]): string {
  if (addresses.some((address) => !URL.canParse(address))) return '';
  const name = /^[\w.-]+$/.test(secret) ? secret : quoted(secret);
  const origins = new Set(addresses.map((address) => new URL(address).origin));
  return `switchyard secrets set ${name} --origins ${[...origins].join(',')}`;
}

/** The credentials that are set, in words, without any secret. */
export function authWords(auth: Auth | null | undefined): string {
  if (auth === undefined || auth === null) return 'none';
  switch (auth.type) {
    case 'headers':
      return `a secret in ${Object.keys(auth.headers).join(', ')}`;
    case 'oauth2-client-credentials':
      return 'access tokens of an authorization server, for the gateway itself';
    case 'oauth2-user':
      return 'each user’s own consent';
  }
}
