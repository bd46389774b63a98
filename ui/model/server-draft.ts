// What a form says of a server, and the request that comes of it. Secrets are named, never typed: there is nothing to show again.
import type { Auth, Server } from '../api/types.js';

export interface ServerDraft {
  readonly name: string;
  readonly url: string;
  readonly description: string;
  /** Separated by commas. */
  readonly tags: string;
  /** `keep`: as it is. */
  readonly credentials: 'keep' | 'none' | 'headers';
  readonly headerName: string;
  readonly secretName: string;
}

export const BLANK_DRAFT: ServerDraft = {
  ...{ name: '', url: '', description: '', tags: '' },
  ...{ credentials: 'none', headerName: 'authorization', secretName: '' },
};

export function draftOf({ name, url, description, tags }: Server): ServerDraft {
  return { ...BLANK_DRAFT, name, url, description, tags: tags.join(', '), credentials: 'keep' };
}

export interface ServerRequest {
  readonly name: string;
  readonly url: string;
  readonly description: string;
  readonly tags: readonly string[];
  readonly auth?: Auth | null;
}

export function requestOf(draft: ServerDraft): ServerRequest {
  const { name, url, description, credentials, headerName, secretName } = draft;
  const tags = draft.tags
    .split(',')
    .map((tag) => tag.trim())
    .filter((tag) => tag !== '');
  const said = { name: name.trim(), url: url.trim(), description, tags };
  if (credentials === 'keep') return said;
  if (credentials === 'none') return { ...said, auth: null };
  return { ...said, auth: { type: 'headers', headers: { [headerName.trim()]: { secret: secretName.trim() } } } };
}
