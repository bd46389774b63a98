// Slips in the embedded store.
import { mutantsOf, type Mutant } from '../mutant.js';

const EMBEDDED_RECORDS = [
  'store/embedded-changes',
  'store/embedded-records',
  'store/redis-record-move',
  'store/record-store',
];

export const embeddedStoreMutants: readonly Mutant[] = [
  ...mutantsOf(
    'src/store/check-embedded.ts',
    ['store/check-embedded'],
    [
      {
        slip: 'a file that lacks its last page counts as whole',
        text: 'const neededBytes = (lastPage + 1n) * BigInt(first.pageBytes);',
        becomes: 'const neededBytes = lastPage * BigInt(first.pageBytes);',
      },
      {
        slip: 'a file of exactly the needed length counts as damaged',
        text: 'return bytes < neededBytes ?',
        becomes: 'return bytes <= neededBytes ?',
      },
      {
        slip: 'an empty file counts as a new store',
        text: "const damage = bytes === 0 ? 'data.mdb is empty' :",
        becomes: 'const damage = bytes === 0 ? undefined :',
      },
      {
        slip: 'the needed length is computed from the smaller of the two last page numbers',
        text: 'first.lastPage > second.lastPage ? first.lastPage : second.lastPage;',
        becomes: 'first.lastPage < second.lastPage ? first.lastPage : second.lastPage;',
      },
      {
        slip: 'the entries are not checked',
        text: '(findDamageInMeta(file) ?? (await findDamageInEntries(path)));',
        becomes: 'findDamageInMeta(file);',
      },
      {
        slip: 'a store that cannot be checked in time counts as damaged',
        text: "if (killed === true || typeof code === 'string') return undefined;",
        becomes: "if (typeof code === 'string') return undefined;",
      },
      {
        slip: 'a store of another format is read',
        text: 'if (version !== VERSION) return `data.mdb has format',
        becomes: 'if (version < 0) return `data.mdb has format',
      },
      {
        slip: 'another process that is creating the store is not waited for',
        text: 'for (let look = 1; bytes === 0 && look < limits.emptyStoreLooksMax; look++) {',
        becomes:
          'for (let look = limits.emptyStoreLooksMax; bytes === 0 && look < limits.emptyStoreLooksMax; look++) {',
      },
    ],
  ),
  ...mutantsOf(
    'src/store/embedded-probe.ts',
    ['store/check-embedded'],
    [
      {
        slip: 'missing databases go unnoticed',
        text: 'if (names.length < entryCount) return',
        becomes: 'if (names.length < 0) return',
      },
      {
        slip: 'missing entries go unnoticed',
        text: 'return count === entryCount ? undefined :',
        becomes: 'return count <= entryCount ? undefined :',
      },
      {
        slip: 'damage is reported with exit status 0',
        text: 'damage === undefined ? 0 : 1;',
        becomes: '0;',
      },
    ],
  ),
  ...mutantsOf('src/store/embedded-records.ts', EMBEDDED_RECORDS, [
    {
      slip: 'the last key of a page is listed again on the next page',
      text: 'return keys.filter((key) => key !== after).slice(0, countMax);',
      becomes: 'return keys.slice(0, countMax);',
    },
    {
      slip: 'each page after the first is one key short',
      text: 'getKeys({ start, end, limit: countMax + 1 });',
      becomes: 'getKeys({ start, end, limit: countMax });',
    },
    { slip: 'a swap is done although an expectation does not hold', text: 'if (!holds) return false;', becomes: '' },
    {
      slip: 'a swap is done when only one of its expectations holds',
      text: 'const holds = keyed.every((',
      becomes: 'const holds = keyed.some((',
    },
    {
      slip: 'every change is logged, even one that is not to be told',
      text: 'value, isTold = false } of keyed',
      becomes: 'value, isTold = true } of keyed',
    },
    {
      slip: 'changes that another process has logged are not seen at once',
      text: 'this.#changes.resetReadTxn();',
      becomes: '',
    },
    {
      slip: 'records that another process has written are not seen at once',
      text: 'database.resetReadTxn();',
      becomes: '',
    },
    {
      slip: 'a position is known although the log no longer goes back that far',
      text: ' || last - known > limits.recordChangesKept;',
      becomes: ';',
    },
    {
      slip: 'the last change is never reported',
      text: 'end: positionKey(last + 1) });',
      becomes: 'end: positionKey(last) });',
    },
    {
      slip: 'a change that is already known is reported again',
      text: 'start: positionKey(known + 1),',
      becomes: 'start: positionKey(known),',
    },
    {
      slip: 'the log of changes has no bound',
      text: 'if (position > limits.recordChangesKept) this.#changes.removeSync',
      becomes: 'if (position < 0) this.#changes.removeSync',
    },
    {
      slip: 'publications kept by an earlier version are not moved',
      text: 'moved === limits.recordsAtOnceMax;) {',
      becomes: 'moved > limits.recordsAtOnceMax;) {',
    },
    { slip: 'a publication that was moved also stays in its old place', text: 'records.removeSync(key);', becomes: '' },
    {
      slip: 'a failing store rejects with an error other than `RecordStoreFault`',
      text: "throw new RecordStoreFault('the embedded store failed', { cause: await commitReason(error) });",
      becomes: 'throw error;',
      noticedBy: [...EMBEDDED_RECORDS, 'store/disk-full'],
    },
    {
      slip: 'a position after the last one counts as known',
      text: 'const isUnknown = !(known >= 0 && known <= last)',
      becomes: 'const isUnknown = !(known >= 0)',
    },
  ]),
  ...mutantsOf(
    'src/store/embedded-store.ts',
    ['store/embedded-store'],
    [
      {
        slip: 'a value that another process has written is not seen at once',
        text: ' values.resetReadTxn();',
        becomes: '',
      },
      {
        slip: 'memory that lmdb only lends is kept as the value',
        text: "const read = { kind: 'found', value: Buffer.from(value) } as const;",
        becomes: "const read = { kind: 'found', value } as const;",
      },
      {
        slip: 'a value that was read once is returned for ever',
        text: 'if (known !== undefined && known.read.value.equals(value)) return known.read;',
        becomes: 'if (known !== undefined) return known.read;',
      },
      {
        slip: 'an unchanged value is copied to a new buffer at each read',
        text: 'if (known !== undefined && known.read.value.equals(value)) return known.read;',
        becomes: '',
      },
    ],
  ),
];
