// Compiles a checked user config for look-ups during requests, once for each change of its bytes.
import { createHash } from 'node:crypto';
import { isHttpToken, isOwnHeader } from '../shared/index.js';
import type { UpstreamOptions } from '../config/index.js';
import { headersSetBy, type BackendAuth } from './auth.js';
import { curatedEntries, namePrefix } from './curation-schema.js';
import { curatedItems, entriesOf, NO_CURATION, type Curation } from './curation.js';
import { uriNames, type UriName } from './routing.js';
import type {
  AllowedNames,
  BackendObstacle,
  CompiledBackend,
  CompiledUserConfig,
  CompiledVirtualHost,
  Exposure,
  ListHashes,
} from './compiled-config.js';
import type { BackendConfig, UserConfig } from './user-config-schema.js';

export function compileUserConfig(config: UserConfig, upstreamMode: UpstreamOptions['mode']): CompiledUserConfig {
  const virtualHosts = new Map<string, CompiledVirtualHost>();
  for (const [id, { backends, exposure }] of config.virtual_hosts) {
    virtualHosts.set(id, compileVirtualHost(id, exposure, backends, upstreamMode));
  }
  return { virtualHosts };
}

function compileVirtualHost(
  id: string,
  exposure: Exposure,
  configs: ReadonlyMap<string, BackendConfig>,
  upstreamMode: UpstreamOptions['mode'],
): CompiledVirtualHost {
  const backends = new Map<string, CompiledBackend>();
  const passthroughHeaders = new Set<string>();
  const namesInUris = uriNames(configs.keys());
  for (const [name, config] of configs) {
    const backend = compileBackend(name, namesInUris.get(name)!, config, upstreamMode);
    backends.set(name, backend);
    for (const header of backend.passthroughHeaders) passthroughHeaders.add(header);
    // The caller's token is sent only to the authorization server that exchanges it.
    if (backend.auth?.type === 'token-exchange') passthroughHeaders.add('authorization');
  }
  const backendsByNameLength = sortedByLength(backends.values(), 'name');
  const arePrefixesNames = backendsByNameLength.every(({ name, prefix }) => prefix === `${name}-`);
  const backendsByPrefixLength = arePrefixesNames ? backendsByNameLength : sortedByLength(backends.values(), 'prefix');
  const backendsByUriName = new Map(backendsByNameLength.map((backend) => [backend.uriName, backend]));
  const lookUps = { backendsByNameLength, backendsByPrefixLength, backendsByUriName };
  return { id, exposure, backends, ...lookUps, passthroughHeaders };
}

/** Sorts backends by the length of a member, longest first. Those of equal length stay in the config's order. */
function sortedByLength(backends: Iterable<CompiledBackend>, member: 'name' | 'prefix'): CompiledBackend[] {
  return [...backends].sort((a, b) => Buffer.byteLength(b[member]) - Buffer.byteLength(a[member]));
}

function compileBackend(
  name: string,
  { uriName, hasCaseVariant }: UriName,
  config: BackendConfig,
  upstreamMode: UpstreamOptions['mode'],
): CompiledBackend {
  const url = new URL(config.url);
  const prefix = namePrefix(name, config.prefix);
  const allowedNames = {
    tools: allowListOf(config, 'tools', config.allowed_tool_names),
    prompts: allowListOf(config, 'prompts', config.allowed_prompt_names),
    resources: allowListOf(config, 'resources', config.allowed_resource_names),
  };
  const curation = curationOf(config);
  return {
    name,
    prefix,
    uriName,
    hasCaseVariant,
    target: { origin: url.origin, path: url.pathname + url.search },
    transport: config.transport === 'SSE' ? 'SSE' : 'STREAMABLEHTTP',
    obstacle: findObstacle(config, url, upstreamMode),
    passthroughHeaders: copiedHeaders(config.passthrough_headers, config.auth),
    auth: config.auth,
    allowedNames,
    curation,
    listHashes: listHashesOf(prefix, uriName, allowedNames, curation),
  };
}

function listHashesOf(prefix: string, uriName: string, names: AllowedNames, curation: Curation): ListHashes {
  const [tools, prompts, resources] = [names.tools, names.prompts, names.resources].map(
    (set) => set && [...set].sort(),
  );
  return {
    tools: hashOf([prefix, tools, entriesOf(curation.tools)]),
    prompts: hashOf([prefix, prompts, entriesOf(curation.prompts)]),
    resources: hashOf([uriName, resources]),
    ...(resources && { resourceNames: hashOf(resources) }),
  };
}

/** The SHA-256 of the rules as JSON, in base64. */
function hashOf(rules: unknown): string {
  return createHash('sha256').update(JSON.stringify(rules)).digest('base64');
}

function curationOf({ tools, prompts }: BackendConfig): Curation {
  if (tools === undefined && prompts === undefined) return NO_CURATION;
  return { tools: curatedItems(curatedEntries(tools)), prompts: curatedItems(curatedEntries(prompts)) };
}

/** The names that callers may use; `undefined` allows all. Empty `names` allow all, unless `exposes` lacks the kind. */
function allowListOf(
  { exposes }: BackendConfig,
  kind: keyof AllowedNames,
  names: readonly string[],
): ReadonlySet<string> | undefined {
  if (exposes?.includes(kind) === false) return new Set();
  return names.length > 0 ? new Set(names) : undefined;
}

function findObstacle(
  config: BackendConfig,
  url: URL,
  upstreamMode: UpstreamOptions['mode'],
): BackendObstacle | undefined {
  if (config.transport === 'STDIO') return 'transport-unsupported';
  if (url.protocol === 'http:' && upstreamMode === 'tls-only') return 'plain-text-refused';
  return undefined;
}

function toLowerCase(name: string): string {
  return name.toLowerCase();
}

/** The listed headers that may be copied from the caller: all but the gateway's own headers and those that `auth` sets. */
function copiedHeaders(names: readonly string[], auth: BackendAuth | undefined): ReadonlySet<string> {
  const setByAuth = new Set(headersSetBy(auth));
  const copied = names.filter(isHttpToken).map(toLowerCase);
  return new Set(copied.filter((name) => !isOwnHeader(name) && !setByAuth.has(name)));
}
