// Parsers of option values: each returns a typed value, or throws InvalidValue. None reads files.
import { isIP, isIPv4, isIPv6 } from 'node:net';
import { limits } from '../shared/index.js';

export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

export function formatAddress({ host, port }: ListenAddress): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

/** Freezes a value and all objects in it, except binary data, which JavaScript cannot freeze. */
export function deepFreeze<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return value;
  for (const member of Object.values(value)) deepFreeze(member);
  return Object.freeze(value);
}

/** The longest delay of a timer: with a longer delay, Node.js fires the timer at once. */
const TIMER_MS_MAX = 2 ** 31 - 1;
/** More memory than any process has. */
const MEMORY_BYTES_MAX = 1024 ** 4;
export const PORT_MAX = 65_535;

const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };
const UNIT_BYTES: Readonly<Record<string, number>> = { '': 1, B: 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3 };

export function parseText(text: string): string {
  if (text === '') throw new InvalidValue('must not be empty');
  return text;
}

/** Reads a switch. A switch without a value arrives as the text `true`. */
export function parseSwitch(text: string): boolean {
  if (/^(true|on|yes|1)$/i.test(text)) return true;
  if (/^(false|off|no|0)$/i.test(text)) return false;
  throw new InvalidValue('expects true or false');
}

export function oneOf<Choice extends string>(...choices: readonly Choice[]): OneOf<Choice> {
  const parse = (text: string): Choice => {
    const choice = choices.find((candidate) => candidate === text);
    if (choice === undefined) throw new InvalidValue(`expects one of ${choices.join(', ')}`);
    return choice;
  };
  return Object.assign(parse, { choices });
}

/** The values that an option accepts; `undefined` if there is no fixed list. */
export function choicesOf(parse: (text: string) => unknown): readonly string[] | undefined {
  return 'choices' in parse ? (parse as OneOf<string>).choices : undefined;
}

interface OneOf<Choice extends string> {
  (text: string): Choice;
  readonly choices: readonly Choice[];
}

export function wholeNumber(bounds: { readonly min: number; readonly max: number }): (text: string) => number {
  return (text) => {
    const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
    if (value >= bounds.min && value <= bounds.max) return value;
    throw new InvalidValue(`expects a whole number from ${bounds.min} to ${bounds.max}`);
  };
}

/** Makes a parser of durations, which returns milliseconds. The text must have a unit: some people would take a bare number for seconds. */
export function duration(bounds: { readonly minMs: number; readonly maxMs?: number }): (text: string) => number {
  const { minMs, maxMs = TIMER_MS_MAX } = bounds;
  return (text) => {
    const [, digits, unit] = /^(\d+)(ms|s|m|h)$/.exec(text) ?? [];
    const value = Number(digits) * (UNIT_MS[unit ?? ''] ?? Number.NaN);
    if (value >= minMs && value <= maxMs) return value;
    throw new InvalidValue(
      `expects a duration with its unit, as in 500ms, 10s, 5m or 1h, from ${minMs}ms to ${maxMs < 3_600_000 ? `${maxMs}ms` : `${Math.floor(maxMs / 3_600_000)}h`}`,
    );
  };
}

export const anyMs = duration({ minMs: 0 });
export const positiveMs = duration({ minMs: 1 });

export function size(bounds: { readonly minBytes: number; readonly maxBytes?: number }): (text: string) => number {
  const { minBytes, maxBytes = MEMORY_BYTES_MAX } = bounds;
  return (text) => {
    const [, digits, unit] = /^(\d+)(B|KiB|MiB|GiB)?$/.exec(text) ?? [];
    const value = Number(digits) * (UNIT_BYTES[unit ?? ''] ?? Number.NaN);
    if (value >= minBytes && value <= maxBytes) return value;
    const [least, most] = [sizeText(minBytes), sizeText(maxBytes)];
    throw new InvalidValue(`expects a size, as in 4MiB, 512KiB or plain bytes, from ${least} to ${most}`);
  };
}

