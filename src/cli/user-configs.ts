// `switchyard config …`: user configs in the store, without a control plane. A config is checked before it is stored. It replaces the
// stored config only if that has not changed since the command read it.
import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import type { userConfigChange, ValuesOf } from '../config/index.js';
import { exitStatus, limits, isObject, tryParseJson } from '../shared/index.js';
import { RecordStoreFault, type RecordKey, type RecordStore } from '../store/index.js';
import {
  checkUserConfig,
  type UserConfigCheck,
  EMPTY_CONFIG,
  keepPublished,
  publicationKey,
  readEditableConfig,
  readPublication,
  describeIssue,
  userConfigJsonSchema,
} from '../user-config/index.js';
import { CliFault, escapeUnprintableJson, type CommandResult, printable } from './command-result.js';
import { addToAuditList, withStore } from './store-use.js';
import { inputName, readInput, STANDARD_INPUT } from './input-file.js';
import { faultOfJson } from './settings-text.js';

/** Summarizes a user config, valid or not, for the audit list: of URLs, only the origins, because a path or query may be a secret. */
function configSummary(value: Buffer): object {
  const hosts = membersOf(membersOf(tryParseJson(value))['virtual_hosts']);
  const virtualHosts = Object.entries(hosts).map(([id, host]) => {
    const backends = Object.entries(membersOf(membersOf(host)['backends']));
    return [id, Object.fromEntries(backends.map(([name, backend]) => [name, originOf(membersOf(backend)['url'])]))];
  });
  return {
    bytes: value.length,
    hash: createHash('sha256').update(value).digest('hex').slice(0, 12),
    virtualHosts: Object.fromEntries(virtualHosts) as object,
  };
}

function membersOf(value: unknown): Readonly<Record<string, unknown>> {
  return isObject(value) ? value : {};
}

function originOf(url: unknown): string {
  return typeof url === 'string' && URL.canParse(url) ? new URL(url).origin : '';
}

type ChangeArguments = ValuesOf<typeof userConfigChange> & { readonly subject: string };

interface FileArgument {
  readonly file?: string | undefined;
}

export async function schema(): Promise<CommandResult> {
  return { answer: userConfigJsonSchema(), text: '' };
}

export async function check({ file = STANDARD_INPUT }: FileArgument): Promise<CommandResult> {
  const found = checkInput(await readInput(file, limits.userConfigBytesMax));
  return {
    answer: checkAnswer(found),
    text: checkText(inputName(file), found),
    exitStatus: found.errors.length === 0 ? exitStatus.ok : exitStatus.refused,
  };
}

export async function list({ store: options }: Pick<ChangeArguments, 'store'>): Promise<CommandResult> {
  return withStore(options, false, async (store) => {
    const subjects = new Set<string>();
    for await (const some of store.subjects()) for (const subject of some) subjects.add(subject);
    const answer = [...subjects].sort();
    return { answer, text: answer.map((subject) => `${printable(subject)}\n`).join('') };
  });
}

export async function get({
  subject,
  store: options,
}: Omit<ChangeArguments, 'expectedDigest'>): Promise<CommandResult> {
  return withStore(options, false, async (store) => {
    const value = requireConfig(await store.read(configKey(subject)), store, subject);
    const check = checkUserConfig(value);
    const answer = { subject, digest: digestOf(value), config: tryParseJson(value) ?? null, ...checkAnswer(check) };
    // A file or another program gets the bytes unchanged.
    return { answer, text: process.stdout.isTTY ? `${escapeUnprintableJson(value.toString())}\n` : value };
  });
}

