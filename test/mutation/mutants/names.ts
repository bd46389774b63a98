// Slips in name resolution.
import { mutantsOf, type Mutant } from '../mutant.js';

const NAMES = ['names/name-turns', 'names/name-staleness', 'names/names'];

export const namesMutants: readonly Mutant[] = [
  ...mutantsOf('src/names/names.ts', NAMES, [
    {
      slip: 'one look-up more than the limit runs at once',
      text: 'if (!isAtShare && this.#askingCount < this.#lookUpsMax) {',
      becomes: 'if (!isAtShare && this.#askingCount <= this.#lookUpsMax) {',
    },
    {
      slip: 'a subject gets one look-up more than its share',
      text: 'const isAtShare = (this.#asking.get(subject) ?? 0) >= this.#lookUpsPerSubjectMax;',
      becomes: 'const isAtShare = (this.#asking.get(subject) ?? 0) > this.#lookUpsPerSubjectMax;',
    },
    { slip: 'a finished look-up still counts against the limit', text: 'this.#askingCount -= 1;', becomes: '' },
    {
      slip: 'a subject that was held back at its share is never served again',
      text: 'this.#queue.letGo(subject);',
      becomes: '',
    },
    {
      slip: 'a subject at its share is not held back',
      text: 'if (isAtShare) this.#queue.hold(subject);',
      becomes: '',
    },
    {
      slip: 'a subject that reaches its share while the queue is served is not held back',
      text: 'if ((this.#asking.get(next.subject) ?? 0) >= this.#lookUpsPerSubjectMax) this.#queue.hold(next.subject);',
      becomes: '',
    },
    {
      slip: 'one name is queued twice for the same subject',
      text: 'entry.queuedFor.add(subject);',
      becomes: '',
    },
    {
      slip: 'a name that was queued once for a subject is never queued for it again',
      text: 'next.entry.queuedFor.delete(next.subject);',
      becomes: '',
    },
    {
      slip: 'a name is looked up although nobody waits for it any more',
      text: 'if (isWanted && !next.entry.isAsking)',
      becomes: 'if (!next.entry.isAsking)',
    },
    {
      slip: 'a queued name is looked up again although its look-up is already in progress',
      text: 'if (isWanted && !next.entry.isAsking)',
      becomes: 'if (isWanted)',
    },
    {
      slip: 'old addresses are served for ever while name servers do not respond',
      text: "return typeof outcome === 'object' && this.#nowMs() < staleUntilMs ? outcome : undefined;",
      becomes: "return typeof outcome === 'object' ? outcome : undefined;",
    },
    {
      slip: 'old addresses are served although the name no longer exists',
      text: "entry.isSilent = answer.kind === 'failed' &&",
      becomes: "entry.isSilent = answer.kind !== 'found' &&",
    },
    {
      slip: 'a name whose servers answered counts as silent a moment later',
      text: 'clearTimeout(patience);',
      becomes: '',
    },
    {
      slip: 'a late answer is taken while a newer look-up is in progress',
      text: "} else if (answer.kind === 'found' && !entry.isAsking) {",
      becomes: "} else if (answer.kind === 'found') {",
    },
    {
      slip: 'a name with a TTL of 0 is looked up at every use',
      text: 'Math.min(Math.max(answer.ttlMs, limits.nameKeptMsMin), limits.nameKeptMsMax);',
      becomes: 'Math.min(answer.ttlMs, limits.nameKeptMsMax);',
    },
    {
      slip: 'an address with a long TTL is kept for days',
      text: 'Math.min(Math.max(answer.ttlMs, limits.nameKeptMsMin), limits.nameKeptMsMax);',
      becomes: 'Math.max(answer.ttlMs, limits.nameKeptMsMin);',
    },
    {
      slip: 'a name that was not found is looked up at every use',
      text: 'entry.freshUntilMs = nowMs + limits.nameFaultKeptMs;',
      becomes: 'entry.freshUntilMs = nowMs;',
    },
    {
      slip: 'a name that is being looked up, or waits for its look-up, is dropped',
      text: 'if (entry.isAsking || entry.queuedFor.size > 0) continue;',
      becomes: '',
    },
    {
      slip: 'a recently used name is dropped as if it were the oldest',
      text: 'if (known !== undefined) this.#entries.delete(name);',
      becomes: '',
    },
    {
      slip: 'the number of kept names has no bound',
      text: 'if (this.#entries.size > limits.namesMax) this.#dropOne();',
      becomes: '',
    },
    { slip: 'a caller that has given up is still called back', text: 'if (!wait.isLinked) return;', becomes: '' },
    {
      slip: 'changed name servers never come into use',
      text: 'if (this.#resolver !== undefined && this.#resolverServers === wanted) return this.#resolver;',
      becomes: 'if (this.#resolver !== undefined) return this.#resolver;',
    },
    { slip: 'look-ups in progress are not cancelled on close', text: 'this.#resolver?.cancel();', becomes: '' },
    {
      slip: 'a name with a trailing dot is not found in the hosts file',
      text: "const bare = name.endsWith('.') ? name.slice(0, -1) : name;",
      becomes: 'const bare = name;',
    },
    {
      slip: 'a name in use is looked up again although its addresses are fresh',
      text: 'if (!entry.isAsking && this.#nowMs() >= entry.freshUntilMs) this.#ask(entry, subject);',
      becomes: 'if (!entry.isAsking) this.#ask(entry, subject);',
    },
    {
      slip: 'a caller whose look-up waits for a turn is not given old addresses',
      text: 'setTimeout(serve, limits.nameStaleAfterMs).unref();',
      becomes: '',
    },
    {
      slip: 'a caller whose look-up is refused is not given old addresses',
      text: 'this.#tell(wait, this.#oldAddresses(entry) ?? refusal)',
      becomes: 'this.#tell(wait, refusal)',
    },
    {
      slip: 'a name is not looked up any more once its waiters were given old addresses',
      text: 'next.entry.waits.isLinked || next.entry.isSilent',
      becomes: 'next.entry.waits.isLinked',
    },
    {
      slip: 'a caller starts another look-up of a name that is already being looked up',
      text: 'if (!entry.isAsking) {',
      becomes: 'if (entry.waits.isLinked) {',
    },
  ]),
  ...mutantsOf(
    'src/names/name-query.ts',
    ['names/name-query'],
    [
      {
        slip: 'a name counts as not found although one of its candidates could not be looked up',
        text: "(other) => onAnswer(other.kind === 'not-found' ? answer : other)",
        becomes: '(other) => onAnswer(other)',
      },
      {
        slip: 'after both address families have answered, the answer of one is delivered again',
        text: 'clearTimeout(late);',
        becomes: '',
      },
      {
        slip: 'addresses are kept for the longest TTL of their records instead of the shortest',
        text: 'ttlMs: Math.min(...records.map(({ ttl }) => ttl)) * 1_000,',
        becomes: 'ttlMs: Math.max(...records.map(({ ttl }) => ttl)) * 1_000,',
      },
      {
        slip: 'both address families are kept for the TTL of the IPv6 addresses',
        text: 'ttlMs: Math.min(six.ttlMs, four.ttlMs) };',
        becomes: 'ttlMs: six.ttlMs };',
      },
      {
        slip: 'a failed IPv6 query is hidden by an IPv4 answer of "not found"',
        text: "return six.kind === 'failed' ? six : four;",
        becomes: 'return four;',
      },
      {
        slip: 'a name may have any number of addresses',
        text: 'records.slice(0, limits.addressesPerNameMax).map',
        becomes: 'records.map',
      },
      {
        slip: 'any error of a name server counts as "no such name"',
        text: "return NOT_FOUND_CODES.has(error.code ?? '') ? NOT_FOUND : FAILED;",
        becomes: 'return NOT_FOUND;',
      },
    ],
  ),
  ...mutantsOf(
    'src/names/hosts-file.ts',
    ['names/hosts-file'],
    [
      {
        slip: 'a name that the hosts file has in capitals is not found',
        text: 'const key = name.toLowerCase();',
        becomes: 'const key = name;',
      },
      {
        slip: 'a comment in the hosts file is read as names',
        text: "line.replace(/#.*/, '').trim()",
        becomes: 'line.trim()',
      },
      {
        slip: 'an address with a zone is used',
        text: " || address.includes('%')) continue;",
        becomes: ') continue;',
      },
      {
        slip: 'a name in the hosts file may have any number of addresses',
        text: 'addresses.length < limits.addressesPerNameMax && ',
        becomes: '',
      },
    ],
  ),
  ...mutantsOf(
    'src/names/resolver-settings.ts',
    ['names/resolver-settings'],
    [
      {
        slip: 'a name with exactly the required number of dots is tried with the search domains first',
        text: 'return dots >= dotsMin ? [name, ...completed]',
        becomes: 'return dots > dotsMin ? [name, ...completed]',
      },
      {
        slip: 'a name with a trailing dot is completed with the search domains',
        text: "if (name.endsWith('.')) return [name.slice(0, -1)];",
        becomes: '',
      },
      {
        slip: 'more name servers than the maximum are used',
        text: 'nameServers.slice(0, NAME_SERVERS_MAX)',
        becomes: 'nameServers',
      },
      {
        slip: 'the number of dots in `ndots` has no bound',
        text: 'dotsMin = Math.min(Number(dots), DOTS_MAX);',
        becomes: 'dotsMin = Number(dots);',
      },
      {
        slip: 'comments that begin with a semicolon are read',
        text: ".replace(/[#;].*/, '')",
        becomes: ".replace(/[#].*/, '')",
      },
    ],
  ),
  ...mutantsOf(
    'src/names/watched-file.ts',
    ['names/names'],
    [
      {
        slip: 'a changed file is never read again',
        text: 'if (version !== this.#version) {',
        becomes: "if (this.#version === '') {",
      },
      {
        slip: 'the file is checked for changes at every use',
        text: 'this.#lookedAtMs = nowMs;',
        becomes: '',
      },
      {
        slip: 'a file of any size is read',
        text: 'if (status === undefined || status.size > limits.nameFileBytesMax)',
        becomes: 'if (status === undefined)',
      },
    ],
  ),
  ...mutantsOf(
    'src/names/address-order.ts',
    ['names/address-order'],
    [
      {
        slip: 'IPv4 addresses are tried before IPv6 addresses',
        text: '[six[index], four[index]])',
        becomes: '[four[index], six[index]])',
      },
      {
        slip: 'every process tries the addresses in the same order',
        text: '.update(seed).update(address)',
        becomes: '.update(address)',
      },
      {
        slip: 'the larger address family is cut to the size of the smaller',
        text: 'Math.max(six.length, four.length)',
        becomes: 'Math.min(six.length, four.length)',
      },
    ],
  ),
];
