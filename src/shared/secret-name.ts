// What a secret may be called, in a directory and in the store.
import { limits } from './limits.js';

/** No way out of a directory, and no hidden file. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;

/** Behind the name of a secret's file: where that secret may go. */
export const HOSTS_FILE_SUFFIX = '.hosts';

/** In words behind a name. */
export const SECRET_NAME_RULE = `up to ${limits.secretNameCharsMax} letters, digits, '.', '_' and '-'`;

export function isSecretName(name: string): boolean {
  return name.length <= limits.secretNameCharsMax && NAME.test(name) && !name.endsWith(HOSTS_FILE_SUFFIX);
}

/** What every server takes as the value of a header: one line of ASCII without spaces around it. */
const VALUE = /^[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?$/;

export function isSecretValue(text: string): boolean {
  return VALUE.test(text);
}
