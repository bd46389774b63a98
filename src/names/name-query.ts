// Asks name servers for the addresses of one name, IPv4 and IPv6 at once, and completes short names from the search list.
// c-ares does the asking: it holds no thread, however long a name server is silent. Cold.
import type { RecordWithTtl, Resolver } from 'node:dns';
import { limits } from '../shared/limits.js';

export type NameAnswer =
  | { readonly kind: 'found'; readonly addresses: readonly string[]; readonly ttlMs: number }
  /** The name servers say that there is no such name, or no address of it. */
  | { readonly kind: 'not-found' }
  /** They say nothing, or nothing of use. */
  | { readonly kind: 'failed' };

/** What one kind of address came to. */
type Part = NameAnswer | undefined;

const NOT_FOUND: NameAnswer = { kind: 'not-found' };
const FAILED: NameAnswer = { kind: 'failed' };
const NOT_FOUND_CODES = new Set(['ENOTFOUND', 'ENODATA', 'EBADNAME']);

/**
 * @param candidates full names, asked for one after the other until one is found
 * @param onAnswer called once or, when the other kind of address is late, twice; the second answer has all of them
 */
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
  queryBoth(resolver, name, (answer) => {
    if (answer.kind === 'found' || others.length === 0) onAnswer(answer);
    // A domain of the search list that does not answer must not hide the name itself, but it leaves a doubt.
    else queryName(resolver, others, (other) => onAnswer(other.kind === 'not-found' ? answer : other));
  });
}

function queryBoth(resolver: Resolver, name: string, onAnswer: (answer: NameAnswer) => void): void {
  const parts: [six: Part, four: Part] = [undefined, undefined];
  let late: NodeJS.Timeout | undefined;
  const settle = (index: 0 | 1, part: NameAnswer): void => {
    parts[index] = part;
    const [six, four] = parts;
    clearTimeout(late);
    if (six !== undefined && four !== undefined) onAnswer(joined(six, four));
    // Some name servers never answer for the one kind (RFC 8305, 3: the other is not kept waiting for long).
    else if (part.kind === 'found') late = setTimeout(() => onAnswer(part), limits.secondAddressKindMs);
  };
  resolver.resolve6(name, { ttl: true }, (error, records) => settle(0, partOf(error, records)));
  resolver.resolve4(name, { ttl: true }, (error, records) => settle(1, partOf(error, records)));
}

function partOf(error: NodeJS.ErrnoException | null, records: readonly RecordWithTtl[] | undefined): NameAnswer {
  if (error !== null) return NOT_FOUND_CODES.has(error.code ?? '') ? NOT_FOUND : FAILED;
  if (records === undefined || records.length === 0) return NOT_FOUND;
  return {
    kind: 'found',
    addresses: records.slice(0, limits.addressesPerNameMax).map(({ address }) => address),
    ttlMs: Math.min(...records.map(({ ttl }) => ttl)) * 1_000,
  };
}

function joined(six: NameAnswer, four: NameAnswer): NameAnswer {
  if (six.kind === 'found' && four.kind === 'found') {
    return { kind: 'found', addresses: [...six.addresses, ...four.addresses], ttlMs: Math.min(six.ttlMs, four.ttlMs) };
  }
  if (six.kind === 'found') return six;
  if (four.kind === 'found') return four;
  return six.kind === 'failed' ? six : four;
}
