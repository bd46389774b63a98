// Options that several commands have, and options that make up one value, such as the change of a server. Other options of commands are
// in the rows of `src/commands.ts`.
import {
  oneOf,
  parseBaseUrl,
  parseDigest,
  parseListenAddress,
  parseSwitch,
  parseText,
  parseTexts,
  InvalidValue,
  isSecretName,
  readSecretLocation,
  SECRET_NAME_RULE,
  type SecretLocation,
} from './values.js';
import { TOKEN_VARIABLE } from './environment.js';
import { option, optionsOf, required, section, type Schema, type ValuesOf, type OptionReader } from './option.js';
import { secretsKeyFile } from './table/backend-options.js';
import { storeOptions } from './table/store-options.js';

export const isJson = option('json [true|false]', 'print JSON', parseSwitch, 'false');

/** Options of commands that send requests to a running control plane. */
export const controlPlaneClientOptions = {
  controlPlaneUrl: option('control-plane-url <url>', 'URL of the control plane', parseBaseUrl, 'http://127.0.0.1:4444'),
  isJson,
  token: section(
    {},
    {
      check: (reader) => {
        const advice = 'set it to an access token, as minted by `switchyard token`';
        if (reader.token === '') reader.addOtherFault(`${TOKEN_VARIABLE}: is not set; ${advice}`);
      },
      combine: (_values, reader) => reader.token,
    },
  ),
};

/** Options of commands that query a running dataplane. */
export const adminClientOptions = {
  address: option(
    'admin-address <host:port>',
    'admin listener of the dataplane to query',
    parseListenAddress,
    '127.0.0.1:8002',
  ),
  isJson,
};

export const subject = option('subject <text>', "the token's subject (sub)", parseText);

/** Options of commands that change a user config in the store. */
export const userConfigChange = {
  expectedDigest: option(
    'expected-digest <digest>',
    'change it only if it has this digest (see `config get --json`); none: only if it does not exist',
    parseDigest,
  ),
  store: storeOptions,
};

/** Options of commands about secrets in the store. */
export const secretsOptions = { keys: secretsKeyFile, store: storeOptions };

export const sealingOptions = { keys: required(secretsKeyFile), store: storeOptions };

/** Adds a fault if the name of a secret is invalid. The fault does not repeat the name, which may be the secret itself. */
export function checkSecretName(reader: OptionReader, [name]: readonly string[]): void {
  if (name !== undefined && !isSecretName(name)) reader.addOtherFault(`<name>: must be ${SECRET_NAME_RULE}`);
}

// The options of a server's `auth`: its type, and its details, under their member names in the API.

function parseSecretLocation(text: string): SecretLocation {
  const read = readSecretLocation(text);
  if (read === undefined) throw new InvalidValue(`expects secret:<name> or file:<name>, the name ${SECRET_NAME_RULE}`);
  return read;
}

function parseSecretHeaders(text: string): Readonly<Record<string, SecretLocation>> {
  const headers = new Map<string, SecretLocation>();
  for (const item of text.split(',')) {
    const [, name = '', location = ''] = /^\s*([^=\s]+)=(\S+)\s*$/.exec(item) ?? [];
    if (name === '') throw new InvalidValue('expects <header>=secret:<name>, or several, separated by commas');
    if (headers.has(name)) throw new InvalidValue(`has ${name} twice`);
    headers.set(name, parseSecretLocation(location));
  }
  return Object.fromEntries(headers);
}

const authType = option(
  'auth <type>',
  'credentials that it needs: headers, oauth2-client-credentials, oauth2-user, or none',
  oneOf('none', 'headers', 'oauth2-client-credentials', 'oauth2-user'),
);

const authDetails = {
  headers: option(
    'auth-headers <list>',
    'with headers: comma-separated header=secret:name, or header=file:name',
    parseSecretHeaders,
  ),
  token_endpoint: option(
    'auth-token-endpoint <url>',
    'with oauth2-client-credentials: token endpoint of its authorization server',
    parseText,
  ),
  issuer: option(
    'auth-issuer <url>',
    'with oauth2-user: its authorization server, if it does not name one itself',
    parseText,
  ),
  client_id: option('auth-client-id <text>', "with oauth2-…: the gateway's client id there", parseText),
  client_secret: option(
    'auth-client-secret <place>',
    "with oauth2-…: that client's secret, as secret:name or file:name",
    parseSecretLocation,
  ),
  client_authentication: option(
    'auth-client-authentication <way>',
    'with oauth2-…: how the client sends its secret, basic or post',
    oneOf('basic', 'post'),
  ),
  scope: option('auth-scope <text>', 'with oauth2-…: scopes to request', parseText),
  resource: option('auth-resource <url>', 'with oauth2-…: resource indicator (RFC 8707) to request, or none', (text) =>
    text === 'none' ? false : parseText(text),
  ),
  audience: option(
    'auth-audience <text>',
    'with oauth2-client-credentials: audience to request, where the server wants that instead',
    parseText,
  ),
};

