// What a user config must look like (specification "User config", decisions 2.7), and the words for what is wrong with
// one. Maps, not objects, hold what is keyed by names of the config: `__proto__` is a name like any other. Cold.
import { isUtf8 } from 'node:buffer';
import { z } from 'zod';
import { authFault, type BackendAuth } from './auth.js';
import { nameLike } from '../shared/likeness.js';
import { limits } from '../shared/limits.js';

const text = z.string('must be a string');
const textList = z.array(text, 'must be a list of strings').default([]);

/** What a backend's `exposes` may say. */
const EXPOSED = ['tools', 'prompts', 'resources'] as const;

/** An object's members as a map. */
function namedMembers<Member extends z.ZodType>(name: z.ZodType<string, string>, member: Member) {
  return z.preprocess(
    (value) => (isObject(value) ? new Map(Object.entries(value)) : value),
    z.map(name, member, 'must be an object'),
  );
}

/** Of what is wrong with it the whole is told: nothing of it may be taken for another thing. */
const authSchema = z
  .strictObject(
    {
      type: z.literal('headers', 'must be headers'),
      headers: z.record(z.string(), z.strictObject({ file: text }), 'must be an object'),
    },
    'must be an object',
  )
  .check(({ value, issues }) => {
    const fault = authFault(value satisfies BackendAuth);
    if (fault !== undefined)
      issues.push({ code: 'custom', message: fault.replace(/^\.headers:? /, ''), path: ['headers'], input: value });
  });

const backendSchema = z.object(
  {
    name: text.optional(),
    url: text.refine(isBackendUrl, 'must be an http or https URL without credentials'),
    transport: z
      .enum(['STREAMABLEHTTP', 'SSE', 'STDIO'], 'must be STREAMABLEHTTP, SSE or STDIO')
      .default('STREAMABLEHTTP'),
    passthrough_headers: textList,
    auth: authSchema.optional(),
    allowed_tool_names: textList,
    allowed_resource_names: textList,
    allowed_prompt_names: textList,
    exposes: z.array(z.enum(EXPOSED, `must be a list of ${EXPOSED.join(', ')}`), 'must be a list').optional(),
  },
  'must be an object',
);

const virtualHostSchema = z.object(
  // A backend without a name could not be told from a tool that begins with `-`.
  { backends: namedMembers(z.string().min(1, 'a backend name must not be empty'), backendSchema) },
  'must be an object',
);

const userConfigSchema = z.object({ virtual_hosts: namedMembers(z.string(), virtualHostSchema) }, 'must be an object');

export type BackendConfig = z.infer<typeof backendSchema>;
export type UserConfig = z.infer<typeof userConfigSchema>;

export type UserConfigDecoding =
  /** `oddities`: members that nothing reads and that look as if they should mean something, in words; no values. */
  | { readonly ok: true; readonly config: UserConfig; readonly oddities?: string }
  /** Names the members at fault and never repeats a value: it is shown to whoever wrote the config, and logged. */
  | { readonly ok: false; readonly issues: string };

export function decodeUserConfig(bytes: Buffer): UserConfigDecoding {
  if (bytes.length > limits.userConfigBytesMax) return refuse(`larger than ${limits.userConfigBytesMax} bytes`);
  if (!isUtf8(bytes)) return refuse('not UTF-8');
  let value: unknown;
  try {
    value = JSON.parse(bytes.toString('utf8'));
  } catch {
    // The parser's message would repeat a piece of the config.
    return refuse('not JSON');
  }
  try {
    const parsed = userConfigSchema.safeParse(value);
    if (!parsed.success) return refuse(describe(parsed.error.issues));
    const oddities = describe(findOddities(value));
    return { ok: true, config: parsed.data, ...(oddities !== '' && { oddities }) };
  } catch (error) {
    // So many members are at fault that zod's list of them passes what a call may have of arguments.
    if (error instanceof RangeError) return refuse('too many members at fault to be told');
    throw error;
  }
}

interface Issue {
  readonly path: readonly PropertyKey[];
  readonly message: string;
}

/**
 * Members that the schema does not know are for others to use, but one that looks like a member that it knows was meant to
 * be that: an allow-list under another name would restrict nothing. @param value fits the schema.
 */
function findOddities(value: unknown): Issue[] {
  const issues: Issue[] = [];
  /** Unknown name → the known one; a config may have very many unknown ones, and time is short. */
  const meanings = new Map<string, string | undefined>();
  const look = (level: keyof typeof MEMBERS, members: unknown, path: readonly string[]): void => {
    for (const name of Object.keys(isObject(members) ? members : {})) {
      if (MEMBERS[level].has(name)) continue;
      if (!meanings.has(name) && meanings.size < ODDITIES_JUDGED_MAX) meanings.set(name, nameLike(name, ALL_MEMBERS));
      const meant = meanings.get(name);
      if (meant === undefined) continue;
      const message = meant === name ? 'means nothing in this place' : `is not known; is it ${meant}?`;
      issues.push({ path: [...path, name], message });
    }
  };
  look('config', value, []);
  for (const [id, host] of membersOf(value, 'virtual_hosts')) {
    look('virtual host', host, ['virtual_hosts', id]);
    for (const [name, backend] of membersOf(host, 'backends'))
      look('backend', backend, ['virtual_hosts', id, 'backends', name]);
  }
  return issues;
}

/** Different unknown names of one config that are looked at. */
const ODDITIES_JUDGED_MAX = 100;

const MEMBERS = {
  config: new Set(Object.keys(userConfigSchema.shape)),
  'virtual host': new Set(Object.keys(virtualHostSchema.shape)),
  backend: new Set(Object.keys(backendSchema.shape)),
} as const;
const ALL_MEMBERS: ReadonlySet<string> = new Set(Object.values(MEMBERS).flatMap((names) => [...names]));

function membersOf(value: unknown, name: string): readonly (readonly [string, unknown])[] {
  const members = isObject(value) ? value[name] : undefined;
  return isObject(members) ? Object.entries(members) : [];
}

function refuse(issues: string): UserConfigDecoding {
  return { ok: false, issues };
}

function describe(issues: readonly Issue[]): string {
  const told = issues.slice(0, limits.userConfigIssuesMax).map(({ path, message }) => {
    const member = path.map(String).join('.').slice(0, limits.userConfigIssuePathCharsMax);
    return member === '' ? message : `${member}: ${message}`;
  });
  const untold = issues.length - told.length;
  return untold > 0 ? `${told.join('; ')}; and ${untold} more` : told.join('; ');
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isBackendUrl(value: string): boolean {
  if (!URL.canParse(value)) return false;
  const url = new URL(value);
  return /^https?:$/.test(url.protocol) && url.username === '' && url.password === '';
}
