// The commands that manage the secrets in the store. They open the store themselves, as both planes do, so that no
// secret goes over a network interface. They print what was done, and nothing of a secret.
import { type StoreOptions, operatorName, isSecretValue } from '../../config/index.js';
import { counted, exitStatus, limits } from '../../shared/index.js';
import {
  CHANGE_NOT_LISTED,
  listChange,
  type CommandChange,
  noStoreInWords,
  openForCommand,
  RecordStoreFault,
  type RecordStore,
  type RecordKey,
  walkRecords,
} from '../../store/index.js';
import { SecretKeys, type SecretKey, openText, sealText } from './secret-keys.js';
import { SecretRecords } from './secret-records.js';
import type { SecretOrigins } from './sealed-secret.js';
import { CLIENT_PREFIX, GRANT_PREFIX } from './user-grants.js';

export type SecretsAction =
  | { readonly command: 'secrets set'; readonly name: string; readonly origins: SecretOrigins }
  | { readonly command: 'secrets delete'; readonly name: string }
  | { readonly command: 'secrets list' }
  | { readonly command: 'secrets rotate' };

interface SecretsRequest {
  readonly store: StoreOptions;
  /** In base64; the first one seals. */
  readonly keys: readonly string[];
  readonly action: SecretsAction;
}

interface Resealing {
  readonly resealed: number;
  /** Records that no key opens, or that kept changing meanwhile. */
  readonly failed: number;
}

const RESEAL_TRIES_MAX = 3;

/**
 * Seals again, with the first key, the users' grants and the gateway's clients that are sealed with another one, so that an old key can be
 * removed. Consents in progress are left out: they expire within minutes.
 */
export async function resealGrants(records: RecordStore, keys: SecretKeys, key: SecretKey): Promise<Resealing> {
  const counts = { resealed: 0, failed: 0 };
  for (const prefix of [GRANT_PREFIX, CLIENT_PREFIX]) {
    for await (const found of walkRecords(records, prefix)) {
      for (const { key: name } of found) {
        const outcome = await reseal(records, keys, key, name);
        if (outcome !== 'same') counts[outcome] += 1;
      }
    }
  }
  return counts;
}

async function reseal(
  records: RecordStore,
  keys: SecretKeys,
  key: SecretKey,
  name: string,
): Promise<'resealed' | 'failed' | 'same'> {
  const place: RecordKey = { space: 'records', key: name };
  for (let tries = 0; tries < RESEAL_TRIES_MAX; tries++) {
    const expected = await records.read(place);
    if (expected === undefined) return 'same';
    const opened = openText(keys, name, expected);
    if (opened.kind === 'failed') return 'failed';
    if (opened.keyId === key.id) return 'same';
    const value = sealText(key, name, opened.text);
    if (await records.swap([{ ...place, expected, value }])) return 'resealed';
  }
  return 'failed';
}

/** A command's output and exit status. */
interface CommandOutput {
  readonly text: string;
  readonly exitStatus: number;
}

/** Where the value of a secret is read from. */
export type SecretInput = AsyncIterable<Uint8Array> & { readonly isTTY?: boolean };

/** Resolves with the program's exit status, when everything is printed. */
export async function runSecrets(request: SecretsRequest, input: SecretInput = process.stdin): Promise<number> {
  const { text, exitStatus: status } = await outputOf(request, input);
  const stream = status === exitStatus.ok ? process.stdout : process.stderr;
  await new Promise<void>((resolve) => void stream.write(text, () => resolve()));
  return status;
}

/** The output and exit status of `runSecrets`. */
export async function outputOf({ store, keys, action }: SecretsRequest, input: SecretInput): Promise<CommandOutput> {
  const value = action.command === 'secrets set' ? await readValue(input) : undefined;
  if (value?.kind === 'fault') return refused(value.fault);
  let records: RecordStore | undefined;
  try {
    // A mistyped path must not create a store, which would then have no secrets.
    records = await openForCommand(store, value !== undefined);
    if (records === undefined) return notFound(noStoreInWords(store));
    const all = new SecretKeys(keys);
    if (action.command === 'secrets rotate') return await rotate(records, all);
    return await perform(action, records, all, value);
  } catch (error) {
    if (!(error instanceof RecordStoreFault)) throw error;
    return { text: `switchyard: ${error.message}\n`, exitStatus: exitStatus.unavailable };
  } finally {
    await records?.close();
  }
}