/** The size in the largest unit that gives a whole number. */
function sizeText(bytes: number): string {
  const [unit = 'B', unitBytes = 1] = Object.entries(UNIT_BYTES).findLast(([, each]) => bytes % each === 0) ?? [];
  return `${bytes / unitBytes}${unit}`;
}

/** Reads an address to listen on. @param others text for the fault about other valid values, such as `; off for none`. */
export function parseListenAddress(text: string, others = ''): ListenAddress {
  const address = addressOf(text);
  if (address !== undefined) return address;
  throw new InvalidValue(`expects host:port, as in 127.0.0.1:8001 or [::1]:8001; port 0 takes any free port${others}`);
}

function addressOf(text: string): ListenAddress | undefined {
  const [, bracketed, bare, digits] = /^(?:\[([^\]]+)\]|([^:[\]]+)):(\d{1,5})$/.exec(text) ?? [];
  const host = bracketed ?? bare ?? '';
  const isHost = bracketed === undefined ? isHostName(host) : isIPv6(host);
  return isHost && Number(digits) <= PORT_MAX ? { host, port: Number(digits) } : undefined;
}

/** Reads addresses to connect to. */
export function parseAddresses(text: string): readonly ListenAddress[] {
  return parseList(text, (item) => {
    const address = addressOf(item);
    if (address !== undefined && address.port > 0) return address;
    throw new InvalidValue('is not host:port, as in sentinel.internal:26379 or [2001:db8::1]:26379');
  });
}

export function parseAdminAddress(text: string): ListenAddress {
  const address = addressOf(text);
  if (address !== undefined && address.port > 0) return address;
  throw new InvalidValue('expects host:port, as in 127.0.0.1:8002 or [::1]:8002');
}

/** Reads an address to listen on; `undefined` for `off`. */
export function parseListenAddressOrOff(text: string): ListenAddress | undefined {
  return text === 'off' ? undefined : parseListenAddress(text, '; off for none');
}

/** Reads a host. An IPv6 address may have brackets. */
export function parseHost(text: string): string {
  const host = /^\[(.+)\]$/.exec(text)?.[1] ?? text;
  if (isHostName(host) || isIP(host) !== 0) return host;
  throw new InvalidValue(
    'expects a host name or address without a port, e.g. redis.internal; the port has its own option',
  );
}

