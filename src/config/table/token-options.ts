// Options for verifying and minting tokens, and for referring clients without a token to an authorization server.
import { readTokenJwks, readTokenPrivateKey, readTokenPublicKey, readTokenSecret } from '../files.js';
import { option, section, type ValueOf, type OptionReader } from '../option.js';
import { anyMs, parseIssuers, parsePublicUrl, parseText, parseTexts, parseList, InvalidValue } from '../values.js';
import { upstreamMode } from './backend-options.js';
import { limits } from '../../shared/index.js';
import { isIPv4 } from 'node:net';

// The claims with a caller's role and teams.

/** The roles, in rising order: each may do all that the roles before it may do. */
export const roles = ['reader', 'editor', 'admin'] as const;

export type Role = (typeof roles)[number];

/** Whether a caller with the role `actual` may do what needs the role `needed`. @param actual `undefined` for no role. */
export function isRoleEnough(actual: Role | undefined, needed: Role): boolean {
  return actual !== undefined && roles.indexOf(actual) >= roles.indexOf(needed);
}

type RoleNames = Readonly<Record<Role, readonly string[]>>;

/**
 * Reads the path of a claim: names of members, from the payload on, separated by dots; `\.` is a literal dot. A text with a colon or slash
 * is one name, because identity providers name custom claims by URLs.
 */
export function parseClaimPath(text: string): readonly string[] {
  if (text.length > limits.claimPathCharsMax) {
    throw new InvalidValue(`expects at most ${limits.claimPathCharsMax} characters`);
  }
  const isOneStep = /[:/]/.test(text);
  const steps = isOneStep ? [text] : text.split(/(?<!\\)\./).map((step) => step.replaceAll('\\.', '.'));
  if (steps.some((step) => step.trim() === '')) {
    throw new InvalidValue('expects the name of a claim, e.g. roles, realm_access.roles or https://example.com/roles');
  }
  return steps;
}

/** Reads comma-separated `role=value`. Each value stands for the role, in place of the role's own name. */
export function parseRoleNames(text: string): RoleNames {
  const named = parseList(text, (item) => {
    const [, roleText = '', value = ''] = /^([^=]*?)\s*=\s*(.*)$/s.exec(item) ?? [];
    const role = roles.find((each) => each === roleText);
    if (role !== undefined && value !== '') return { role, value };
    throw new InvalidValue(`is not role=value, e.g. editor=mcp-editors; roles: ${roles.join(', ')}`);
  });
  const values = named.map(({ value }) => value);
  const repeated = values.find((value, index) => values.indexOf(value) !== index);
  if (repeated !== undefined) throw new InvalidValue(`names ${repeated} twice; each value can mean only one role`);
  const namesOf = (role: Role): readonly string[] => {
    const names = named.filter((each) => each.role === role).map(({ value }) => value);
    return names.length === 0 ? DEFAULT_ROLE_NAMES[role] : names;
  };
  return { reader: namesOf('reader'), editor: namesOf('editor'), admin: namesOf('admin') };
}

/** The values that stand for roles without `--token-role-names`. */
export const DEFAULT_ROLE_NAMES: RoleNames = { reader: ['reader'], editor: ['editor'], admin: ['admin'] };

const mode = upstreamMode('tls-only');

export const issuerKeys = option(
  'token-jwks-url <list>',
  'comma-separated issuer=URL pairs: the JWK set of each issuer with its own keys; an issuer without a URL is discovered',
  parseIssuerKeySources,
  { text: 'none', derive: (): readonly IssuerKeySource[] => [] },
);
export const issuers = option(
  'token-issuer <list>',
  'comma-separated issuers (iss), one of which tokens must have; tokens are minted with the first',
  parseTexts,
  'mcpgateway',
);

export const mintingOptions = {
  privateKey: option(
    'token-verification-private-key <path>',
    'PEM file (PKCS#8 or PKCS#1) of the key that signs tokens, for bootstrap builds and the token command',
    readTokenPrivateKey,
  ),
  issuers,
  audience: option(
    'token-audience <text>',
    'audience (aud) that tokens must have, and are minted with',
    parseText,
    'mcpgateway-api',
  ),
};

function checkIssuers(reader: OptionReader): void {
  for (const source of reader.value(issuerKeys) ?? []) {
    if (reader.isGiven(issuers) && reader.value(issuers)?.includes(source.issuer)) {
      reader.addFault(issuerKeys, 'has an issuer that is also in --token-issuer; name it in only one of them');
    }
    if (/^http:/i.test(source.url ?? source.issuer) && reader.value(mode) === 'tls-only') {
      reader.addFault(issuerKeys, 'has an http URL, which needs --upstream-connection-mode plain-text-or-tls');
    }
  }
}

