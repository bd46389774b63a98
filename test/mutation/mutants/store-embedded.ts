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
        slip: 'a file cut by a page is whole',
        text: 'const neededBytes = (lastPage + 1n) * BigInt(first.pageBytes);',
        becomes: 'const neededBytes = lastPage * BigInt(first.pageBytes);',
      },
      {
        slip: 'a file of exactly its length is damaged',
        text: 'return bytes < neededBytes ?',
        becomes: 'return bytes <= neededBytes ?',
      },
      {
        slip: 'an empty file is a new store',
        text: "const damage = bytes === 0 ? 'data.mdb is empty' :",
        becomes: 'const damage = bytes === 0 ? undefined :',
      },
      {
        slip: 'the pages before the last are enough',
        text: 'first.lastPage > second.lastPage ? first.lastPage : second.lastPage;',
        becomes: 'first.lastPage < second.lastPage ? first.lastPage : second.lastPage;',
      },
      {
        slip: 'entries are not read',
        text: '(findDamageInMeta(file) ?? (await findDamageInEntries(path)));',
        becomes: 'findDamageInMeta(file);',
      },
      {
        slip: 'a store that cannot be read in time is damaged',
        text: "if (killed === true || typeof code === 'string') return undefined;",
        becomes: "if (typeof code === 'string') return undefined;",
      },
      {
        slip: 'another format is read',
        text: 'if (version !== VERSION) return `data.mdb has format',
        becomes: 'if (version < 0) return `data.mdb has format',
      },
      {
        slip: 'a process that makes the store is not waited for',
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
        slip: 'databases that cannot be found are not missed',
        text: 'if (names.length < entryCount) return',
        becomes: 'if (names.length < 0) return',
      },
      {
        slip: 'entries that cannot be found are not missed',
        text: 'return count === entryCount ? undefined :',
        becomes: 'return count <= entryCount ? undefined :',
      },
      {
        slip: 'damage is told, and the status says that all is well',
        text: 'damage === undefined ? 0 : 1;',
        becomes: '0;',
      },
    ],
  ),
  ...mutantsOf('src/store/embedded-records.ts', EMBEDDED_RECORDS, [
    {
      slip: 'the last key of a page comes again',
      text: 'return keys.filter((key) => key !== after).slice(0, countMax);',
      becomes: 'return keys.slice(0, countMax);',
    },
    {
      slip: 'a page after the first is one short',
      text: 'getKeys({ start, end, limit: countMax + 1 });',
      becomes: 'getKeys({ start, end, limit: countMax });',
    },
    { slip: 'a swap needs no expectation to hold', text: 'if (!holds) return false;', becomes: '' },
    {
      slip: 'a swap needs one expectation to hold',
      text: 'const holds = keyed.every((',
      becomes: 'const holds = keyed.some((',
    },
    {
      slip: 'all changes are told',
      text: 'value, isTold = false } of keyed',
      becomes: 'value, isTold = true } of keyed',
    },
    { slip: 'changes of another process are not seen', text: 'this.#changes.resetReadTxn();', becomes: '' },
    { slip: 'records of another process are not seen', text: 'database.resetReadTxn();', becomes: '' },
    {
      slip: 'the log goes back further than it is kept',
      text: ' || last - known > limits.recordChangesKept;',
      becomes: ';',
    },
    {
      slip: 'the last change is never told',
      text: 'end: positionKey(last + 1) });',
      becomes: 'end: positionKey(last) });',
    },
    {
      slip: 'a change is told twice',
      text: 'start: positionKey(known + 1),',
      becomes: 'start: positionKey(known),',
    },
    {
      slip: 'changes are kept without bound',
      text: 'if (position > limits.recordChangesKept) this.#changes.removeSync',
      becomes: 'if (position < 0) this.#changes.removeSync',
    },
    {
      slip: 'only some of what an earlier version kept is moved',
      text: 'moved === limits.recordsAtOnceMax;) {',
      becomes: 'moved > limits.recordsAtOnceMax;) {',
    },
    { slip: 'what was moved stays where it was', text: 'records.removeSync(key);', becomes: '' },
    {
      slip: 'a store that fails rejects with an error of its own',
      text: "throw new RecordStoreFault('the embedded store failed', { cause: await commitReason(error) });",
      becomes: 'throw error;',
      noticedBy: [...EMBEDDED_RECORDS, 'store/disk-full'],
    },
    {
      slip: 'a position of the future is known',
      text: 'const isUnknown = !(known >= 0 && known <= last)',
      becomes: 'const isUnknown = !(known >= 0)',
    },
  ]),
  ...mutantsOf(
    'src/store/embedded-store.ts',
    ['store/embedded-store'],
    [
      { slip: 'what another process wrote is not seen at once', text: ' values.resetReadTxn();', becomes: '' },
      {
        slip: 'memory that is only lent is kept',
        text: "const read = { kind: 'found', value: Buffer.from(value) } as const;",
        becomes: "const read = { kind: 'found', value } as const;",
      },
      {
        slip: 'a value that was read once is the value for ever',
        text: 'if (known !== undefined && known.read.value.equals(value)) return known.read;',
        becomes: 'if (known !== undefined) return known.read;',
      },
      {
        slip: 'the same value is a new buffer each time',
        text: 'if (known !== undefined && known.read.value.equals(value)) return known.read;',
        becomes: '',
      },
    ],
  ),
];
