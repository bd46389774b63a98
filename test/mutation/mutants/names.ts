// Slips in name resolution.
import { mutantsOf, type Mutant } from '../mutant.js';

const NAMES = ['names/name-turns', 'names/name-staleness', 'names/names'];

export const namesMutants: readonly Mutant[] = [
  ...mutantsOf('src/names/names.ts', NAMES, [
    {
      slip: 'one look-up more at once than may be',
      text: 'if (!isAtShare && this.#askingCount < this.#lookUpsMax) {',
      becomes: 'if (!isAtShare && this.#askingCount <= this.#lookUpsMax) {',
    },
    {
      slip: 'one look-up more of a subject than its share',
      text: 'const isAtShare = (this.#asking.get(subject) ?? 0) >= this.#lookUpsPerSubjectMax;',
      becomes: 'const isAtShare = (this.#asking.get(subject) ?? 0) > this.#lookUpsPerSubjectMax;',
    },
    { slip: 'a look-up that is over goes on counting', text: 'this.#askingCount -= 1;', becomes: '' },
    {
      slip: 'a subject at its share is never let go',
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
      slip: 'one name waits twice for one subject',
      text: 'entry.queuedFor.add(subject);',
      becomes: '',
    },
    {
      slip: 'a name that waited once for a subject never does again',
      text: 'next.entry.queuedFor.delete(next.subject);',
      becomes: '',
    },
    {
      slip: 'a name is asked for although nobody waits any more',
      text: 'if (isWanted && !next.entry.isAsking)',
      becomes: 'if (!next.entry.isAsking)',
    },
    {
      slip: 'a name that is being asked for is asked for once more',
      text: 'if (isWanted && !next.entry.isAsking)',
      becomes: 'if (isWanted)',
    },
    {
      slip: 'old addresses serve for ever while name servers are silent',
      text: "return typeof outcome === 'object' && this.#nowMs() < staleUntilMs ? outcome : undefined;",
      becomes: "return typeof outcome === 'object' ? outcome : undefined;",
    },
    {
      slip: 'old addresses serve although the name is gone',
      text: "entry.isSilent = answer.kind === 'failed' &&",
      becomes: "entry.isSilent = answer.kind !== 'found' &&",
    },
    {
      slip: 'a name that was answered counts as silent a moment later',
      text: 'clearTimeout(patience);',
      becomes: '',
    },
    {
      slip: 'a late answer takes the place of a newer one',
      text: "} else if (answer.kind === 'found' && !entry.isAsking) {",
      becomes: "} else if (answer.kind === 'found') {",
    },
    {
      slip: 'a TTL of nothing has a name asked for each time',
      text: 'Math.min(Math.max(answer.ttlMs, limits.nameKeptMsMin), limits.nameKeptMsMax);',
      becomes: 'Math.min(answer.ttlMs, limits.nameKeptMsMax);',
    },
    {
      slip: 'a long TTL holds an address for days',
      text: 'Math.min(Math.max(answer.ttlMs, limits.nameKeptMsMin), limits.nameKeptMsMax);',
      becomes: 'Math.max(answer.ttlMs, limits.nameKeptMsMin);',
    },
    {
      slip: 'a name that was not found is asked for each time',
      text: 'entry.freshUntilMs = nowMs + limits.nameFaultKeptMs;',
      becomes: 'entry.freshUntilMs = nowMs;',
    },
    {
      slip: 'a name that somebody waits for is dropped',
      text: 'if (entry.isAsking || entry.queuedFor.size > 0) continue;',
      becomes: '',
    },
    {
      slip: 'the name that was used last is dropped first',
      text: 'if (known !== undefined) this.#entries.delete(name);',
      becomes: '',
    },
    {
      slip: 'names are kept without bound',
      text: 'if (this.#entries.size > limits.namesMax) this.#dropOne();',
      becomes: '',
    },
    { slip: 'who has given up is called back', text: 'if (!wait.isLinked) return;', becomes: '' },
    {
      slip: 'other name servers are never asked',
      text: 'if (this.#resolver !== undefined && this.#resolverServers === wanted) return this.#resolver;',
      becomes: 'if (this.#resolver !== undefined) return this.#resolver;',
    },
    { slip: 'look-ups outlive their end', text: 'this.#resolver?.cancel();', becomes: '' },
    {
      slip: 'a name with its last dot is another name',
      text: "const bare = name.endsWith('.') ? name.slice(0, -1) : name;",
      becomes: 'const bare = name;',
    },
    {
      slip: 'a name in use is asked for each time',
      text: 'if (!entry.isAsking && this.#nowMs() >= entry.freshUntilMs) this.#ask(entry, subject);',
      becomes: 'if (!entry.isAsking) this.#ask(entry, subject);',
    },
    {
      slip: 'who waits for a turn is not served old addresses',
      text: 'setTimeout(serve, limits.nameStaleAfterMs).unref();',
      becomes: '',
    },
    {
      slip: 'who may not wait is not served old addresses',
      text: 'this.#tell(wait, this.#oldAddresses(entry) ?? refusal)',
      becomes: 'this.#tell(wait, refusal)',
    },
    {
      slip: 'newer addresses are not asked for once old ones have served',
      text: 'next.entry.waits.isLinked || next.entry.isSilent',
      becomes: 'next.entry.waits.isLinked',
    },
    {
      slip: 'who waits for a look-up of another begins one more',
      text: 'if (!entry.isAsking) {',
      becomes: 'if (entry.waits.isLinked) {',
    },
  ]),
  ...mutantsOf(
    'src/names/name-query.ts',
    ['names/name-query'],
    [
      {
        slip: 'a search domain that fails hides that the name may be there',
        text: "(other) => onAnswer(other.kind === 'not-found' ? answer : other)",
        becomes: '(other) => onAnswer(other)',
      },
      { slip: 'the answer of one kind comes again after both', text: 'clearTimeout(late);', becomes: '' },
      {
        slip: 'addresses are kept for the longest of their times',
        text: 'ttlMs: Math.min(...records.map(({ ttl }) => ttl)) * 1_000,',
        becomes: 'ttlMs: Math.max(...records.map(({ ttl }) => ttl)) * 1_000,',
      },
      {
        slip: 'both kinds are kept for the time of the one',
        text: 'ttlMs: Math.min(six.ttlMs, four.ttlMs) };',
        becomes: 'ttlMs: six.ttlMs };',
      },
      {
        slip: 'a kind that failed counts as none',
        text: "return six.kind === 'failed' ? six : four;",
        becomes: 'return four;',
      },
      {
        slip: 'a name may have any number of addresses',
        text: 'records.slice(0, limits.addressesPerNameMax).map',
        becomes: 'records.map',
      },
      {
        slip: 'a refusal of the name server says that there is no such name',
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
        slip: 'a name in capitals is not found',
        text: 'const key = name.toLowerCase();',
        becomes: 'const key = name;',
      },
      { slip: 'a comment is read as names', text: "line.replace(/#.*/, '').trim()", becomes: 'line.trim()' },
      {
        slip: 'an address with a zone is connected to',
        text: " || address.includes('%')) continue;",
        becomes: ') continue;',
      },
      {
        slip: 'a name of the table may have any number of addresses',
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
        slip: 'a name with enough dots is completed first',
        text: 'return dots >= dotsMin ? [name, ...completed]',
        becomes: 'return dots > dotsMin ? [name, ...completed]',
      },
      { slip: 'a full name is completed', text: "if (name.endsWith('.')) return [name.slice(0, -1)];", becomes: '' },
      { slip: 'a fourth name server is asked', text: 'nameServers.slice(0, NAME_SERVERS_MAX)', becomes: 'nameServers' },
      {
        slip: 'any number of dots is taken',
        text: 'dotsMin = Math.min(Number(dots), DOTS_MAX);',
        becomes: 'dotsMin = Number(dots);',
      },
      { slip: 'comments are read', text: ".replace(/[#;].*/, '')", becomes: ".replace(/[#].*/, '')" },
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
        slip: 'the file is looked at each time',
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
      { slip: 'IPv4 is tried first', text: '[six[index], four[index]])', becomes: '[four[index], six[index]])' },
      {
        slip: 'every process has the same order',
        text: '.update(seed).update(address)',
        becomes: '.update(address)',
      },
      {
        slip: 'the shorter kind cuts the other',
        text: 'Math.max(six.length, four.length)',
        becomes: 'Math.min(six.length, four.length)',
      },
    ],
  ),
];
