// The schema of a backend's `prefix`, `tools` and `prompts`, and the names that result. Unknown members are faults: a misspelt
// one would show what was meant to be hidden. Cold path.
import * as z from 'zod';
import { limits } from '../shared/index.js';
import { type ConfigIssue, namedMembers } from './known-members.js';
import type { CuratedEntry } from './curation.js';

const text = z.string('must be a string');
const name = text.min(1, 'must not be empty').refine(isShort, 'is too long');

function memberSchema<Value extends z.ZodType>(value: Value) {
  return z.strictObject(
    {
      name: name.optional(),
      title: text.optional(),
      description: text.optional(),
      hidden: z.boolean('must be true or false').optional(),
      hidden_arguments: z.array(text, 'must be a list of strings').optional(),
      fixed_arguments: namedMembers(text, value).optional(),
    },
    'must be an object',
  );
}

function itemSchema<Value extends z.ZodType>(value: Value) {
  const isSmall = (item: z.infer<ReturnType<typeof memberSchema<Value>>>): boolean =>
    JSON.stringify(entryOf('', item)).length <= limits.curatedItemCharsMax;
  return memberSchema(value).refine(isSmall, 'is too large');
}

const toolsSchema = namedMembers(
  text,
  // Refuses numbers that the JSON parser has already changed.
  itemSchema(
    z.unknown().refine((value) => !hasUnsafeNumber(value), 'has a number that is too large to be represented exactly'),
  ),
);
const promptsSchema = namedMembers(text, itemSchema(text));

export type CuratedMembers = z.infer<typeof toolsSchema> | z.infer<typeof promptsSchema>;

export const curationMembers = {
  prefix: text.refine(isShort, 'is too long').optional(),
  tools: toolsSchema.check(({ value, issues }) => void issues.push(...faultsOf(value))).optional(),
  prompts: promptsSchema.check(({ value, issues }) => void issues.push(...faultsOf(value))).optional(),
};

/** The schema of the curation of a backend that is described elsewhere. */
export const curationSchema = z.strictObject(curationMembers, 'must be an object');

export type BackendCuration = z.infer<typeof curationSchema>;

/** The prefix of a backend's tool and prompt names, with `-`. @param prefix the one in the config. */
export function namePrefix(backendName: string, prefix: string | undefined): string {
  return prefix === '' ? '' : `${prefix ?? backendName}-`;
}

export function curatedEntries(members: CuratedMembers | undefined): readonly CuratedEntry[] {
  return members === undefined ? [] : Array.from(members, ([bareName, item]) => entryOf(bareName, item));
}

/** Finds backends of one virtual host with the same prefix. */
export function samePrefixes(backends: ReadonlyMap<string, BackendCuration>): z.core.$ZodRawIssue[] {
  const owners = new Map<string, string>();
  const issues: z.core.$ZodRawIssue[] = [];
  for (const [backend, { prefix }] of backends) {
    const ownPrefix = namePrefix(backend, prefix);
    const other = owners.get(ownPrefix);
    if (other === undefined) owners.set(ownPrefix, backend);
    else {
      // The fault is reported at the backend whose prefix the config sets.
      const path = [prefix === undefined ? other : backend, 'prefix'];
      issues.push({
        code: 'custom',
        message: 'is already the prefix of another backend: choose a different one',
        path,
        input: backends,
      });
    }
  }
  return issues;
}

/** Finds prefixes, and names within a backend, that are there twice. The fault's path is that of the later one. */
export function duplicateIssuesOf(backends: ReadonlyMap<string, BackendCuration>): ConfigIssue[] {
  const issues = samePrefixes(backends);
  for (const [backend, curated] of backends) {
    for (const kind of ['tools', 'prompts'] as const) {
      const members = curated[kind];
      if (members === undefined) continue;
      for (const issue of sameNames(members)) issues.push({ ...issue, path: [backend, kind, ...(issue.path ?? [])] });
    }
  }
  return issues.map(({ path = [], message = '' }) => ({ path, message }));
}

/** Finds names in the config that not every client accepts. */
export function oddNames(backendName: string, { prefix, ...kinds }: BackendCuration): ConfigIssue[] {
  const ownPrefix = namePrefix(backendName, prefix);
  const issues: ConfigIssue[] = [];
  if (prefix !== undefined && !CLIENTS_NAME.test(`${ownPrefix}x`)) issues.push({ path: ['prefix'], message: ODD_NAME });
  for (const kind of ['tools', 'prompts'] as const) {
    for (const { name: callersName, bareName, isHidden } of curatedEntries(kinds[kind])) {
      const isOwnChoice = prefix !== undefined || callersName !== bareName;
      if (!isHidden && isOwnChoice && !CLIENTS_NAME.test(`${ownPrefix}${callersName}`))
        issues.push({ path: [kind, bareName], message: ODD_NAME });
    }
  }
  return issues;
}

/** What function names most models accept. */
const CLIENTS_NAME = /^[A-Za-z0-9_-]{1,64}$/;
const ODD_NAME =
  'makes a name that not every client accepts: with its prefix, a name should match [A-Za-z0-9_-]{1,64}, as OpenAI and others require';

/** Bare names of items whose name an earlier item has. */
export function repeatedNames(members: CuratedMembers): string[] {
  const names = new Set<string>();
  const repeated: string[] = [];
  for (const { bareName, name: callersName, isHidden } of curatedEntries(members)) {
    if (isHidden) continue;
    if (names.has(callersName)) repeated.push(bareName);
    names.add(callersName);
  }
  return repeated;
}

function faultsOf(members: CuratedMembers): z.core.$ZodRawIssue[] {
  if (members.size <= limits.curatedItemsMax) return sameNames(members);
  return [{ code: 'custom', message: `must be at most ${limits.curatedItemsMax}`, path: [], input: members }];
}

function sameNames(members: CuratedMembers): z.core.$ZodRawIssue[] {
  return repeatedNames(members).map((bareName) => ({
    ...{
      code: 'custom',
      message: 'is already the name of another tool or prompt: choose a different one',
      path: [bareName, 'name'],
      input: members,
    },
  }));
}

function entryOf(bareName: string, member: z.infer<ReturnType<typeof memberSchema<z.ZodType>>>): CuratedEntry {
  const { title, description, fixed_arguments: fixed = new Map<string, unknown>() } = member;
  return {
    bareName,
    name: member.name ?? bareName,
    isHidden: member.hidden ?? false,
    ...(title !== undefined && { title }),
    ...(description !== undefined && { description }),
    hiddenArguments: member.hidden_arguments ?? [],
    fixedArguments: Array.from(fixed, ([argument, value]) => [argument, JSON.stringify(value)] as const),
  };
}

function isShort(value: string): boolean {
  return Buffer.byteLength(value) <= limits.toolNameBytesMax;
}

function hasUnsafeNumber(value: unknown): boolean {
  if (typeof value === 'number')
    return Number.isInteger(value) ? !Number.isSafeInteger(value) : !Number.isFinite(value);
  return typeof value === 'object' && value !== null && Object.values(value).some(hasUnsafeNumber);
}
