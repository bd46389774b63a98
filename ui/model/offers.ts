// What an MCP endpoint lists, as the playground needs it: a name, the schema of a form, and the request that results from both.
import type { JsonObject } from './schema-form.js';
import { uriNameOf, type Target } from './targets.js';

export const offerKinds = ['tools', 'prompts', 'resources'] as const;
export type OfferKind = (typeof offerKinds)[number];

export interface Offer {
  /** For a resource: its URI, or its URI template. */
  readonly name: string;
  readonly title: string;
  readonly description: unknown;
  /** Schema of the values to be filled in. */
  readonly schema: unknown;
}

export function offersOf(kind: OfferKind, items: readonly unknown[], target: Target): readonly Offer[] {
  const offers = items.flatMap((item) => {
    const offer = typeof item === 'object' && item !== null ? offerOf(kind, item as JsonObject) : undefined;
    return offer === undefined ? [] : [offer];
  });
  const start = kind === 'resources' ? target.uriPrefix : target.prefix;
  if (start === '') return offers;
  // The URI of an MCP app's resource has the server's name after the scheme.
  return offers.filter(({ name }) =>
    kind === 'resources' ? name.startsWith(`${start}+`) || name.startsWith(`ui://${start}/`) : name.startsWith(start),
  );
}

/** The servers whose items a list lacks, each with the reason. @param meta `_meta` of a page of it. */
export function missingServers(meta: unknown, { uriPrefix }: Target): readonly string[] {
  const { 'switchyard/unavailable': missing } = Object(meta) as JsonObject;
  const servers = (Array.isArray(missing) ? missing : []).map((each: unknown) => Object(each) as JsonObject);
  return servers
    .filter(({ backend }) => uriPrefix === '' || uriNameOf(String(backend)) === uriPrefix)
    .map(({ backend, reason }) => `${String(backend)} (${String(reason)})`);
}

/** @returns `undefined` for what is none. */
export function offerOf(kind: OfferKind, item: JsonObject): Offer | undefined {
  const { name, title, description, uri, uriTemplate, inputSchema } = item;
  const shown = kind === 'resources' ? (uri ?? uriTemplate) : name;
  if (typeof shown !== 'string') return undefined;
  const heading = typeof title === 'string' ? title : kind === 'resources' && typeof name === 'string' ? name : '';
  const base = { name: shown, title: heading, description };
  if (kind === 'tools') return { ...base, schema: inputSchema ?? {} };
  if (kind === 'prompts') return { ...base, schema: promptSchema(item['arguments']) };
  return { ...base, schema: typeof uriTemplate === 'string' ? templateSchema(uriTemplate) : {} };
}

/** Arguments of prompts are strings. */
function promptSchema(given: unknown): JsonObject {
  const known: readonly unknown[] = Array.isArray(given) ? given : [];
  // An argument that is not an object must not take the rest of the prompt with it.
  const named = known.filter((each): each is JsonObject => typeof (Object(each) as JsonObject)['name'] === 'string');
  return {
    type: 'object',
    properties: Object.fromEntries(
      named.map(({ name, description, title }) => [name, { type: 'string', maxLength: 200, description, title }]),
    ),
    required: named.filter(({ required }) => required === true).map(({ name }) => name),
  };
}

const VARIABLE = /\{[+#./;?&]?([A-Za-z0-9_.,]+)\*?\}/g;

function templateSchema(template: string): JsonObject {
  const names = [...template.matchAll(VARIABLE)].flatMap(([, list = '']) => list.split(','));
  const properties = Object.fromEntries(names.map((name) => [name, { type: 'string', maxLength: 200 }]));
  return { type: 'object', properties, required: names };
}

export interface OfferRequest {
  readonly method: string;
  readonly params: JsonObject;
}

export function requestFor(kind: OfferKind, { name }: Offer, value: JsonObject): OfferRequest {
  if (kind === 'tools') return { method: 'tools/call', params: { name, arguments: value } };
  if (kind === 'prompts') return { method: 'prompts/get', params: { name, arguments: value } };
  const written = (variable: string): string => {
    const given = value[variable];
    return typeof given === 'string' ? encodeURIComponent(given) : '';
  };
  const uri = name.replaceAll(VARIABLE, (_, list: string) => list.split(',').map(written).join(','));
  return { method: 'resources/read', params: { uri } };
}