export async function put({
  subject,
  file = STANDARD_INPUT,
  store: options,
  expectedDigest,
}: ChangeArguments & FileArgument): Promise<CommandResult> {
  const value = await readInput(file, limits.userConfigBytesMax);
  const check = checkInput(value);
  if (check.errors.length > 0) {
    const text = `${checkText(inputName(file), check)}Nothing was stored.\n`;
    return { answer: { ...checkAnswer(check), isStored: false }, text, exitStatus: exitStatus.refused };
  }
  return withStore(options, true, async (store) => {
    const before = await readExpectedConfig(store, subject, expectedDigest);
    // If the virtual hosts that the control plane has published were left out, clients would get 404 there until it publishes them again.
    const published = before === undefined ? [] : await readPublishedHostIds(store, subject);
    if (published === undefined)
      throw new CliFault(
        exitStatus.refused,
        `the record of what the control plane has published into the user config of ${subject} is damaged: run \`config delete\`, then \`config put\`; the control plane adds its virtual hosts again`,
      );
    const { config, kept } = keepPublished(before ?? EMPTY_CONFIG, value, published);
    if (config.length > limits.userConfigBytesMax) {
      throw new CliFault(
        exitStatus.refused,
        `too large together with what the control plane published: ${kept.join()}`,
      );
    }
    await swapConfig(store, subject, before, config);
    const { isListed, words } = await addToAuditList(store, {
      ...{ operation: 'putUserConfig', kind: 'user-configs', name: subject },
      ...{ before: before && configSummary(before), after: configSummary(config) },
    });
    const left = virtualHostIdsIn(config);
    const removed = virtualHostIdsIn(before).filter((id) => !left.includes(id));
    const stored = { subject, digest: digestOf(config), ...checkAnswer(check), isStored: true, isListed };
    const lines = [
      check.warnings.length > 0 ? checkText(inputName(file), check) : '',
      `Stored the user config of ${printable(subject)} in ${printable(store.location)}.\n`,
      virtualHostsText('Kept, because the control plane has published it', kept),
      virtualHostsText('Removed', removed),
      words,
    ];
    return { answer: { ...stored, kept, removed }, text: lines.join('') };
  });
}

export async function remove({ subject, store: options, expectedDigest }: ChangeArguments): Promise<CommandResult> {
  return withStore(options, false, async (store) => {
    const before = requireConfig(await readExpectedConfig(store, subject, expectedDigest), store, subject);
    const published = (await readPublishedHostIds(store, subject)) ?? [];
    await swapConfig(store, subject, before, undefined);
    const { isListed, words } = await addToAuditList(store, {
      ...{ operation: 'deleteUserConfig', kind: 'user-configs', name: subject },
      ...{ before: configSummary(before), after: undefined },
    });
    const hosts = virtualHostsText('Published by the control plane, which will put it back', published);
    const text = `Deleted the user config of ${printable(subject)}.\n${hosts}${words}`;
    return { answer: { subject, isDeleted: true, isListed, published }, text };
  });
}

/**
 * The virtual hosts that the control plane has published into the config, from its publication record. `undefined` if the record is
 * damaged; an empty list if there is none, or if the Redis user may not read it.
 */
async function readPublishedHostIds(records: RecordStore, subject: string): Promise<readonly string[] | undefined> {
  try {
    const record = await records.read(publicationKey(subject));
    return record === undefined ? [] : readPublication(record)?.virtualHosts;
  } catch (error) {
    if (error instanceof RecordStoreFault && error.isForbidden) return [];
    throw error;
  }
}

async function readExpectedConfig(
  store: RecordStore,
  subject: string,
  expectedDigest: string | undefined,
): Promise<Buffer | undefined> {
  const stored = await store.read(configKey(subject));
  if (expectedDigest === undefined || expectedDigest === (stored === undefined ? 'none' : digestOf(stored)))
    return stored;
  throw new CliFault(
    exitStatus.tryAgain,
    `the user config of ${subject} has changed since you read it; run \`config get\` again`,
  );
}

/** Replaces the config if it is still `stored`. @param value the new config; `undefined` deletes it. */
async function swapConfig(
  store: RecordStore,
  subject: string,
  stored: Buffer | undefined,
  value: Buffer | undefined,
): Promise<void> {
  if (await store.swap([{ ...configKey(subject), expected: stored, value }])) return;
  throw new CliFault(
    exitStatus.tryAgain,
    `the user config of ${subject} is being changed by somebody else; run \`config get\` again`,
  );
}

function virtualHostIdsIn(config: Buffer | undefined): readonly string[] {
  const editable = readEditableConfig(config ?? EMPTY_CONFIG);
  return typeof editable === 'string' ? [] : editable.virtualHosts.map(({ id }) => id);
}

function virtualHostsText(words: string, ids: readonly string[]): string {
  return ids.map((id) => `${words}: virtual host ${printable(id)}.\n`).join('');
}

function requireConfig(value: Buffer | undefined, store: RecordStore, subject: string): Buffer {
  if (value !== undefined) return value;
  throw new CliFault(exitStatus.notFound, `there is no user config of ${subject} in ${store.location}`);
}

/** Checks a user config. If the text is not JSON, the error says where. */
function checkInput(value: Buffer): UserConfigCheck {
  const check = checkUserConfig(value);
  const fault = isUtf8(value) && tryParseJson(value) === undefined ? faultOfJson(value.toString()) : undefined;
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

function configKey(subject: string): RecordKey {
  return { space: 'user-configs', key: subject };
}

function digestOf(value: Buffer): string {
  return createHash('sha256').update(value).digest('hex');
}