const OAUTH_CLIENT_DETAILS = ['client_id', 'client_secret', 'client_authentication', 'scope', 'resource'];
const AUTH_DETAILS_BY_TYPE: Readonly<Record<string, readonly string[]>> = {
  none: [],
  headers: ['headers'],
  'oauth2-client-credentials': ['token_endpoint', 'audience', ...OAUTH_CLIENT_DETAILS],
  'oauth2-user': ['issuer', ...OAUTH_CLIENT_DETAILS],
};

function checkAuth(reader: OptionReader): void {
  const { headers } = authDetails;
  const type = reader.value(authType) ?? (reader.isGiven(headers) ? 'headers' : undefined);
  for (const [member, detail] of Object.entries(authDetails)) {
    if (!reader.isGiven(detail) || AUTH_DETAILS_BY_TYPE[type ?? 'none']?.includes(member)) continue;
    reader.addFault(detail, type === undefined ? 'needs --auth with a type' : `has no effect with --auth ${type}`);
  }
  if (type === 'headers' && !reader.isGiven(headers)) reader.addFault(headers, 'is required with --auth headers');
}

/** The server's `auth`: `null` for `--auth none`; `undefined` if no option is given. */
const authOptions = section(
  { type: authType, ...authDetails },
  {
    check: checkAuth,
    combine: ({ type, ...details }) => {
      if (type === 'none') return null;
      const typeOrDefault = type ?? (details.headers && 'headers');
      return typeOrDefault && omitUndefined({ type: typeOrDefault, ...details });
    },
  },
);

const description = option('description <text>', 'what it is for', parseText);
/** The team; `null` if the text is empty, for none. */
const team = option('team <team>', 'team that it belongs to, whose editors may change it; empty for none', (text) =>
  text === '' ? null : text,
);

export const serverProperties = {
  description,
  transport: option(
    'transport <transport>',
    'MCP transport; SSE is the older one, whose URL is that of its event stream',
    oneOf('STREAMABLEHTTP', 'SSE'),
  ),
  tags: option('tags <list>', 'comma-separated tags', parseTexts),
  team,
  auth: authOptions,
};

export type ServerProperties = ValuesOf<typeof serverProperties>;

function omitUndefined<Members extends object>(members: Members): Members {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as Members;
}

/** Declares the options of a change. At least one of them must be given. The section's value has only the members that are given. */
function changeSection<Members extends Schema>(properties: Members) {
  return section(properties, {
    check: (reader) => {
      const [first, ...others] = optionsOf(properties);
      if (first === undefined || [first, ...others].some((option) => reader.isGiven(option))) return;
      const names = [first, ...others].filter(({ name }) => !name.startsWith('auth-')).map(({ name }) => `--${name}`);
      reader.addFault(first, `or another of ${names.join(', ')} is required`);
    },
    combine: omitUndefined,
  });
}

const name = option('name <text>', 'its new name', parseText);

export const serverChange = changeSection({
  name,
  url: option('url <url>', 'its new URL', parseText),
  enabled: option('enabled <true|false>', 'whether callers may use it', parseSwitch),
  ...serverProperties,
});

export interface ServerTools {
  readonly name: string;
  readonly tools: readonly string[];
}

const SERVER_AND_TOOL = /^([^:]+):(.+)$/s;

function toolFault(word: string): string | undefined {
  if (SERVER_AND_TOOL.test(word)) return undefined;
  return `${word}: is not a tool of a server; write <server>:<tool>, e.g. calculator:add`;
}

/** Groups tools by their servers. @param words texts such as `calculator:add`; a tool's name may contain colons. */
export function toolsByServer(words: readonly string[]): readonly ServerTools[] {
  const servers = new Map<string, string[]>();
  for (const word of words) {
    const [, server = '', tool = ''] = SERVER_AND_TOOL.exec(word) ?? [];
    servers.set(server, [...(servers.get(server) ?? []), tool]);
  }
  return [...servers].map(([name, tools]) => ({ name, tools }));
}

export function checkTools(reader: OptionReader, [, ...words]: readonly string[]): void {
  for (const word of words) {
    const fault = toolFault(word);
    if (fault !== undefined) reader.addOtherFault(fault);
  }
}

function parseTools(text: string): readonly ServerTools[] {
  const words = parseTexts(text);
  const fault = words.map(toolFault).find((each) => each !== undefined);
  if (fault !== undefined) throw new InvalidValue(fault);
  return toolsByServer(words);
}

export const compositionProperties = {
  description,
  exposure: option(
    'exposure <all|search>',
    'what its tools/list shows: all tools, or two tools to search for and call the others',
    oneOf('all', 'search'),
  ),
  team,
};

export const compositionChange = changeSection({
  name,
  servers: option('tools <list>', 'comma-separated server:tool pairs; replaces the tools it has', parseTools),
  subjects: option(
    'subjects <list>',
    'comma-separated token subjects that may use it; replaces those it has',
    parseTexts,
  ),
  ...compositionProperties,
});

export const isForced = option(
  'force [true|false]',
  'allow tools that their server does not have',
  parseSwitch,
  'false',
);
