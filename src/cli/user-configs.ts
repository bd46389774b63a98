// `switchyard config …`: user configs in the store, accessed with the store's own options and without a control plane. A config is checked
// before it is stored, and replaces only the config that was read before.
import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import type { UserConfigAction, UserConfigRequest } from '../config/user-config-request.js';
import type { StoreOptions } from '../config/dataplane-options.js';
import { operatorName } from '../config/environment.js';
import { exitStatus } from '../shared/exit-status.js';
import { limits } from '../shared/limits.js';
import { createLogger } from '../shared/logger.js';
import { CHANGE_NOT_LISTED, listChange, type CommandChange } from '../store/command-change.js';
import { ConfigStoreFault, type ConfigStore } from '../store/config-store.js';
import { openConfigStore, openRecordStore } from '../store/open-store.js';
import type { RecordStore } from '../store/record-store.js';
import { checkUserConfig, type UserConfigCheck } from '../user-config/check-user-config.js';
import { describeIssue } from '../user-config/known-members.js';
import { userConfigJsonSchema } from '../user-config/json-schema.js';
import { CliFault, harmlessJson, printResult, type CommandResult, printable } from './command-result.js';
import { configInBrief } from './config-in-brief.js';
import { inputName, readInput } from './input-file.js';
import { faultOfJson } from './json-text.js';

type Put = Extract<UserConfigAction, { command: 'config put' }>;
type Delete = Extract<UserConfigAction, { command: 'config delete' }>;

/** Resolves with the program's exit status once everything is printed. */
export async function runUserConfigCommand({ isJson, action }: UserConfigRequest): Promise<number> {
  return printResult(isJson, () => perform(action));
}

/** Throws a CliFault. */
export async function perform(action: UserConfigAction): Promise<CommandResult> {
  switch (action.command) {
    case 'config schema':
      return { answer: userConfigJsonSchema(), text: '' };
    case 'config check': {
      const check = checkInput(await readInput(action.file, limits.userConfigBytesMax));
      const isRight = check.errors.length === 0;
      return {
        answer: checkAnswer(check),
        text: checkText(inputName(action.file), check),
        exitStatus: isRight ? exitStatus.ok : exitStatus.refused,
      };
    }
    case 'config put':
      return put(action);
    case 'config list':
      return withStore(action.store, false, list);
    case 'config get':
      return withStore(action.store, false, (store) => get(store, action.subject));
    case 'config delete':
      return withStore(action.store, false, (store) => remove(store, action));
  }
}

async function list(store: ConfigStore): Promise<CommandResult> {
  const subjects = new Set<string>();
  for await (const some of store.subjects()) for (const subject of some) subjects.add(subject);
  const answer = [...subjects].sort();
  return { answer, text: answer.map((subject) => `${printable(subject)}\n`).join('') };
}

async function get(store: ConfigStore, subject: string): Promise<CommandResult> {
  const value = found(await store.read(subject), store, subject);
  const check = checkUserConfig(value);
  const answer = { subject, digest: digestOf(value), config: parsed(value) ?? null, ...checkAnswer(check) };
  // A file or another program gets the bytes unchanged.
  return { answer, text: process.stdout.isTTY ? `${harmlessJson(value.toString())}\n` : value };
}

async function put({ subject, file, store: options, expectedDigest }: Put): Promise<CommandResult> {
  const value = await readInput(file, limits.userConfigBytesMax);
  const check = checkInput(value);
  if (check.errors.length > 0) {
    const text = `${checkText(inputName(file), check)}Nothing was stored.\n`;
    return { answer: { ...checkAnswer(check), isStored: false }, text, exitStatus: exitStatus.refused };
  }
  return withStore(options, true, async (store) => {
    const before = await swap(store, subject, value, expectedDigest);
    const { isListed, words } = await listed(options, 'putUserConfig', subject, before, value);
    const answer = { subject, digest: digestOf(value), ...checkAnswer(check), isStored: true, isListed };
    const warnings = check.warnings.length > 0 ? checkText(inputName(file), check) : '';
    const text = `${warnings}Stored the user config of ${printable(subject)} in ${printable(store.place)}.\n${words}`;
    return { answer, text };
  });
}

async function remove(store: ConfigStore, { subject, store: options, expectedDigest }: Delete): Promise<CommandResult> {
  const before = await swap(store, subject, undefined, expectedDigest);
  const { isListed, words } = await listed(options, 'deleteUserConfig', subject, before, undefined);
  const text = `Deleted the user config of ${printable(subject)}.\n${words}`;
  return { answer: { subject, isDeleted: true, isListed }, text };
}