export const tokenOptions = section(
  {
    publicKey: option(
      'token-verification-public-key <path>',
      'PEM file (SPKI or PKCS#1) of one or more RSA, EC or Ed25519 keys that verify tokens',
      readTokenPublicKey,
    ),
    secret: option(
      'token-verification-secret-file <path>',
      'file with the HMAC secret for HS256, HS384 and HS512 tokens, at least 32 bytes',
      readTokenSecret,
    ),
    jwks: option(
      'token-jwks-file <path>',
      'JWK set (RFC 7517) of keys and secrets that verify tokens, selected by kid, use and alg',
      readTokenJwks,
    ),
    leewayMs: option(
      'token-leeway <duration>',
      "how far an issuer's clock may be ahead: a token is accepted this long before its nbf",
      anyMs,
      '30s',
    ),
    issuerKeys,
    issuerKeyGraceMs: option(
      'token-jwks-grace <duration>',
      "how long an issuer's keys stay in use after they were last fetched",
      anyMs,
      '24h',
    ),
    ...mintingOptions,
  },
  {
    check: checkIssuers,
    combine: ({ publicKey, secret, jwks, ...others }, reader) => ({
      ...others,
      publicKey: publicKey?.pem,
      secret: secret?.secret,
      jwks: jwks?.text,
      /** The paths of the files of keys, which are read again when they change. */
      keyPaths: { publicKey: publicKey?.path, secret: secret?.path, jwks: jwks?.path },
      /** Whether issuers' keys may be fetched over http from a loopback address. */
      isPlainTextAllowed: reader.resolve(mode) === 'plain-text-or-tls',
    }),
  },
);

type VerificationOptions = ValueOf<typeof tokenOptions>;

/** Whether any source of keys that verify tokens is configured. */
export function hasKeys({ publicKey, secret, jwks, issuerKeys }: VerificationOptions): boolean {
  return publicKey !== undefined || secret !== undefined || jwks !== undefined || issuerKeys.length > 0;
}

const role = option(
  'token-roles-claim <claim>',
  'claim with the role of a token: reader, editor or admin',
  parseClaimPath,
  { text: 'every token has the role admin' },
);
const roleNames = option(
  'token-role-names <list>',
  'comma-separated role=value pairs: the values of --token-roles-claim that stand for each role, instead of its name',
  parseRoleNames,
  { text: 'reader, editor and admin', derive: () => DEFAULT_ROLE_NAMES },
);
const teams = option(
  'token-teams-claim <claim>',
  'claim with the teams of a token, which own what their members create',
  parseClaimPath,
  { text: 'nobody has a team' },
);

/** The claims with role and teams; `undefined` if no token's role is examined. Control plane only. */
export const roleClaimOptions = section(
  { role, roleNames, teams },
  {
    check: (reader) => {
      if (!reader.isGiven(role))
        reader.addFaults([roleNames, teams], 'has no effect without --token-roles-claim; give that, too');
    },
    combine: ({ role, roleNames, teams }) => (role === undefined ? undefined : { role, roleNames, teams }),
  },
);

export const protectedResourceOptions = {
  publicUrl: option(
    'public-url <url>',
    'scheme, host and port at which clients reach this program, e.g. https://gateway.example',
    parsePublicUrl,
    { text: "from the request's Host, where hosts are checked" },
  ),
  authorizationServers: option(
    'authorization-servers <list>',
    'comma-separated issuers that clients without a token are referred to (RFC 9728)',
    parseIssuers,
    {
      text: 'the https issuers of --token-jwks-url',
      derive: (reader) =>
        reader
          .resolve(issuerKeys)
          .map(({ issuer }) => issuer)
          .filter((issuer) => /^https?:\/\//.test(issuer)),
    },
  ),
};

// `--token-jwks-url`: where each issuer's keys are.

/** Where an issuer's JWK set is. If `url` is `undefined`, the set is discovered at the issuer's well-known addresses. */
export interface IssuerKeySource {
  readonly issuer: string;
  readonly url: string | undefined;
}

/** Reads a comma-separated list, each entry `issuer=url` or just an issuer's URL. */
export function parseIssuerKeySources(text: string): readonly IssuerKeySource[] {
  const sources = parseList(text, parseIssuerKeySource);
  sources.forEach(({ issuer }, index) => {
    if (sources.findIndex((other) => other.issuer === issuer) === index) return;
    throw new InvalidValue(`entry ${index + 1} has the same issuer as an earlier entry; name each issuer once`);
  });
  return sources;
}

/** Whether keys may be fetched from the URL. http is allowed only from this machine: on a network, an attacker could replace the keys. */
export function isKeyUrl(text: string, isPlainTextAllowed: boolean): boolean {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || url.username !== '' || url.password !== '') return false;
  const { protocol, hostname: host } = url;
  const isLoopback = host === 'localhost' || host === '[::1]' || (isIPv4(host) && host.startsWith('127.'));
  return protocol === 'https:' || (isPlainTextAllowed && protocol === 'http:' && isLoopback);
}

function parseIssuerKeySource(item: string): IssuerKeySource {
  const end = item.indexOf('=');
  const [issuer, url] = end === -1 ? [item, undefined] : [item.slice(0, end).trim(), item.slice(end + 1).trim()];
  if (issuer === '') throw new InvalidValue('names no issuer; write issuer=https://…');
  if (isKeyUrl(url ?? issuer, true)) return { issuer, url };
  const what = url === undefined ? 'an issuer whose keys can be discovered' : 'the address of a JWK set';
  throw new InvalidValue(`is not ${what}: write an https URL, or an http one of a loopback address, without a user`);
}