async function perform(
  action: Exclude<SecretsAction, { readonly command: 'secrets rotate' }>,
  records: RecordStore,
  keys: SecretKeys,
  value: { readonly text: string } | undefined,
): Promise<CommandOutput> {
  const secrets = new SecretRecords(records, keys);
  const key = keys.first;
  switch (action.command) {
    case 'secrets set': {
      if (key === undefined || value === undefined) throw new Error('nothing to seal, or nothing to seal it with');
      const before = await secrets.look(action.name);
      await secrets.set(action.name, { value: value.text, origins: action.origins }, key);
      const change = { name: action.name, before, after: await secrets.look(action.name) };
      const words = await listed(records, { operation: 'setSecret', ...change });
      return done(`Set ${action.name}, for ${originsText(action.origins)}.\n${words}`);
    }
    case 'secrets delete': {
      const before = await secrets.look(action.name);
      if (await secrets.delete(action.name)) {
        const change = { name: action.name, before, after: undefined };
        return done(`Deleted ${action.name}.\n${await listed(records, { operation: 'deleteSecret', ...change })}`);
      }
      return notFound(`there is no secret ${action.name} in the store`);
    }
    case 'secrets list':
      return done(await listText(secrets));
  }
}

/** @returns what to print if the change could not be added to the list of changes. */
async function listed(records: RecordStore, change: Omit<CommandChange, 'operator' | 'kind'>): Promise<string> {
  const isListed = await listChange(records, { operator: operatorName(), kind: 'secrets', ...change });
  return isListed ? '' : `${CHANGE_NOT_LISTED}\n`;
}

async function listText(secrets: SecretRecords): Promise<string> {
  const all = await secrets.list();
  if (all.length === 0) return 'No secrets.\n';
  const rows = all.map(({ name, updatedAt, keyId, isUsable, origins }) => [
    name,
    updatedAt,
    isUsable ? keyId : `${keyId} (not usable with these keys)`,
    originsText(origins),
  ]);
  return columnsText([['NAME', 'SET', 'KEY', 'MAY GO TO'], ...rows]);
}

async function rotate(records: RecordStore, keys: SecretKeys): Promise<CommandOutput> {
  if (keys.first === undefined) throw new Error('nothing to seal with');
  const { resealed, failed } = await new SecretRecords(records, keys).rotate(keys.first);
  const grants = await resealGrants(records, keys, keys.first);
  const count = counted(resealed.length, 'secret');
  const all = grants.resealed === 0 ? count : `${count} and ${counted(grants.resealed, 'user’s grant')}`;
  const after = { keyId: keys.first.id, secrets: resealed, grants: grants.resealed };
  const words = await listed(records, { operation: 'rotateSecrets', before: undefined, after });
  const lines = failed.map(([name, reason]) => `switchyard: ${name}: ${reason}\n`);
  if (grants.failed > 0)
    lines.push(
      `switchyard: ${counted(grants.failed, 'user’s grant')} could not be encrypted again: no key decrypts the present value\n`,
    );
  if (lines.length === 0) return done(`Encrypted ${all} again.\n${words}`);
  return { text: `${lines.join('')}switchyard: encrypted ${all} again\n${words}`, exitStatus: exitStatus.refused };
}

type ReadValue = { readonly kind: 'value'; readonly text: string } | { readonly kind: 'fault'; readonly fault: string };

async function readValue(input: SecretInput): Promise<ReadValue> {
  if (input.isTTY === true)
    return { kind: 'fault', fault: 'standard input is a terminal, which would show the secret; pipe the secret in' };
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of input) {
    bytes += piece.length;
    // Two bytes more for the line break.
    if (bytes > limits.secretBytesMax + 2)
      return { kind: 'fault', fault: `the secret is longer than ${limits.secretBytesMax} bytes` };
    pieces.push(piece);
  }
  const text = Buffer.concat(pieces)
    .toString('latin1')
    .replace(/\r?\n$/, '');
  if (isSecretValue(text) && text.length <= limits.secretBytesMax) return { kind: 'value', text };
  return { kind: 'fault', fault: 'the secret must be one line of ASCII, without spaces around it, and not empty' };
}

function columnsText(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const lineOf = (row: readonly string[]): string =>
    row.map((cell, column) => (column === row.length - 1 ? cell : cell.padEnd(widths[column] ?? 0))).join('  ');
  return rows.map((row) => `${lineOf(row)}\n`).join('');
}

function originsText(origins: SecretOrigins): string {
  return origins === 'any' ? 'any origin' : origins.join(', ');
}

function done(text: string): CommandOutput {
  return { text, exitStatus: exitStatus.ok };
}

function refused(fault: string): CommandOutput {
  return { text: `switchyard: ${fault}\n`, exitStatus: exitStatus.refused };
}

function notFound(fault: string): CommandOutput {
  return { text: `switchyard: ${fault}\n`, exitStatus: exitStatus.notFound };
}
