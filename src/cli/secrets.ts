// `switchyard secrets …`. The commands open the store themselves, so that no secret goes through a plane's HTTP interface. They print
// nothing of a secret.
import { isSecretValue, type sealingOptions, type secretsOptions, type ValuesOf } from '../config/index.js';
import { resealGrants, SecretKeys, SecretRecords, type SecretOrigins } from '../credentials/index.js';
import { exitStatus, limits } from '../shared/index.js';
import { countInWords, CliFault, print, textTable, type CommandResult } from './command-result.js';
import { readUpTo } from './input-file.js';
import { addToAuditList, withStore } from './store-use.js';

type StoreRequest = ValuesOf<typeof secretsOptions>;
type SealingRequest = ValuesOf<typeof sealingOptions>;

export type SecretInput = AsyncIterable<Uint8Array> & { readonly isTTY?: boolean };

export async function set(
  { store, keys: texts, name, origins }: SealingRequest & { readonly name: string; readonly origins: SecretOrigins },
  input: SecretInput = process.stdin,
): Promise<CommandResult> {
  const value = await readSecret(input);
  // Only `secrets set` creates a missing store: with a mistyped path, the other commands about secrets should fail.
  return withStore(store, true, async (records) => {
    const keys = new SecretKeys(texts);
    const secrets = new SecretRecords(records, keys);
    const before = await secrets.describe(name);
    await secrets.set(name, { value, origins }, keys.requiredSealingKey);
    const change = { name, before, after: await secrets.describe(name) };
    const { words } = await addToAuditList(records, { kind: 'secrets', operation: 'setSecret', ...change });
    return textResult(`Set ${name}, for ${originsText(origins)}.\n${words}`);
  });
}

export async function remove({ store, keys, name }: StoreRequest & { readonly name: string }): Promise<CommandResult> {
  return withStore(store, false, async (records) => {
    const secrets = new SecretRecords(records, new SecretKeys(keys));
    const before = await secrets.describe(name);
    if (!(await secrets.delete(name)))
      throw new CliFault(exitStatus.notFound, `there is no secret ${name} in the store`);
    const change = { name, before, after: undefined };
    const { words } = await addToAuditList(records, { kind: 'secrets', operation: 'deleteSecret', ...change });
    return textResult(`Deleted ${name}.\n${words}`);
  });
}

export async function list({ store, keys }: StoreRequest): Promise<CommandResult> {
  return withStore(store, false, async (records) => {
    const all = await new SecretRecords(records, new SecretKeys(keys)).list();
    if (all.length === 0) return textResult('No secrets.\n');
    const rows = all.map(({ name, updatedAt, keyId, isUsable, origins }) => [
      name,
      updatedAt,
      isUsable ? keyId : `${keyId} (not usable with these keys)`,
      originsText(origins),
    ]);
    return textResult(textTable(['NAME', 'SET', 'KEY', 'MAY GO TO'], rows, undefined));
  });
}

/** Encrypts all secrets and grants again, with the first key. @param warn prints what failed. */
export async function rotate(
  { store, keys: texts }: SealingRequest,
  warn: (lines: string) => Promise<void> = async (lines) => print(process.stderr, lines),
): Promise<CommandResult> {
  return withStore(store, false, async (records) => {
    const keys = new SecretKeys(texts);
    const { resealed, failed } = await new SecretRecords(records, keys).rotate(keys.requiredSealingKey);
    const grants = await resealGrants(records, keys, keys.requiredSealingKey);
    const count = countInWords(resealed.length, 'secret');
    const all = grants.resealed === 0 ? count : `${count} and ${countInWords(grants.resealed, 'user’s grant')}`;
    const after = { keyId: keys.requiredSealingKey.id, secrets: resealed, grants: grants.resealed };
    const change = { operation: 'rotateSecrets', before: undefined, after } as const;
    const { words } = await addToAuditList(records, { kind: 'secrets', ...change });
    const lines = failed.map(([name, reason]) => `switchyard: ${name}: ${reason}\n`);
    if (grants.failed > 0) {
      const those = countInWords(grants.failed, 'user’s grant');
      lines.push(`switchyard: ${those} could not be encrypted again: no key decrypts the present value\n`);
    }
    if (lines.length === 0) return textResult(`Encrypted ${all} again.\n${words}`);
    await warn(`${lines.join('')}switchyard: encrypted ${all} again\n${words}`);
    return { ...textResult(''), exitStatus: exitStatus.refused };
  });
}

async function readSecret(input: SecretInput): Promise<string> {
  const refuse = (words: string): never => {
    throw new CliFault(exitStatus.refused, words);
  };
  if (input.isTTY === true)
    return refuse('standard input is a terminal, which would show the secret; pipe the secret in');
  // Two bytes more than the secret, for a line break at the end, which is removed.
  const bytesMax = limits.secretBytesMax + 2;
  const bytes = await readUpTo(input, bytesMax);
  if (bytes.length > bytesMax) return refuse(`the secret is longer than ${limits.secretBytesMax} bytes`);
  const text = bytes.toString('latin1').replace(/\r?\n$/, '');
  if (isSecretValue(text) && text.length <= limits.secretBytesMax) return text;
  return refuse('the secret must be one line of ASCII, without spaces around it, and not empty');
}

function originsText(origins: SecretOrigins): string {
  return origins === 'any' ? 'any origin' : origins.join(', ');
}

function textResult(text: string): CommandResult {
  return { answer: undefined, text };
}