/** Adds a completed change to the list of changes; on failure, the returned words say so. */
async function listed(
  store: StoreOptions,
  operation: CommandChange['operation'],
  name: string,
  before: Buffer | undefined,
  after: Buffer | undefined,
): Promise<{ readonly isListed: boolean; readonly words: string }> {
  const isListed = await withRecords(store, (records) =>
    listChange(records, {
      ...{ operator: operatorName(), operation, kind: 'user-configs', name },
      before: before && configInBrief(before),
      after: after && configInBrief(after),
    }),
  );
  return { isListed, words: isListed ? '' : `${CHANGE_NOT_LISTED}\n` };
}

/** False when the records are not accessible: a Redis user may have access to user configs alone. */
async function withRecords(store: StoreOptions, work: (records: RecordStore) => Promise<boolean>): Promise<boolean> {
  let records: RecordStore | undefined;
  try {
    records = await openRecordStore(store, createLogger('silent', {}));
    return await work(records);
  } catch {
    return false;
  } finally {
    await records?.close();
  }
}

/**
 * @param value `undefined` deletes the config.
 * @returns the previous value.
 */
async function swap(
  store: ConfigStore,
  subject: string,
  value: Buffer | undefined,
  expectedDigest: string | undefined,
): Promise<Buffer | undefined> {
  const stored = await store.read(subject);
  if (value === undefined) found(stored, store, subject);
  if (expectedDigest !== undefined && expectedDigest !== (stored === undefined ? 'none' : digestOf(stored))) {
    throw new CliFault(
      exitStatus.tryAgain,
      `the user config of ${subject} has changed since you read it; run \`config get\` again`,
    );
  }
  if (await store.swap(subject, stored, value)) return stored;
  throw new CliFault(
    exitStatus.tryAgain,
    `the user config of ${subject} is being changed by somebody else; run \`config get\` again`,
  );
}

function found(value: Buffer | undefined, store: ConfigStore, subject: string): Buffer {
  if (value !== undefined) return value;
  throw new CliFault(exitStatus.notFound, `there is no user config of ${subject} in ${store.place}`);
}

/** @param isMade whether a missing embedded store is created. */
async function withStore(
  options: StoreOptions,
  isMade: boolean,
  work: (store: ConfigStore) => Promise<CommandResult>,
): Promise<CommandResult> {
  let store: ConfigStore | undefined;
  try {
    store = await openConfigStore(options, isMade);
    if (store !== undefined) return await work(store);
  } catch (error) {
    if (!(error instanceof ConfigStoreFault)) throw error;
    throw new CliFault(exitStatus.unavailable, error.message, error);
  } finally {
    await store?.close();
  }
  const advice = 'give another --store-path, or a Redis with --redis-address, --redis-sentinels or --redis-cluster';
  const place = options.kind === 'embedded' ? ` in ${options.path}` : '';
  throw new CliFault(exitStatus.notFound, `there is no embedded store${place}; ${advice}`);
}

/** If the text is not JSON, its error also says where. */
function checkInput(value: Buffer): UserConfigCheck {
  const check = checkUserConfig(value);
  const fault = isUtf8(value) && parsed(value) === undefined ? faultOfJson(value.toString()) : undefined;
  return fault === undefined ? check : { ...check, errors: [{ path: [], message: `not JSON: ${fault}` }] };
}

function checkAnswer({ errors, warnings, untoldCount }: UserConfigCheck): object {
  return { errors, warnings, ...(untoldCount > 0 && { untoldCount }) };
}

function checkText(name: string, { errors, warnings, untoldCount }: UserConfigCheck): string {
  const lines = [
    ...errors.map((issue) => `${name}: error: ${describeIssue(issue)}`),
    ...warnings.map((issue) => `${name}: warning: ${describeIssue(issue)}`),
  ];
  if (untoldCount > 0) lines.push(`${name}: and ${untoldCount} more`);
  if (lines.length === 0) lines.push(`${name}: valid user config`);
  return lines.map((line) => `${printable(line)}\n`).join('');
}

function digestOf(value: Buffer): string {
  return createHash('sha256').update(value).digest('hex');
}

/** `undefined` when the value is not JSON. */
function parsed(value: Buffer): unknown {
  try {
    return JSON.parse(value.toString());
  } catch {
    return undefined;
  }
}
