// Asks name servers for the IPv6 and IPv4 addresses of a name in parallel. c-ares sends the queries, which blocks no thread. Cold path.
import type { RecordWithTtl, Resolver } from 'node:dns';
import { createHash, randomBytes } from 'node:crypto';
import { isIPv6 } from 'node:net';

export const ADDRESSES_PER_NAME_MAX = 32;

const processSeed = randomBytes(16);

/**
 * The order in which to try addresses: IPv6 and IPv4 alternating, IPv6 first (RFC 8305, 4).
 * @param seed decides the order within a family. A process keeps its seed, so that its sessions use one address; other processes have
 *   other seeds, so that all addresses are used.
 */
export function orderAddresses(addresses: readonly string[], seed: Buffer = processSeed): readonly string[] {
  const rank = new Map(addresses.map((address) => [address, rankOf(address, seed)]));
  const ranked = [...rank.keys()].sort((one, other) => (rank.get(one) ?? 0) - (rank.get(other) ?? 0));
  const ipv6 = ranked.filter((address) => isIPv6(address));
  const ipv4 = ranked.filter((address) => !isIPv6(address));
  return Array.from({ length: Math.max(ipv6.length, ipv4.length) }, (_, index) => [ipv6[index], ipv4[index]])
    .flat()
    .filter((address) => address !== undefined);
}

function rankOf(address: string, seed: Buffer): number {
  return createHash('sha256').update(seed).update(address).digest().readUInt32BE(0);
}

/** How long the addresses of one family wait for those of the other: some name servers never answer for one of the two. */
export const OTHER_FAMILY_WAIT_MS = 50;

export type NameAnswer =
  | { readonly kind: 'found'; readonly addresses: readonly string[]; readonly ttlMs: number }
  /** The name does not exist, or has no address. */
  | { readonly kind: 'not-found' }
  /** The name servers give no usable response. */
  | { readonly kind: 'failed' };

const NOT_FOUND: NameAnswer = { kind: 'not-found' };
const FAILED: NameAnswer = { kind: 'failed' };
const NOT_FOUND_CODES = new Set(['ENOTFOUND', 'ENODATA', 'EBADNAME']);

/** Looks a name up. @param candidates full names, in order. @param onAnswer called again with both address families if one is late. */
export function queryName(
  resolver: Resolver,
  candidates: readonly string[],
  onAnswer: (answer: NameAnswer) => void,
): void {
  const [name, ...others] = candidates;
  if (name === undefined) {
    onAnswer(NOT_FOUND);
    return;
  }
  queryBothFamilies(resolver, name, (answer) => {
    if (answer.kind === 'found' || others.length === 0) onAnswer(answer);
    // If the other candidates are not found either, this answer counts: after a failure, "not found" would be uncertain.
    else queryName(resolver, others, (other) => onAnswer(other.kind === 'not-found' ? answer : other));
  });
}

function queryBothFamilies(resolver: Resolver, name: string, onAnswer: (answer: NameAnswer) => void): void {
  const answers: [six?: NameAnswer, four?: NameAnswer] = [];
  let lateTimer: NodeJS.Timeout | undefined;
  const onFamily = (index: 0 | 1, answer: NameAnswer): void => {
    answers[index] = answer;
    const [ipv6, ipv4] = answers;
    clearTimeout(lateTimer);
    if (ipv6 !== undefined && ipv4 !== undefined) onAnswer(mergedAnswer(ipv6, ipv4));
    // The other family must not delay this one for long (RFC 8305, 3).
    else if (answer.kind === 'found') lateTimer = setTimeout(() => onAnswer(answer), OTHER_FAMILY_WAIT_MS);
  };
  resolver.resolve6(name, { ttl: true }, (error, records) => onFamily(0, answerOf(error, records)));
  resolver.resolve4(name, { ttl: true }, (error, records) => onFamily(1, answerOf(error, records)));
}

function answerOf(error: NodeJS.ErrnoException | null, records: readonly RecordWithTtl[] | undefined): NameAnswer {
  if (error !== null) return NOT_FOUND_CODES.has(error.code ?? '') ? NOT_FOUND : FAILED;
  if (records === undefined || records.length === 0) return NOT_FOUND;
  return {
    kind: 'found',
    addresses: records.slice(0, ADDRESSES_PER_NAME_MAX).map(({ address }) => address),
    ttlMs: Math.min(...records.map(({ ttl }) => ttl)) * 1_000,
  };
}

function mergedAnswer(v6: NameAnswer, v4: NameAnswer): NameAnswer {
  if (v6.kind === 'found' && v4.kind === 'found') {
    return { kind: 'found', addresses: [...v6.addresses, ...v4.addresses], ttlMs: Math.min(v6.ttlMs, v4.ttlMs) };
  }
  if (v6.kind === 'found') return v6;
  if (v4.kind === 'found') return v4;
  return v6.kind === 'failed' ? v6 : v4;
}
