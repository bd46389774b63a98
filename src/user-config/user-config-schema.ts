// The schema of user configs (specification "User config" and 2.7), and messages about configs that do not match. Cold path.
import { isUtf8 } from 'node:buffer';
import * as z from 'zod';
import { authSchema } from './auth.js';
import { tryParseJson, limits } from '../shared/index.js';
import { curationMembers, oddNameIssues, samePrefixIssues } from './curation-schema.js';
import { describeIssues, type ConfigIssue, KnownMembers, valueAt, namedMembers } from './known-members.js';

const textSchema = z.string('must be a string');
const textListSchema = z.array(textSchema, 'must be a list of strings').default([]);

const EXPOSED = ['tools', 'prompts', 'resources'] as const;

const backendSchema = z.object(
  {
    name: textSchema.optional(),
    url: textSchema.refine(isBackendUrl, 'must be an http or https URL without credentials'),
    transport: z
      .enum(['STREAMABLEHTTP', 'SSE', 'STDIO'], 'must be STREAMABLEHTTP, SSE or STDIO')
      .default('STREAMABLEHTTP'),
    passthrough_headers: textListSchema,
    auth: authSchema.optional(),
    allowed_tool_names: textListSchema,
    allowed_resource_names: textListSchema,
    allowed_prompt_names: textListSchema,
    ...curationMembers,
    exposes: z.array(z.enum(EXPOSED, `must be a list of ${EXPOSED.join(', ')}`), 'must be a list').optional(),
  },
  'must be an object',
);

const virtualHostSchema = z.object(
  // The prefix of an empty backend name would be `-` alone, with which a tool's own name may begin.
  {
    backends: namedMembers(z.string().min(1, 'a backend name must not be empty'), backendSchema).check(
      ({ value, issues }) => void issues.push(...samePrefixIssues(value)),
    ),
    exposure: z.enum(['all', 'search'], 'must be all or search').default('all'),
  },
  'must be an object',
);

export const userConfigSchema = z.object(
  { virtual_hosts: namedMembers(z.string(), virtualHostSchema) },
  'must be an object',
);

export type BackendConfig = z.infer<typeof backendSchema>;
export type UserConfig = z.infer<typeof userConfigSchema>;

const knownMembers = new KnownMembers(userConfigSchema);

interface ParsedUserConfig {
  /** The config; `undefined` if it has a fault. */
  readonly config: UserConfig | undefined;
  readonly faults: readonly ConfigIssue[];
  /** Unknown members that look misspelt or misplaced: they have no effect. */
  readonly oddities: readonly ConfigIssue[];
}

type UserConfigDecoding =
  /** The config is valid. `oddities` describes suspicious members, and names that not every client accepts, without values. */
  | { readonly ok: true; readonly config: UserConfig; readonly oddities?: string }
  /** The config is invalid. `issues` names the members at fault, without values, because the text is shown and logged. */
  | { readonly ok: false; readonly issues: string };

export function decodeUserConfig(bytes: Buffer): UserConfigDecoding {
  const { config, faults, oddities } = readUserConfig(bytes);
  if (config === undefined) return { ok: false, issues: describeIssues(faults) };
  const reported = [...oddities, ...issuesOfBackends(config, oddNameIssues)];
  return { ok: true, config, ...(reported.length > 0 && { oddities: describeIssues(reported) }) };
}

/** The issues of all backends, with their whole paths. */
export function issuesOfBackends(
  { virtual_hosts: hosts }: UserConfig,
  issuesOf: (name: string, backend: BackendConfig) => readonly ConfigIssue[],
): ConfigIssue[] {
  const issues: ConfigIssue[] = [];
  for (const [id, { backends }] of hosts) {
    for (const [name, backend] of backends) {
      for (const { path, message } of issuesOf(name, backend))
        issues.push({ path: ['virtual_hosts', id, 'backends', name, ...path], message });
    }
  }
  return issues;
}

export function readUserConfig(bytes: Buffer): ParsedUserConfig {
  if (bytes.length > limits.userConfigBytesMax) return invalidConfig(`larger than ${limits.userConfigBytesMax} bytes`);
  if (!isUtf8(bytes)) return invalidConfig('not UTF-8');
  const value = tryParseJson(bytes);
  // The reason is not the parser's message, which would quote the config.
  if (value === undefined) return invalidConfig('not JSON');
  try {
    const parsed = userConfigSchema.safeParse(value);
    const oddities = knownMembers.findOddities(value);
    if (parsed.success) return { config: parsed.data, faults: [], oddities };
    return faultyConfig(value, parsed.error.issues, oddities);
  } catch (error) {
    // zod found more issues than a function call may have arguments.
    if (error instanceof RangeError) return invalidConfig('too many invalid members to list');
    throw error;
  }
}

/** The outcome for a faulty config; faults about missing members first. An unknown member that such a fault names is not reported again. */
function faultyConfig(
  value: unknown,
  issues: readonly z.core.$ZodIssue[],
  oddities: readonly ConfigIssue[],
): ParsedUserConfig {
  const missing = knownMembers.explainMissing(
    value,
    issues.filter((issue) => isAboutMissingMember(value, issue)),
  );
  const misspelt = new Set(missing.map(({ path }) => JSON.stringify(path)));
  const isUnreported = ({ path }: ConfigIssue): boolean => !misspelt.has(JSON.stringify(path));
  const others = issues.filter((issue) => !isAboutMissingMember(value, issue)).flatMap(readableIssues);
  return {
    config: undefined,
    faults: [...missing, ...others.filter(isUnreported)],
    oddities: oddities.filter(isUnreported),
  };
}

function isAboutMissingMember(value: unknown, { code, path }: z.core.$ZodIssue): boolean {
  return path.length > 0 && /^invalid_(?:type|union)$/.test(code) && valueAt(value, path) === undefined;
}

/** Converts an issue of zod. One about several unknown members of an object becomes one for each of them. */
export function readableIssues(issue: z.core.$ZodIssue): readonly ConfigIssue[] {
  if (issue.code !== 'unrecognized_keys') return [{ path: issue.path, message: issue.message }];
  return issue.keys.map((name) => ({ path: [...issue.path, name], ...knownMembers.describeUnknown(name) }));
}

function invalidConfig(message: string): ParsedUserConfig {
  return { config: undefined, faults: [{ path: [], message }], oddities: [] };
}

function isBackendUrl(value: string): boolean {
  if (!URL.canParse(value)) return false;
  const url = new URL(value);
  return /^https?:$/.test(url.protocol) && url.username === '' && url.password === '';
}
