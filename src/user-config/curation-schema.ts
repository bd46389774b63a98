// The schema of a backend's `prefix`, `tools` and `prompts`, and the names that result. Unknown members are faults: a misspelt member could
// show a tool that was meant to be hidden. Cold path.
import * as z from 'zod';
import { limits } from '../shared/index.js';
import { type ConfigIssue, namedMembers } from './known-members.js';
import type { CuratedEntry } from './curation.js';

const textSchema = z.string('must be a string');
const nameSchema = textSchema.min(1, 'must not be empty').refine(isShortName, 'is too long');

function itemMembersSchema<Value extends z.ZodType>(value: Value) {
  return z.strictObject(
    {
      name: nameSchema.optional(),
      title: textSchema.optional(),
      description: textSchema.optional(),
      hidden: z.boolean('must be true or false').optional(),
      hidden_arguments: z.array(textSchema, 'must be a list of strings').optional(),
      fixed_arguments: namedMembers(textSchema, value).optional(),
    },
    'must be an object',
  );
}

function itemSchema<Value extends z.ZodType>(value: Value) {
  const isSmall = (item: z.infer<ReturnType<typeof itemMembersSchema<Value>>>): boolean =>
    JSON.stringify(entryOf('', item)).length <= limits.curatedItemCharsMax;
  return itemMembersSchema(value).refine(isSmall, 'is too large');
}

const toolsSchema = namedMembers(
  textSchema,
  // Refuses numbers that the JSON parser has rounded.
  itemSchema(
    z.unknown().refine((value) => !hasUnsafeNumber(value), 'has a number that is too large to be represented exactly'),
  ),
);
const promptsSchema = namedMembers(textSchema, itemSchema(textSchema));

export type ItemsByBareName = z.infer<typeof toolsSchema> | z.infer<typeof promptsSchema>;

export const curationMembers = {
  prefix: textSchema.refine(isShortName, 'is too long').optional(),
  tools: toolsSchema.check(({ value, issues }) => void issues.push(...issuesOfItems(value))).optional(),
  prompts: promptsSchema.check(({ value, issues }) => void issues.push(...issuesOfItems(value))).optional(),
};

/** The schema of a curation alone, without the rest of a backend's config. */
export const curationSchema = z.strictObject(curationMembers, 'must be an object');

export type BackendCuration = z.infer<typeof curationSchema>;

/** The prefix of a backend's tool and prompt names, with `-`; `''` for none. @param prefix as the config sets it. */
export function namePrefix(backendName: string, prefix: string | undefined): string {
  return prefix === '' ? '' : `${prefix ?? backendName}-`;
}

export function curatedEntries(members: ItemsByBareName | undefined): readonly CuratedEntry[] {
  return members === undefined ? [] : Array.from(members, ([bareName, item]) => entryOf(bareName, item));
}

/** Finds backends of one virtual host that have the same prefix. */
export function samePrefixIssues(backends: ReadonlyMap<string, BackendCuration>): z.core.$ZodRawIssue[] {
  const owners = new Map<string, string>();
  const issues: z.core.$ZodRawIssue[] = [];
  for (const [backend, { prefix }] of backends) {
    const ownPrefix = namePrefix(backend, prefix);
    const other = owners.get(ownPrefix);
    if (other === undefined) owners.set(ownPrefix, backend);
    else {
      // The issue is reported at a backend whose prefix the config sets: the later one, if it sets both.
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

/** Finds backends with the same prefix, and tools or prompts of one backend with the same name. */
export function duplicateIssuesOf(backends: ReadonlyMap<string, BackendCuration>): ConfigIssue[] {
  const issues = samePrefixIssues(backends);
  for (const [backend, curated] of backends) {
    for (const kind of ['tools', 'prompts'] as const) {
      const members = curated[kind];
      if (members === undefined) continue;
      for (const issue of sameNameIssues(members))
        issues.push({ ...issue, path: [backend, kind, ...(issue.path ?? [])] });
    }
  }
  return issues.map(({ path = [], message = '' }) => ({ path, message }));
}

/** Finds names in the config that not every client accepts. */
export function oddNameIssues(backendName: string, { prefix, ...kinds }: BackendCuration): ConfigIssue[] {
  const ownPrefix = namePrefix(backendName, prefix);
  const issues: ConfigIssue[] = [];
  if (prefix !== undefined && !WIDELY_ACCEPTED_NAME.test(`${ownPrefix}x`))
    issues.push({ path: ['prefix'], message: ODD_NAME });
  for (const kind of ['tools', 'prompts'] as const) {
    for (const { name: callersName, bareName, isHidden } of curatedEntries(kinds[kind])) {
      const isSetByConfig = prefix !== undefined || callersName !== bareName;
      if (!isHidden && isSetByConfig && !WIDELY_ACCEPTED_NAME.test(`${ownPrefix}${callersName}`))
        issues.push({ path: [kind, bareName], message: ODD_NAME });
    }
  }
  return issues;
}

/** Names that most model APIs accept for functions. */
const WIDELY_ACCEPTED_NAME = /^[A-Za-z0-9_-]{1,64}$/;
const ODD_NAME =
  'makes a name that not every client accepts: with its prefix, a name should match [A-Za-z0-9_-]{1,64}, as OpenAI and others require';

/** The bare names of items whose name an earlier item already has. Hidden items do not count. */
export function itemsWithTakenNames(members: ItemsByBareName): string[] {
  const names = new Set<string>();
  const repeated: string[] = [];
  for (const { bareName, name: callersName, isHidden } of curatedEntries(members)) {
    if (isHidden) continue;
    if (names.has(callersName)) repeated.push(bareName);
    names.add(callersName);
  }
  return repeated;
}

function issuesOfItems(members: ItemsByBareName): z.core.$ZodRawIssue[] {
  if (members.size <= limits.curatedItemsMax) return sameNameIssues(members);
  return [{ code: 'custom', message: `must be at most ${limits.curatedItemsMax}`, path: [], input: members }];
}

function sameNameIssues(members: ItemsByBareName): z.core.$ZodRawIssue[] {
  return itemsWithTakenNames(members).map((bareName) => ({
    ...{
      code: 'custom',
      message: 'is already the name of another tool or prompt: choose a different one',
      path: [bareName, 'name'],
      input: members,
    },
  }));
}

function entryOf(bareName: string, member: z.infer<ReturnType<typeof itemMembersSchema<z.ZodType>>>): CuratedEntry {
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

function isShortName(value: string): boolean {
  return Buffer.byteLength(value) <= limits.toolNameBytesMax;
}

function hasUnsafeNumber(value: unknown): boolean {
  if (typeof value === 'number')
    return Number.isInteger(value) ? !Number.isSafeInteger(value) : !Number.isFinite(value);
  return typeof value === 'object' && value !== null && Object.values(value).some(hasUnsafeNumber);
}