/** Reads a path prefix. @returns `''` or a path like `/a/b`. */
export function parsePathPrefix(text: string): string {
  const prefix = text.replace(/\/$/, '');
  const segments = prefix.split('/').slice(1);
  const isPath = prefix === '' || prefix.startsWith('/');
  if (isPath && segments.every((segment) => /^[\w.~!$&'()*+,;=:@-]+$/.test(segment) && !/^\.{1,2}$/.test(segment))) {
    return prefix;
  }
  throw new InvalidValue('expects a path that begins with a slash, as in /gw-rs; / alone means no prefix');
}

/** Reads origins in the form of the `Origin` header. */
export function parseOrigins(text: string): readonly string[] {
  return parseList(text, (item) => {
    if (!/^[a-z][a-z0-9+.-]*:\/\/[^/?#@\s]+$/i.test(item) || !URL.canParse(item)) {
      throw new InvalidValue('is not an origin, as in https://app.example:8443: scheme, host and port, no path');
    }
    const { origin } = new URL(item);
    // For schemes that it does not know, such as a browser extension's, the URL class gives the origin `null`.
    return origin === 'null' ? item : origin;
  });
}

export function parseSecretOrigins(text: string): readonly string[] | 'any' {
  if (text === 'any') return text;
  const origins = parseOrigins(text);
  if (origins.some((origin) => !/^https?:/.test(origin)))
    throw new InvalidValue('expects http or https origins, as in https://api.example.com');
  if (origins.length > limits.secretOriginsMax)
    throw new InvalidValue(`expects at most ${limits.secretOriginsMax} origins`);
  return origins;
}

/** Reads hosts: `host` or `host:port`. @returns the hosts in lower case. */
export function parseHosts(text: string): readonly string[] {
  return parseList(text, (item) => {
    const [, bracketed, bare, digits = '0'] = /^(?:\[([^\]]+)\]|([^:[\]]+))(?::(\d{1,5}))?$/.exec(item) ?? [];
    const isHost = bracketed === undefined ? isHostName(bare ?? '') : isIPv6(bracketed);
    if (isHost && Number(digits) <= PORT_MAX) return item.toLowerCase();
    throw new InvalidValue('is not a host, as in gateway.example, gateway.example:8443 or [::1]:8001');
  });
}

export function parseNameServers(text: string): readonly string[] {
  return parseList(text, (item) => {
    const [, bracketed, digits = '53'] = /^(?:\[([^\]]+)\]|[\d.]+)(?::(\d{1,5}))?$/.exec(item) ?? [];
    const address = bracketed ?? item.replace(/:\d+$/, '');
    const isAddress = bracketed === undefined ? isIPv4(address) : isIPv6(bracketed);
    const port = Number(digits);
    if (isIPv6(item) || (isAddress && port >= 1 && port <= PORT_MAX)) return item;
    throw new InvalidValue('is not the address of a DNS server, e.g. 192.0.2.53, 192.0.2.53:5353 or [2001:db8::53]:53');
  });
}

/** Reads networks. An address without a prefix length is a network of that address alone. */
export function parseNetworks(text: string): readonly string[] {
  return parseList(text, (item) => {
    const [, address = '', digits] = /^([\d.]+|[\da-f:.]+)(?:\/(\d{1,3}))?$/i.exec(item) ?? [];
    const bitsMax = { 0: -1, 4: 32, 6: 128 }[isIP(address)] ?? -1;
    if (Number(digits ?? 0) <= bitsMax) return item;
    throw new InvalidValue('is not a network, as in 10.0.0.0/8, 192.0.2.7 or 2001:db8::/32');
  });
}

/** Reads the URL of a proxy. The scheme may be left out, as in other programs. */
export function parseProxy(text: string) {
  const written = text.includes('://') ? text : `http://${text}`;
  const url = URL.canParse(written) ? new URL(written) : undefined;
  const rest = url && url.pathname + url.search + url.hash;
  if (url?.protocol !== 'http:' || rest !== '/') {
    throw new InvalidValue('expects an HTTP proxy, as in http://proxy.example:3128, without TLS, path and query');
  }
  const { hostname, port, username, password } = url;
  const user = `${percentDecoded(username)}:${percentDecoded(password)}`;
  // The value of the header `proxy-authorization`; `''` for none.
  const authorization = user === ':' ? '' : `Basic ${Buffer.from(user).toString('base64')}`;
  return { host: hostname.replace(/^\[(.*)\]$/, '$1'), port: Number(port) || 80, authorization };
}

function percentDecoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Reads patterns of hosts, separated by commas or spaces. Every text is accepted as a pattern, because programs differ in their rules. */
export function parseHostPatterns(text: string): readonly string[] {
  return text
    .toLowerCase()
    .split(/[\s,]+/)
    .filter((pattern) => pattern !== '');
}

export function parseTexts(text: string): readonly string[] {
  return parseList(text, (item) => {
    if (item === '') throw new InvalidValue('is empty; remove a comma or add a value');
    return item;
  });
}

/** Reads a SHA-256 digest, or the word `none`. */
export function parseDigest(text: string): string {
  if (text === 'none' || /^[0-9a-f]{64}$/.test(text)) return text;
  throw new InvalidValue('expects 64 hexadecimal digits, or none');
}

/** Whether the URL is one of http or https, without user, query and fragment. */
function isPlainUrl(text: string): boolean {
  if (!URL.canParse(text) || /[?#]/.test(text)) return false;
  const { protocol, username, password } = new URL(text);
  return username === '' && password === '' && /^https?:$/.test(protocol);
}

/** Reads a URL, which may have a path, for example behind a proxy. @returns the URL without trailing slashes. */
export function parseBaseUrl(text: string): string {
  if (isPlainUrl(text)) return new URL(text).href.replace(/\/+$/, '');
  throw new InvalidValue('expects an http or https URL, as in http://127.0.0.1:4444, without user, query and fragment');
}

export function parsePublicUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url !== undefined && /^https?:$/.test(url.protocol) && text.replace(/\/$/, '').toLowerCase() === url.origin)
    return url.origin;
  throw new InvalidValue(
    'expects scheme, host and port, as in https://gateway.example:8443, without path, query and user',
  );
}

/** Reads issuers and returns them unchanged, because tokens name issuers with exactly these characters. */
export function parseIssuers(text: string): readonly string[] {
  return parseList(text, (item) => {
    if (isPlainUrl(item)) return item;
    throw new InvalidValue('is not an issuer, as in https://idp.example/realms/one: no user, query and fragment');
  });
}

export function parseFraction(text: string): number {
  const value = /^(?:0|1|[01]?\.\d+)$/.test(text) ? Number(text) : Number.NaN;
  if (value >= 0 && value <= 1) return value;
  throw new InvalidValue('expects a number from 0 to 1, as in 0.01');
}

/** Reads items between commas. A fault says which item is wrong. */
export function parseList<Item>(text: string, parseItem: (item: string) => Item): readonly Item[] {
  return text.split(',').map((item, index) => {
    try {
      return parseItem(item.trim());
    } catch (error) {
      if (!(error instanceof InvalidValue)) throw error;
      throw new InvalidValue(`entry ${index + 1} ${error.message}`);
    }
  });
}

/** Whether the text is a host's name. Also true for an IPv4 address. */
function isHostName(text: string): boolean {
  return text.length <= 253 && text.split('.').every((label) => /^[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?$/i.test(label));
}

// Faults in options, reported all at once. A message never repeats a value, because it may be a secret in the wrong place.

/** A value that is invalid. The message follows the option's name: "expects …", "cannot be read …". */
export class InvalidValue extends Error {
  override readonly name = 'InvalidValue';
}

export class OptionFaults extends Error {
  override readonly name = 'OptionFaults';
  /** The faults, one line each. Nearly all begin with the name of an option or variable. */
  readonly faults: readonly string[];

  /** @param advice a sentence that the message ends with. */
  constructor(faults: readonly string[], advice: string) {
    const count = faults.length === 1 ? '1 fault' : `${faults.length} faults`;
    super([`${count} in the command line and environment:`, ...faults.map((fault) => `  ${fault}`), advice].join('\n'));
    this.faults = faults;
  }
}

// Secrets by name: where a secret is, and which names and values are valid.

/** The valid names of secrets. A secret's name is also a file name: not of a hidden file, and without directories. */
const SECRET_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;

/** The suffix of the file beside a secret's file that lists the hosts to which the secret may be sent. */
export const HOSTS_FILE_SUFFIX = '.hosts';

/** The rule for the names of secrets in words, for messages. */
export const SECRET_NAME_RULE = `up to ${limits.secretNameCharsMax} letters, digits, '.', '_' and '-'`;

export function isSecretName(name: string): boolean {
  return name.length <= limits.secretNameCharsMax && SECRET_NAME.test(name) && !name.endsWith(HOSTS_FILE_SUFFIX);
}

export type SecretLocation = { readonly secret: string } | { readonly file: string };

/** Where a secret is; `undefined` for an invalid text. @param text `secret:<name>` or `file:<name>`. */
export function readSecretLocation(text: string): SecretLocation | undefined {
  const [, kind, name = ''] = /^(secret|file):(.*)$/.exec(text) ?? [];
  if (kind === undefined || !isSecretName(name)) return undefined;
  return kind === 'secret' ? { secret: name } : { file: name };
}

/** A header value that every server accepts: one line of ASCII without surrounding spaces. */
const SECRET_VALUE = /^[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?$/;

export function isSecretValue(text: string): boolean {
  return SECRET_VALUE.test(text);
}
