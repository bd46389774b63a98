// `--token-jwks-url`: where each issuer's keys are. An issuer without a URL is discovered at its well-known addresses.
import { isIPv4 } from 'node:net';
import { InvalidValue } from './faults.js';
import { parseList } from './values.js';

/** The URL of an issuer's JWK set; `undefined`: discovered from the issuer's metadata. */
export interface IssuerKeySource {
  readonly issuer: string;
  readonly url: string | undefined;
}

/** Comma-separated items: `issuer=url`, or just an issuer that is a URL. */
export function parseIssuerKeySources(text: string): readonly IssuerKeySource[] {
  const sources = parseList(text, parseSource);
  sources.forEach(({ issuer }, index) => {
    if (sources.findIndex((other) => other.issuer === issuer) === index) return;
    throw new InvalidValue(`entry ${index + 1} has the same issuer as an earlier entry; name each issuer once`);
  });
  return sources;
}

/** Keys fetched in plain text could be anybody's, except on this machine. */
export function isKeyUrl(text: string, isPlainTextAllowed: boolean): boolean {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || url.username !== '' || url.password !== '') return false;
  return url.protocol === 'https:' || (isPlainTextAllowed && url.protocol === 'http:' && isLoopback(url.hostname));
}

export function isPlainText({ issuer, url }: IssuerKeySource): boolean {
  return /^http:/i.test(url ?? issuer);
}

function parseSource(item: string): IssuerKeySource {
  const end = item.indexOf('=');
  const [issuer, url] = end === -1 ? [item, undefined] : [item.slice(0, end).trim(), item.slice(end + 1).trim()];
  if (issuer === '') throw new InvalidValue('names no issuer; write issuer=https://…');
  if (isKeyUrl(url ?? issuer, true)) return { issuer, url };
  const what = url === undefined ? 'an issuer whose keys can be discovered' : 'the address of a JWK set';
  throw new InvalidValue(`is not ${what}: write an https URL, or an http one of a loopback address, without a user`);
}

function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || (isIPv4(hostname) && hostname.startsWith('127.'));
}
