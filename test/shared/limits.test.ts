// docs/limits.md agrees with the limits; every limit is used somewhere; and the limits fit together.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { commands } from '../../src/commands.js';
import { optionsOf } from '../../src/config/option.js';
import { tokenBounds } from '../../src/auth/token-verifier.js';
import { LIST_BYTES_INLINE_MAX } from '../../src/lists/list-memory.js';
import { JOINED_EVENT_BYTES_MAX } from '../../src/exchange/exchange.js';
import { WORKERS_MAX } from '../../src/config/machine-memory.js';
import { limits, perSubject } from '../../src/shared/limits.js';
import { limitsPage } from '../docs/generated.js';
import { checkPage } from '../docs/page-check.js';
import { HOP_LINKS_MAX } from '../../src/worker/hop/intake.js';
import { workerBounds } from '../../src/primary/worker-bounds.js';
import { connectionBounds } from '../../src/http-client/connection-bounds.js';
import { hopBounds } from '../../src/worker/hop/frames.js';
import { NAME_STALE_AFTER_MS, HOST_NAMES_KEPT_MAX, NAME_LOOK_UP_MS_MAX } from '../../src/http-client/names/names.js';
import { TERMINATIONS_MS_MAX } from '../../src/relay/relay.js';
import { TERMINATIONS_PER_ORIGIN_MAX, TERMINATIONS_PER_ORIGIN_FIRST } from '../../src/session/upstream-terminations.js';
import { UNIX_SOCKET_PATH_BYTES_MAX } from '../../src/primary/hop-directory.js';
import { CONTROL_PLANE_VIRTUAL_HOSTS_MAX } from '../../src/control-plane/mcp/mcp-endpoints.js';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const values: ReadonlyMap<string, number> = new Map(Object.entries(limits));
/** With those that stand beside their algorithm. */
const bounds: ReadonlyMap<string, number> = new Map(
  Object.entries({ ...limits, ...workerBounds, ...hopBounds, ...connectionBounds }),
);

t.test('docs/limits.md is written from the limits', async (t) => checkPage(t, await limitsPage()));

t.test('every limit is used by something', async (t) => {
  const src = join(root, 'src');
  const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));
  const texts = files
    .filter((file) => !/^shared.limits\.ts$/.test(file))
    .map((file) => readFileSync(join(src, file), 'utf8').replace(/\/\/.*|\/\*[^]*?\*\//g, ''));
  const idle = [...values.keys()].filter((name) => !texts.some((text) => new RegExp(`\\b${name}\\b`).test(text)));
  t.strictSame(idle, [], `nothing but shared/limits.ts names: ${idle.join(', ')}`);
});

t.test('every limit is a whole number of something', async (t) => {
  for (const [name, value] of values) t.ok(Number.isSafeInteger(value) && value > 0, name);
});

t.test('a first delay is no longer than its longest', async (t) => {
  const firsts = [...values.keys()].filter((name) => name.endsWith('Min'));
  t.ok(firsts.length > 0);
  for (const name of firsts) {
    const longest = name.replace(/Min$/, 'Max');
    t.ok(values.get(name)! <= (values.get(longest) ?? 0), `${name} ≤ ${longest}`);
  }
});

t.test('a timer can wait for every duration', async (t) => {
  const timed = [...values].filter(([name]) => /Ms(Min|Max)?$/.test(name));
  for (const [name, value] of timed) t.ok(value < 2 ** 31, name);
});

