// Slips in the Redis store: its knowledge of configs, and the records.
import { mutantsOf, type Mutant } from '../mutant.js';

const REDIS_RECORDS = ['store/redis-records', 'store/record-store'];

export const redisStoreMutants: readonly Mutant[] = [
  ...mutantsOf(
    'src/store/redis-cluster-link.ts',
    ['integration/redis-cluster'],
    [
      {
        slip: 'a node that is lost is not missed',
        text: 'this.#lose(`${name}: ${reason}`, isGarbled)',
        becomes: 'void reason',
      },
      { slip: 'what moves is not asked for', text: "isAsking = kind === 'ASK';", becomes: '' },
      { slip: 'redirections are answers', text: 'redirection === null ||', becomes: 'redirection !== undefined ||' },
      { slip: 'changes go unheard', text: 'this.#events.onChanged(keys)', becomes: 'void keys' },
      { slip: 'one node has every key', text: 'const slot = slotOf(key);', becomes: 'const slot = slotOf(key) % 7;' },
    ],
  ),
  ...mutantsOf(
    'src/store/redis-place.ts',
    ['integration/redis-failover'],
    [
      { slip: 'the first sentinel must be there', text: 'await Promise.any(asked)', becomes: 'await asked[0]!' },
      { slip: 'a replica is taken for the Redis', text: "if (role !== 'master')", becomes: "if (role === 'sentinel')" },
      {
        slip: 'a name that is not known is an address',
        text: 'if (!Array.isArray(answer))',
        becomes: 'if (answer === 1)',
      },
    ],
  ),
  ...mutantsOf(
    'src/store/redis-link.ts',
    ['store/redis-link', 'store/redis-store', 'store/redis-replies'],
    [
      { slip: 'a Redis that loads its data is live', text: '    await data.ping();', becomes: '' },
      { slip: 'the deadline of the opening ends a live link', text: '    clearTimeout(this.#timer);', becomes: '' },
      {
        slip: 'a refused command ends the link',
        text: 'if (!(error instanceof ReplyError)) this.#lose(messageOf(error));',
        becomes: 'this.#lose(messageOf(error));',
      },
      {
        slip: 'a silent command leaves the link live',
        text: 'if (!(error instanceof ReplyError)) this.#lose(messageOf(error));',
        becomes: '',
      },
      {
        slip: 'only the connection for data is looked after',
        text: 'await Promise.all([this.#connections?.data.ping(), this.#connections?.changes.ping()]);',
        becomes: 'await this.#connections?.data.ping();',
      },
      {
        slip: 'only the connection for changes is looked after',
        text: 'await Promise.all([this.#connections?.data.ping(), this.#connections?.changes.ping()]);',
        becomes: 'await this.#connections?.changes.ping();',
      },
      {
        slip: 'health is looked at once',
        text: "if (this.#state === 'live') this.#scheduleHealthCheck();",
        becomes: '',
      },
      { slip: 'a flush is not heard', text: 'else this.#events.onFlushed();', becomes: '' },
      {
        slip: 'a closed connection is not noticed',
        text: "connection.on('close', () => this.#lose('Redis closed the connection'));",
        becomes: '',
      },
      {
        slip: 'the connection for changes outlives the link',
        text: 'disconnect(this.#connections.changes);',
        becomes: '',
      },
      {
        slip: 'changes are not asked for',
        text: "await data.client('TRACKING', 'ON', 'REDIRECT', id);",
        becomes: ';',
      },
    ],
  ),
  ...mutantsOf(
    'src/store/redis-replies.ts',
    ['store/redis-replies'],
    [
      {
        slip: 'the rest of a head comes without its beginning',
        text: 'lf === -1 || isContinued || this.#isCut',
        becomes: 'lf === -1 || this.#isCut',
      },
      { slip: 'a value of any size is read', text: 'length > this.#valueBytesMax', becomes: 'length > Infinity' },
      { slip: 'a surplus reply is nothing odd', text: 'error.message.startsWith(UNASKED_BEGINNING)', becomes: 'false' },
    ],
  ),
  ...mutantsOf(
    'src/store/redis-store.ts',
    ['store/redis-store', 'store/redis-replies'],
    [
      {
        slip: 'what was read before Redis was lost is fresh when it is back',
        text: 'if (known?.term !== this.#term) {',
        becomes: 'if (known === undefined) {',
      },
      {
        slip: 'a subject that is called as a record is reads it',
        text: 'return isRecordName(subject) ? unencodable : this.#read(subject);',
        becomes: 'return this.#read(subject);',
      },
      {
        slip: 'a record of a name that has no key throws',
        text: 'return encodeStoreKey(recordKey) && redisKey(',
        becomes: 'return redisKey(',
      },
      {
        slip: 'who writes reads the old value',
        text: '// The invalidation arrives only later, and a write without a reply may have been done.',
        becomes: 'return;',
      },
      {
        slip: 'a read that a change overtook is joined',
        text: '    this.#pending.delete(subject);',
        becomes: '',
      },
      {
        slip: 'a read that a change overtook is remembered',
        text: 'if (this.#settle(subject, answer)) this.#known.set(subject, { read, term });',
        becomes: 'this.#settle(subject, answer); this.#known.set(subject, { read, term });',
      },
      {
        slip: 'reads wait for Redis without bound',
        text: 'if (this.#pending.size >= limits.redisReadsInFlightMax) return overloaded;',
        becomes: '',
      },
      {
        slip: 'who reads what is being read asks again',
        text: 'if (pending !== undefined) return pending;',
        becomes: '',
      },
      {
        slip: 'what is known serves for ever',
        text: 'performance.now() - endedAtMs <= this.#options.staleGraceMs;',
        becomes: 'performance.now() - endedAtMs >= 0;',
      },
      {
        slip: 'what is known does not serve at all',
        text: 'const isUsable = endedAtMs === undefined ||',
        becomes: 'const isUsable = endedAtMs === undefined && ',
      },
      {
        slip: 'after a flush what was read is fresh',
        text: '        this.#known.clear();',
        becomes: '',
      },
      {
        slip: 'after a flush a read under way is remembered',
        text: '        this.#pending.clear();',
        becomes: '',
      },
      {
        slip: 'a value keeps all that came with it',
        text: "return { kind: 'found', value: Buffer.from(value) };",
        becomes: "return { kind: 'found', value };",
      },
      {
        slip: 'the same reason is told at each try',
        text: 'if (isNew) this.#logger',
        becomes: 'this.#logger',
      },
      {
        slip: 'what was read of a garbled Redis is used on',
        text: 'if (isGarbled) this.#known.clear();',
        becomes: '',
      },
      {
        slip: 'a value that is too large is asked for with each request',
        text: 'if (isLatest) this.#known.set(subject, { read: tooLarge, term });',
        becomes: '',
      },
      {
        slip: 'a refusal of Redis passes for a lost one',
        text: 'if (!(error instanceof ReplyError)) return this.#lastKnown(subject);',
        becomes: 'return this.#lastKnown(subject);',
      },
      {
        slip: 'the same value is a new buffer after a loss',
        text: "if (known?.kind === 'found' && known.value.equals(value)) return known;",
        becomes: '',
      },
    ],
  ),
  ...mutantsOf('src/store/redis-records.ts', REDIS_RECORDS, [
    {
      slip: 'the last key of a page comes again',
      text: "const start = after === '' ? `[${prefix}` : `(${after}`;",
      becomes: "const start = after === '' ? `[${prefix}` : `[${after}`;",
    },
    {
      slip: 'records are read in one command, however many',
      text: 'start += limits.recordsPerReadMax) {',
      becomes: 'start += keys.length) {',
    },
    {
      slip: 'some of many records are left out',
      text: '.slice(start, start + limits.recordsPerReadMax)',
      becomes: '.slice(start, start + limits.recordsPerReadMax - 1)',
    },
    {
      slip: 'a refused command ends the connection',
      text: 'if (error instanceof ReplyError) throw new RecordStoreFault(`Redis refused the command: ${reason}`);',
      becomes: '',
    },
    {
      slip: 'a silent Redis is kept',
      text: '      this.#lose(connection, reason);',
      becomes: '',
    },
    {
      slip: 'a lost Redis is not tried again',
      text: 'this.#timer = setTimeout(() => void this.#connect(), delayMs).unref();',
      becomes: '',
    },
    {
      slip: 'what an old connection says ends the new one',
      text: '#lose(connection: RecordConnection | undefined, reason: string): void {',
      becomes:
        '#lose(connection: RecordConnection | undefined, reason: string): void { if (this.#connection) connection = this.#connection;',
    },
    {
      slip: 'a Redis that loads its data is live',
      text: 'await connection.ping();',
      becomes: '',
    },
    {
      slip: 'what an earlier version kept is not moved',
      text: 'await moveEarlierRecords(connection, this.#logger);',
      becomes: '',
      noticedBy: ['store/redis-record-move'],
    },
    {
      slip: 'two keys of one list are listed in two',
      text: 'const index = keys.findIndex((other) => other.equals(key));',
      becomes: 'const index = keys.findIndex((other) => other === key);',
    },
  ]),
  ...mutantsOf('src/store/redis-record-scripts.ts', REDIS_RECORDS, [
    {
      slip: 'a swap looks at the first expectation only',
      text: "if (stored and '=' .. stored or '') ~= ARGV[5 * i + 2] then return 0 end",
      becomes: "if i == 1 and (stored and '=' .. stored or '') ~= ARGV[5 * i + 2] then return 0 end",
    },
    {
      slip: 'a position without its epoch counts on',
      text: "if kept > 0 and (redis.call('EXISTS', position) == 0 or redis.call('EXISTS', epoch) == 0) then",
      becomes: "if kept > 0 and redis.call('EXISTS', position) == 0 then",
    },
    {
      slip: 'a removed record stays listed',
      text: "if value == '' then redis.call('ZREM', KEYS[count + list], name)",
      becomes: "if value == '' then",
    },
    {
      slip: 'a position of another epoch is known',
      text: 'if epoch ~= ARGV[1] or known > last',
      becomes: 'if known > last',
    },
    {
      slip: 'the log goes back further than it is kept',
      text: " or last - known > redis.call('XLEN', KEYS[3]) then",
      becomes: ' then',
    },
    {
      slip: 'a change is told twice',
      text: "redis.call('XRANGE', KEYS[3], (known + 1) .. '-0', '+')}",
      becomes: "redis.call('XRANGE', KEYS[3], known .. '-0', '+')}",
    },
    {
      slip: 'changes are kept without bound',
      text: "redis.call('XADD', log, 'MAXLEN', '=', kept,",
      becomes: "redis.call('XADD', log,",
    },
    {
      slip: 'what a newer control plane wrote is overwritten by what is moved',
      text: "if redis.call('SET', KEYS[2], ARGV[2], 'NX') then",
      becomes: "if redis.call('SET', KEYS[2], ARGV[2]) then",
      noticedBy: ['store/redis-record-move'],
    },
    {
      slip: 'what is moved comes again after the move is done',
      text: "if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end",
      becomes: '',
      noticedBy: ['store/redis-record-move'],
    },
  ]),
  ...mutantsOf(
    'src/store/redis-record-move.ts',
    ['store/redis-record-move'],
    [
      {
        slip: 'only the first fields are moved',
        text: "} while (cursor !== '0');",
        becomes: "} while (cursor === '');",
      },
      { slip: 'the move is not marked', text: "await redis.set(MOVED_KEY, '1');", becomes: '' },
      { slip: 'the earlier layout stays', text: 'await redis.unlink(EARLIER_RECORDS_KEY);', becomes: '' },
      {
        slip: 'records of an earlier version that still runs are moved over newer ones',
        text: 'if ((await redis.exists(MOVED_KEY)) === 1) {',
        becomes: 'if ((await redis.exists(MOVED_KEY)) === 2) {',
      },
      { slip: 'what was published is overwritten', text: 'await redis.setnx(', becomes: 'await redis.set(' },
    ],
  ),
  ...mutantsOf(
    'src/store/redis-slot.ts',
    ['store/redis-slot'],
    [
      { slip: 'empty braces are a tag', text: 'return close > open + 1 ?', becomes: 'return close > open ?' },
      {
        slip: 'a tag may hold the end of a tag',
        text: 'if (part.length > 0 && !part.includes(CLOSE)) return part;',
        becomes: 'if (part.length > 0) return part;',
      },
    ],
  ),
  ...mutantsOf(
    'src/store/redis-record-layout.ts',
    ['store/redis-records', 'store/record-store', 'store/redis-slot'],
    [
      {
        slip: "a subject's key may be one of ours",
        text: 'const OURS = Buffer.from([0xff]);',
        becomes: 'const OURS = Buffer.from([]);',
      },
      {
        slip: 'what is published is not kept beside its config',
        text: "Buffer.from('{'), slotTag(bytes), Buffer.from('}published/'), bytes]);",
        becomes: "Buffer.from('published/'), bytes]);",
      },
    ],
  ),
  ...mutantsOf(
    'src/store/redis-connection.ts',
    ['store/redis-store', 'store/redis-records', 'spec/redis-options'],
    [
      {
        slip: 'commands wait for a Redis that is not there',
        text: 'enableOfflineQueue: false,',
        becomes: 'enableOfflineQueue: true,',
      },
      { slip: 'a command waits for ever', text: 'commandTimeout: limits.redisCommandMsMax,', becomes: '' },
      {
        slip: 'the certificate of Redis is held against those of the system',
        text: 'ca: tls.trustBundle, ',
        becomes: '',
        noticedBy: ['spec/redis-options'],
      },
    ],
  ),
];
