// What a user config must look like (specification "User config", decisions 2.7), and the words for what is wrong with
// one. Maps, not objects, hold what is keyed by names of the config: `__proto__` is a name like any other. Cold.
import { isUtf8 } from 'node:buffer';
import { z } from 'zod';
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

const backendSchema = z.object(
  {
    name: text.optional(),
    url: text.refine(isBackendUrl, 'must be an http or https URL without credentials'),
    transport: z
      .enum(['STREAMABLEHTTP', 'SSE', 'STDIO'], 'must be STREAMABLEHTTP, SSE or STDIO')
      .default('STREAMABLEHTTP'),
    passthrough_headers: textList,
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
  | { readonly ok: true; readonly config: UserConfig }
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
    return parsed.success ? { ok: true, config: parsed.data } : refuse(describe(parsed.error.issues));
  } catch (error) {
    // So many members are at fault that zod's list of them passes what a call may have of arguments.
    if (error instanceof RangeError) return refuse('too many members at fault to be told');
    throw error;
  }
}

function refuse(issues: string): UserConfigDecoding {
  return { ok: false, issues };
}

function describe(issues: readonly z.core.$ZodIssue[]): string {
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
