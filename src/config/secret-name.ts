// Secrets by name, in a directory and in the store: where one is, and which names and values they may have.
import { limits } from '../shared/index.js';

/** Excludes paths out of the directory, and hidden files. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;

/** Appended to the name of a secret's file: the file that lists the hosts it may be sent to. */
export const HOSTS_FILE_SUFFIX = '.hosts';

/** The rule in words, to follow a name. */
export const SECRET_NAME_RULE = `up to ${limits.secretNameCharsMax} letters, digits, '.', '_' and '-'`;

export function isSecretName(name: string): boolean {
  return name.length <= limits.secretNameCharsMax && NAME.test(name) && !name.endsWith(HOSTS_FILE_SUFFIX);
}

export type SecretLocation = { readonly secret: string } | { readonly file: string };

/** @param text `secret:<name>` or `file:<name>`; `undefined` for any other. */
export function readSecretLocation(text: string): SecretLocation | undefined {
  const [, kind, name = ''] = /^(secret|file):(.*)$/.exec(text) ?? [];
  if (kind === undefined || !isSecretName(name)) return undefined;
  return kind === 'secret' ? { secret: name } : { file: name };
}

/** Header values that every server accepts: one line of ASCII without surrounding spaces. */
const VALUE = /^[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?$/;

export function isSecretValue(text: string): boolean {
  return VALUE.test(text);
}
