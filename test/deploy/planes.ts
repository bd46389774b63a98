// Both planes as the files under deploy/ start them: with environment variables, and with keys at mounted paths.
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Test } from 'tap';
import { controlPlaneOptions, dataplaneOptions } from '../../src/config/dataplane-options.js';
import { createCertificates } from '../support/certificates.js';
import { createKeyPair } from '../support/keys.js';
import { optionLoader } from '../config/option-loader.js';
import { createScratchDirectory } from '../support/scratch-directory.js';

export const root = fileURLToPath(new URL('../../../', import.meta.url));
export const MOUNTED = '/etc/switchyard/';

/** What each plane makes of its variables. */
export const planes = [
  { command: 'dataplane', ...optionLoader('dataplane', dataplaneOptions) },
  { command: 'control-plane', ...optionLoader('control-plane', controlPlaneOptions) },
] as const;

/** The variables of a plane, with existing files in place of mounted ones. */
export function environmentOf(t: Test, data: Readonly<Record<string, string>>): NodeJS.ProcessEnv {
  const folder = createScratchDirectory(t);
  const { authority, client } = createCertificates(t);
  const contents: Readonly<Record<string, string>> = {
    '.pub': createKeyPair(t).publicKeyPem,
    'ca.crt': authority.certificate,
    'tls.crt': client.certificate,
    'tls.key': client.privateKey,
    secrets: `${Buffer.alloc(32, 7).toString('base64')}\n`,
  };
  const present = Object.entries(data).map(([name, value]): [string, string] => {
    if (!value.startsWith(MOUNTED)) return [name, value];
    const path = join(folder, value.slice(MOUNTED.length));
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, contents[value.split('/').at(-1) ?? ''] ?? contents[extname(value)] ?? 'a secret');
    return [name, path];
  });
  return Object.fromEntries(present);
}
