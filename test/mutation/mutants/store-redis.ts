// Slips in the Redis store: its knowledge of configs, and the records.
import { mutantsOf, type Mutant } from '../mutant.js';

const REDIS_RECORDS = ['store/redis-records', 'store/record-store'];

export const redisStoreMutants: readonly Mutant[] = [
  ...mutantsOf(
    'src/store/redis-cluster-link.ts',
    ['integration/redis-cluster'],
    [
      {
        slip: 'the loss of a cluster node goes unnoticed',
        text: 'this.#lose(`${name}: ${reason}`, isGarbled)',
        becomes: 'void reason',
      },
      {
        slip: 'a slot that is being moved is not asked for with `ASKING`',
        text: "isAsking = kind === 'ASK';",
        becomes: '',
      },
      {
        slip: 'a redirection is thrown as an error instead of being followed',
        text: 'redirection === null ||',
        becomes: 'redirection !== undefined ||',
      },
      {
        slip: 'changes reported by a cluster node go unheard',
        text: 'this.#events.onChanged(keys)',
        becomes: 'void keys',
      },
      {
        slip: 'nearly all keys are assigned to the wrong slot',
        text: 'const slot = redisSlotOf(key);',
        becomes: 'const slot = redisSlotOf(key) % 7;',
      },
    ],
  ),
  ...mutantsOf(
    'src/store/redis-place.ts',
    ['integration/redis-failover'],
    [
      {
        slip: 'the first Sentinel must answer, even if others do',
        text: 'await Promise.any(asked)',
        becomes: 'await asked[0]!',
      },
      {
        slip: 'a replica is used as if it were the master',
        text: "if (role !== 'master')",
        becomes: "if (role === 'sentinel')",
      },
      {
        slip: 'a name that the Sentinel does not know is taken for an address',
        text: 'if (!Array.isArray(answer))',
        becomes: 'if (answer === 1)',
      },
    ],
  ),
  ...mutantsOf(
    'src/store/redis-link.ts',
    ['store/redis-link', 'store/redis-store', 'store/redis-replies'],
    [
      {
        slip: 'a link to a Redis that is still loading its data counts as live',
        text: '    await data.ping();',
        becomes: '',
      },
      {
        slip: 'the deadline for opening a link ends it when it is live',
        text: '    clearTimeout(this.#timer);',
        becomes: '',
      },
      {
        slip: 'a refused command ends the link',
        text: 'if (!(error instanceof ReplyError)) this.#lose(messageOf(error));',
        becomes: 'this.#lose(messageOf(error));',
      },
      {
        slip: 'a command that gets no answer leaves the link live',
        text: 'if (!(error instanceof ReplyError)) this.#lose(messageOf(error));',
        becomes: '',
      },
      {
        slip: 'only the connection for data is checked for health',
        text: 'await Promise.all([this.#connections?.data.ping(), this.#connections?.changes.ping()]);',
        becomes: 'await this.#connections?.data.ping();',
      },
      {
        slip: 'only the connection for changes is checked for health',
        text: 'await Promise.all([this.#connections?.data.ping(), this.#connections?.changes.ping()]);',
        becomes: 'await this.#connections?.changes.ping();',
      },
      {
        slip: 'the health of a link is checked only once',
        text: "if (this.#state === 'live') this.#scheduleHealthCheck();",
        becomes: '',
      },
      { slip: 'a flush of Redis goes unheard', text: 'else this.#events.onFlushed();', becomes: '' },
      {
        slip: 'a closed connection is not noticed',
        text: "connection.on('close', () => this.#lose('Redis closed the connection'));",
        becomes: '',
      },
      {
        slip: 'the connection for changes stays open when the link ends',
        text: 'disconnectQuietly(this.#connections.changes);',
        becomes: '',
      },
      {
        slip: 'Redis is not asked to report changes',
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
        slip: 'the head of a reply that came in two pieces is passed on without its beginning',
        text: 'lf === -1 || isContinued || this.#isCut',
        becomes: 'lf === -1 || this.#isCut',
      },
      { slip: 'a value of any size is read', text: 'length > this.#valueBytesMax', becomes: 'length > Infinity' },
      {
        slip: 'a surplus reply does not show that the connection is garbled',
        text: 'error.message.startsWith(UNASKED_BEGINNING)',
        becomes: 'false',
      },
    ],
  ),
  ...mutantsOf(
    'src/store/redis-store.ts',
    ['store/redis-store', 'store/redis-replies'],
    [
      {
        slip: 'values read before Redis was lost count as fresh when it is back',
        text: 'if (known?.term !== this.#term) {',
        becomes: 'if (known === undefined) {',
      },
      {
        slip: "a subject that is spelled like a record's name reads that record",
        text: 'return isRecordName(subject) ? unencodable : this.#read(subject);',
        becomes: 'return this.#read(subject);',
      },
      {
        slip: 'reading a record whose name cannot be a key throws',
        text: 'return encodeStoreKey(recordKey) && redisRecordKey(',
        becomes: 'return redisRecordKey(',
      },
      {
        slip: 'after a write the old value is still read',
        text: '// The invalidation arrives only later, and a write without a reply may have been done.',
        becomes: 'return;',
      },
      {
        slip: 'a read joins an earlier one that a change has overtaken',
        text: '    this.#pending.delete(subject);',
        becomes: '',
      },
      {
        slip: 'the result of a read that a change has overtaken is remembered',
        text: 'if (this.#settle(subject, answer)) this.#known.set(subject, { read, term });',
        becomes: 'this.#settle(subject, answer); this.#known.set(subject, { read, term });',
      },
      {
        slip: 'the number of reads that wait for Redis has no bound',
        text: 'if (this.#pending.size >= limits.redisReadsInFlightMax) return overloaded;',
        becomes: '',
      },
      {
        slip: 'two reads of one subject at the same time ask Redis twice',
        text: 'if (pending !== undefined) return pending;',
        becomes: '',
      },
      {
        slip: 'known values are used for ever after Redis is lost',
        text: 'performance.now() - endedAtMs <= this.#options.staleGraceMs;',
        becomes: 'performance.now() - endedAtMs >= 0;',
      },
      {
        slip: 'known values are not used at all after Redis is lost',
        text: 'const isUsable = endedAtMs === undefined ||',
        becomes: 'const isUsable = endedAtMs === undefined && ',
      },
      {
        slip: 'values read before a flush count as fresh',
        text: '        this.#known.clear();',
        becomes: '',
      },
      {
        slip: 'the result of a read that a flush has overtaken is remembered',
        text: '        this.#pending.clear();',
        becomes: '',
      },
      {
        slip: 'a remembered value keeps its whole socket buffer in memory',
        text: "return { kind: 'found', value: Buffer.from(value) };",
        becomes: "return { kind: 'found', value };",
      },
      {
        slip: 'the same reason is logged at each retry',
        text: 'if (isNew) this.#logger',
        becomes: 'this.#logger',
      },
      {
        slip: 'values from a Redis with garbled replies are still used',
        text: 'if (isGarbled) this.#known.clear();',
        becomes: '',
      },
      {
        slip: 'a value that is too large is requested again at each read',
        text: 'if (isLatest) this.#known.set(subject, { read: tooLarge, term });',
        becomes: '',
      },
      {
        slip: 'an error reply of Redis is handled like the loss of Redis',
        text: 'if (!(error instanceof ReplyError)) return this.#lastKnown(subject);',
        becomes: 'return this.#lastKnown(subject);',
      },
      {
        slip: 'an unchanged value gets a new buffer after Redis was lost',
        text: "if (known?.kind === 'found' && known.value.equals(value)) return known;",
        becomes: '',
      },
    ],
  ),
  ...mutantsOf('src/store/redis-records.ts', REDIS_RECORDS, [
    {
      slip: 'the last key of a page is listed again on the next page',
      text: "const start = after === '' ? `[${prefix}` : `(${after}`;",
      becomes: "const start = after === '' ? `[${prefix}` : `[${after}`;",
    },
    {
      slip: 'all records are read in one command, however many there are',
      text: 'start += limits.recordsPerReadMax) {',
      becomes: 'start += keys.length) {',
    },
    {
      slip: 'one record of each full batch is left out',
      text: '.slice(start, start + limits.recordsPerReadMax)',
      becomes: '.slice(start, start + limits.recordsPerReadMax - 1)',
    },
    {
      slip: 'a refused command of the record store ends its connection',
      text: 'if (error instanceof ReplyError) throw new RecordStoreFault(`Redis refused the command: ${reason}`);',
      becomes: '',
    },
    {
      slip: 'the connection to a Redis that does not answer is kept',
      text: '      this.#lose(connection, reason);',
      becomes: '',
    },
    {
      slip: 'a Redis that was lost is not connected to again',
      text: 'this.#timer = setTimeout(() => void this.#connect(), delayMs).unref();',
      becomes: '',
    },
    {
      slip: 'a fault of an old connection ends the new one',
      text: '#lose(connection: RecordConnection | undefined, reason: string): void {',
      becomes:
        '#lose(connection: RecordConnection | undefined, reason: string): void { if (this.#connection) connection = this.#connection;',
    },
    {
      slip: 'a record store whose Redis is still loading its data counts as live',
      text: 'await connection.ping();',
      becomes: '',
    },
    {
      slip: 'records kept by an earlier version are not moved',
      text: 'await moveEarlierRecords(connection, this.#logger);',
      becomes: '',
      noticedBy: ['store/redis-record-move'],
    },
    {
      slip: "two keys of one list pass the list's key to the script twice",
      text: 'const index = keys.findIndex((other) => other.equals(key));',
      becomes: 'const index = keys.findIndex((other) => other === key);',
    },
  ]),
  ...mutantsOf('src/store/redis-record-scripts.ts', REDIS_RECORDS, [
    {
      slip: 'a swap checks only its first expectation',
      text: "if (stored and '=' .. stored or '') ~= ARGV[5 * i + 2] then return 0 end",
      becomes: "if i == 1 and (stored and '=' .. stored or '') ~= ARGV[5 * i + 2] then return 0 end",
    },
    {
      slip: 'positions are continued although their epoch is missing',
      text: "if kept > 0 and (redis.call('EXISTS', position) == 0 or redis.call('EXISTS', epoch) == 0) then",
      becomes: "if kept > 0 and redis.call('EXISTS', position) == 0 then",
    },
    {
      slip: 'a removed record stays listed',
      text: "if value == '' then redis.call('ZREM', KEYS[count + list], name)",
      becomes: "if value == '' then",
    },
    {
      slip: 'a position of another epoch counts as known',
      text: 'if epoch ~= ARGV[1] or known > last',
      becomes: 'if known > last',
    },
    {
      slip: 'a position is known although the log no longer goes back that far',
      text: " or last - known > redis.call('XLEN', KEYS[3]) then",
      becomes: ' then',
    },
    {
      slip: 'a change that is already known is reported again',
      text: "redis.call('XRANGE', KEYS[3], (known + 1) .. '-0', '+')}",
      becomes: "redis.call('XRANGE', KEYS[3], known .. '-0', '+')}",
    },
    {
      slip: 'the log of changes has no bound',
      text: "redis.call('XADD', log, 'MAXLEN', '=', kept,",
      becomes: "redis.call('XADD', log,",
    },
    {
      slip: 'a record that is moved overwrites what a newer control plane wrote',
      text: "if redis.call('SET', KEYS[2], ARGV[2], 'NX') then",
      becomes: "if redis.call('SET', KEYS[2], ARGV[2]) then",
      noticedBy: ['store/redis-record-move'],
    },
    {
      slip: 'a record is moved again after the move is complete',
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
        slip: 'only the first batch of fields is moved',
        text: "} while (cursor !== '0');",
        becomes: "} while (cursor === '');",
      },
      { slip: 'the move is not marked as complete', text: "await redis.set(MOVED_KEY, '1');", becomes: '' },
      {
        slip: 'the earlier layout is not removed after the move',
        text: 'await redis.unlink(EARLIER_RECORDS_KEY);',
        becomes: '',
      },
      {
        slip: 'records of an earlier version that still runs are moved over newer ones',
        text: 'if ((await redis.exists(MOVED_KEY)) === 1) {',
        becomes: 'if ((await redis.exists(MOVED_KEY)) === 2) {',
      },
      {
        slip: 'a publication that is moved overwrites a newer one',
        text: 'await redis.setnx(',
        becomes: 'await redis.set(',
      },
    ],
  ),
  ...mutantsOf(
    'src/store/redis-slot.ts',
    ['store/redis-slot'],
    [
      { slip: 'empty braces count as a hash tag', text: 'return close > open + 1 ?', becomes: 'return close > open ?' },
      {
        slip: 'a hash tag may contain a closing brace',
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
        slip: "a subject's key may be equal to one of the gateway's own",
        text: 'const OURS = Buffer.from([0xff]);',
        becomes: 'const OURS = Buffer.from([]);',
      },
      {
        slip: "a publication is not kept in the slot of its subject's config",
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
        slip: 'commands are queued while Redis is not connected',
        text: 'enableOfflineQueue: false,',
        becomes: 'enableOfflineQueue: true,',
      },
      { slip: 'a command to Redis has no time limit', text: 'commandTimeout: limits.redisCommandMsMax,', becomes: '' },
      {
        slip: "the certificate of Redis is checked against the system's authorities, not the configured ones",
        text: 'ca: tls.trustBundle, ',
        becomes: '',
        noticedBy: ['spec/redis-options'],
      },
    ],
  ),
];
