// The control plane's store at scale: fills a store with servers, compositions and subjects through the registry and
// compositions, as users would, and then measures the cost of lists, of the aggregate's look-up and of a change, and the
// longest time that one command blocked Redis. Started by hand: `node build/bench/registry-scale.js [redis port]`; without a
// port it uses an LMDB folder of its own.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { pino } from 'pino';
import { Compositions } from '../src/control-plane/compositions/compositions.js';
import { Directory } from '../src/control-plane/registry/directory.js';
import type { ProbeResult } from '../src/control-plane/prober/prober.js';
import { NO_LISTS, serverListOf } from '../src/control-plane/records/server-record.js';
import { Registry } from '../src/control-plane/registry/registry.js';
import type { StoreOptions } from '../src/config/table/store-options.js';
import { limits } from '../src/shared/limits.js';
import { openRecordStore } from '../src/store/open-store.js';

export interface ScaleCounts {
  readonly servers: number;
  readonly compositions: number;
  readonly subjectsPerComposition: number;
}

/** In milliseconds: the median and the longest of several. */
export type ScaleFigures = Readonly<Record<string, { readonly medianMs: number; readonly longestMs: number }>>;

const ROUNDS = 20;
const PAGE = 100;
const AT_ONCE = 16;
const TOOLS = ['read', 'write', 'list'];

const probe: ProbeResult = {
  kind: 'reached',
  findings: {
    era: 'legacy',
    eras: ['legacy'],
    serverInfo: { name: 'scale', version: '1' },
    capabilities: { tools: {} },
    lists: {
      ...NO_LISTS,
      tools: serverListOf(new Map(TOOLS.map((name) => [name, { name, inputSchema: { type: 'object' } }]))),
    },
  },
};

/** Fills the store, which must be empty, and measures. */
export async function measureScale(store: StoreOptions, counts: ScaleCounts): Promise<ScaleFigures> {
  const logger = pino({ level: 'silent' });
  const records = await openRecordStore(store, logger);
  const directory = new Directory(records);
  const prober = { probe: async (): Promise<ProbeResult> => probe, close: (): void => {} };
  const shares = {
    serversMax: 10_000,
    compositionsMax: 10_000,
    makerCompositionsMax: 10_000,
    makerComposedBytesMax: 2 ** 40,
    makerPublishedBytesMax: 2 ** 40,
    makerConfigBytesMax: limits.userConfigBytesMax,
  };
  const { serversMax } = shares;
  const registry = new Registry({ records, directory, prober, logger, healthIntervalMs: 3_600_000, serversMax });
  const compositions = new Compositions({ records, directory, registry, quotas: shares, logger });
  try {
    await inLanes(counts.servers, async (n) => {
      const tags = [`tag-${n % 10}`];
      await registry.register({ name: serverName(n), url: `https://backend-${n}.example/mcp`, tags });
    });
    await inLanes(counts.compositions, async (n) => {
      const subjects = Array.from({ length: counts.subjectsPerComposition }, (_, s) => `subject-${n}-${s}`);
      const servers = [0, 1, 2].map((k) => ({ name: serverName((3 * n + k) % counts.servers), tools: TOOLS }));
      await compositions.create({ name: `composition ${n}`, servers, subjects }, `maker-${n % 10}`);
    });
    const cursor = (await registry.list({ limit: Math.ceil(counts.servers / 2) })).cursor;
    const half = cursor === undefined ? {} : { cursor };
    return {
      'first page of servers': await timed(() => registry.list({ limit: PAGE })),
      'page in the middle': await timed(() => registry.list({ limit: PAGE, ...half })),
      'page by tag and status': await timed(() => registry.list({ limit: PAGE, tags: ['tag-7'], status: 'active' })),
      'page by tag and status, after a change': await timed(
        () => registry.list({ limit: PAGE, tags: ['tag-7'], status: 'active' }),
        ROUNDS,
        async (round) => {
          const name = serverName(1);
          await registry.replace(name, { name, url: 'https://backend-1.example/mcp', tags: [`changed-${round}`] });
          await directory.sync();
        },
      ),
      'page of compositions': await timed(() => compositions.list({ limit: PAGE })),
      'counts of /version': await timed(() => registry.count()),
      'servers behind /mcp': await timed(async () => {
        await directory.sync();
        return directory.servers.backends;
      }),
      'composition behind /servers/{id}/mcp': await timed(() => compositions.findHost('composition 0', 'subject-0-0')),
      'server disabled and enabled, published': await timed(async (round) => {
        const name = serverName(0);
        await registry.replace(name, { name, url: 'https://backend-0.example/mcp', enabled: round % 2 === 1 });
      }),
      'everything read anew': await timed(() => new Directory(records).sync(), 3),
    };
  } finally {
    await compositions.stop();
    await registry.stop();
    await records.close();
  }
}

function serverName(n: number): string {
  return `server ${String(n).padStart(6, '0')}`;
}

async function inLanes(count: number, action: (n: number) => Promise<void>): Promise<void> {
  let next = 0;
  const lane = async (): Promise<void> => {
    while (next < count) await action(next++);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, lane));
}

async function timed(
  action: (round: number) => Promise<unknown>,
  rounds = ROUNDS,
  prepare: (round: number) => Promise<void> = async () => {},
): Promise<{ medianMs: number; longestMs: number }> {
  const times: number[] = [];
  for (let round = 0; round < rounds; round++) {
    await prepare(round);
    const startMs = performance.now();
    await action(round);
    times.push(performance.now() - startMs);
  }
  times.sort((a, b) => a - b);
  return { medianMs: times[Math.floor(rounds / 2)] ?? 0, longestMs: times.at(-1) ?? 0 };
}

async function main(port: string | undefined): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'switchyard-scale-'));
  const embedded: StoreOptions = { kind: 'embedded', path: directory };
  const redis: StoreOptions = {
    kind: 'redis',
    location: { host: '127.0.0.1', port: Number(port) },
    tls: { mode: 'plain-text' },
    username: undefined,
    password: undefined,
    staleGraceMs: 0,
  };
  const counts = { servers: 10_000, compositions: 1_000, subjectsPerComposition: 100 };
  try {
    const startMs = performance.now();
    const figures = await measureScale(port === undefined ? embedded : redis, counts);
    console.log(`filled and measured in ${Math.round((performance.now() - startMs) / 1_000)} s`, counts);
    for (const [what, { medianMs, longestMs }] of Object.entries(figures)) {
      console.log(`${what.padEnd(42)} ${medianMs.toFixed(2)} ms median, ${longestMs.toFixed(2)} ms longest`);
    }
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main(process.argv[2]);