/** `a ≤ b`: each a limit's name, or a number that other programs have set. */
const orders: readonly (readonly [small: string | number, large: string | number, why: string])[] = [
  ['upstreamConnectionIdleMs', 5_000 - 500, 'common servers close idle connections after 5 s'],
  ['messageWaitMsMax', 8_000 - 2_000, 'uWebSockets.js may close an upload that is not read from for 8 s'],
  ['upstreamSweepMs', 'upstreamConnectionIdleMs', 'an idle connection is found while it is young'],
  ['upstreamKeepAliveMarginMs', 'upstreamConnectionIdleMs', 'a margin leaves something'],
  ['upstreamRefusalBytesMax', 'upstreamMessageBytesMax', 'a refusal is no larger than an answer'],
  ['upstreamChunkLineBytesMax', 'upstreamHeaderBytesMax', 'both are lines that are kept until they are whole'],
  ['sessionRequestsInFlightMax', 'waitingMax', 'one session alone does not make a backend busy'],
  [
    limits.sessionRequestsInFlightMax,
    perSubject(limits.waitingMax),
    'one session alone does not use up the share of its subject',
  ],
  ['upstreamOriginsMax', HOST_NAMES_KEPT_MAX, 'the name of every backend in use is kept'],
  [NAME_STALE_AFTER_MS, NAME_LOOK_UP_MS_MAX, 'what is out of date serves before the look-up has failed'],
  ['upstreamConnectionIdleMs', 'upstreamConnectionIdleMsMax', 'an announcement is for more'],
  ['upstreamConnectingMax', 'upstreamConnectionsTotalMax', 'what is being opened is counted'],
  [LIST_BYTES_INLINE_MAX, 'upstreamMessageBytesMax', 'some lists are for the event loop'],
  ['upstreamMessageBytesMax', 'hopAnswerBytesMax', 'every answer of a backend can be hopped'],
  ['upstreamMessageBytesMax', 2 ** 31 - 1, 'the scanner keeps 32-bit offsets'],
  ['hopAnswerBytesMax', 2 ** 32 - 1, 'a hop says its size in 32 bits'],
  ['hopPartBytesMax', 'hopFrameBytesMax', 'a part is a frame'],
  ['hopPartBytesMax', 'hopWindowBytes', 'a part can be sent ahead'],
  [JOINED_EVENT_BYTES_MAX, 'hopFrameBytesMax', 'a last event goes in the frame of the end'],
  ['hopBatchBytes', 'hopFrameBytesMax', 'a batch is not larger than what it holds'],
  [
    'oneWayRequestMsMax',
    workerBounds.workerStopMs - workerBounds.workerExitMs,
    'a stopping worker outlives the DELETEs of its sessions',
  ],
  [TERMINATIONS_PER_ORIGIN_FIRST, TERMINATIONS_PER_ORIGIN_MAX, 'a backend that answers is told more at once'],
  [
    TERMINATIONS_MS_MAX,
    workerBounds.workerStopMs - workerBounds.workerExitMs,
    'telling backends ends before the process has to',
  ],
  ['workerRestartDelayMsMax', 'workerSettledMs', 'a worker that keeps dying is not taken for a settled one'],
  [tokenBounds.headerCharsMax, 'requestHeaderBytesMax', 'a header that cannot arrive needs no place in the cache'],
  ['userConfigBytesMax', 'cacheBytesMax', 'the largest config can be kept'],
  ['quotedCharsMax', 'userConfigBytesMax', 'a path is part of a config'],
  ['compositionBytesMax', 'userConfigBytesMax', 'a composition fits into a user config'],
  ['storeKeyBytesMax', 1_978, 'LMDB takes no longer key'],
  [UNIX_SOCKET_PATH_BYTES_MAX, 107, 'unix(7)'],
  ['peerAnswerMsMax', 'remoteAnswerMsMax', 'connecting to Redis takes a few commands'],
];

t.test('the highest values of options fit', async (t) => {
  const options = [...optionsOf(commands.dataplane.options), ...optionsOf(commands['control-plane'].options)];
  const highest = [
    ['stream-keep-alive', '14500ms', 'a comment line at least every 15 s, the coarse timer included'],
    ['max-body-bytes', `${2 ** 31}B`, 'the scanner keeps 32-bit offsets'],
    ['max-servers', String(CONTROL_PLANE_VIRTUAL_HOSTS_MAX + 1), 'what is used by all stays compiled'],
  ] as const;
  for (const [name, tooMuch, why] of highest) {
    const found = options.filter((option) => option.name === name);
    t.ok(found.length > 0, name);
    for (const { parse } of found) t.throws(() => parse(tooMuch), why);
  }
  for (const { parse } of options.filter(({ name }) => name === 'stream-keep-alive')) {
    t.throws(() => parse('15s'), /from 100ms to 14000ms$/, 'the fault says what is accepted');
  }
});

t.test('the limits fit together', async (t) => {
  const valueOf = (item: string | number): number => (typeof item === 'number' ? item : (bounds.get(item) ?? NaN));
  for (const [small, large, why] of orders) {
    t.ok(valueOf(small) <= valueOf(large), `${small} ≤ ${large}: ${why}`);
  }
  t.ok(HOP_LINKS_MAX >= 2 * (WORKERS_MAX - 1), 'every other worker has a link, and an old one');
  // The request's headers, and the subject from its token, at two bytes a character.
  t.ok(hopBounds.hopFrameBytesMax >= 4 * limits.requestHeaderBytesMax, 'a frame holds the head of any request');
});
