// Lists of many servers, and of large ones. The findings of probes are made up here, because probing is not under test.
import { pino } from 'pino';
import t, { type Test } from 'tap';
import { Directory } from '../../../src/control-plane/registry/directory.js';
import { type ProbeResult, SERVER_SELF_BYTES_MAX } from '../../../src/control-plane/prober/prober.js';
import { NO_LISTS, serverListOf } from '../../../src/control-plane/records/server-record.js';
import { Registry, type ServerQuery } from '../../../src/control-plane/registry/registry.js';
import { RECORDS_PER_READ_MAX } from '../../../src/store/record-store.js';
import { limits } from '../../../src/shared/limits.js';
import { openRecordStore } from '../../../src/store/open-store.js';
import { createScratchDirectory } from '../../support/scratch-directory.js';

async function openRegistry(t: Test, self: Readonly<Record<string, unknown>>): Promise<Registry> {
  const logger = pino({ level: 'silent' });
  const records = await openRecordStore({ kind: 'embedded', path: createScratchDirectory(t) }, logger);
  const probe: ProbeResult = {
    kind: 'reached',
    findings: {
      era: 'legacy',
      eras: ['legacy'],
      serverInfo: self,
      capabilities: self,
      lists: { ...NO_LISTS, tools: serverListOf(new Map()) },
    },
  };
  const registry = new Registry({
    serversMax: 10_000,
    records,
    directory: new Directory(records),
    prober: { probe: async () => probe, close: () => {} },
    logger,
    healthIntervalMs: 3_600_000,
  });
  t.teardown(async () => {
    await registry.stop();
    await records.close();
  });
  return registry;
}

/** The names on each page. */
async function pagesOf(registry: Registry, query: ServerQuery): Promise<string[][]> {
  const pages: string[][] = [];
  let cursor: string | undefined;
  do {
    const page = await registry.list({ ...query, ...(cursor === undefined ? {} : { cursor }) });
    pages.push(page.items.map(({ name }) => name));
    cursor = page.cursor;
  } while (cursor !== undefined);
  return pages;
}

async function registerMany(registry: Registry, count: number): Promise<string[]> {
  const names = Array.from({ length: count }, (_, n) => `server ${String(n).padStart(4, '0')}`);
  await Promise.all(
    names.map((name, n) => registry.register({ name, url: 'http://127.0.0.1:1/', tags: [n % 3 === 0 ? 'x' : 'y'] })),
  );
  return names;
}

t.test('without a limit a page has a default number of servers, and the next one the rest', async (t) => {
  const registry = await openRegistry(t, { name: 's' });
  const names = await registerMany(registry, limits.listPageMax + 5);
  const pages = await pagesOf(registry, {});
  t.same(pages, [names.slice(0, limits.listPageMax), names.slice(limits.listPageMax)]);
  const tagged = await pagesOf(registry, { tags: ['x'], status: 'active', limit: 100 });
  t.same(
    tagged.flat(),
    names.filter((_, n) => n % 3 === 0),
  );
  t.same(await registry.count(), { total: names.length, active: names.length, inactive: 0 });
});

t.test('a page of large servers ends before it is too large, and no server is left out', async (t) => {
  const registry = await openRegistry(t, { name: 'x'.repeat(SERVER_SELF_BYTES_MAX - 100) });
  const names = await registerMany(registry, 100);
  const pages = await pagesOf(registry, { limit: 1_000 });
  t.same(pages.flat(), names);
  t.ok(pages.length > 1, `${pages.length} pages`);
  const bytesPerServer = 2 * SERVER_SELF_BYTES_MAX;
  const countMax = Math.ceil(limits.listPageBytesMax / bytesPerServer) + RECORDS_PER_READ_MAX;
  for (const { length } of pages) t.ok(length <= countMax, `${length} servers`);
});
