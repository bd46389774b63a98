// A control plane without HTTP: registry and compositions on one store, which another process could also have open.
import { pino } from 'pino';
import type { Test } from 'tap';
import type { StoreOptions } from '../../src/config/table/store-options.js';
import { Compositions } from '../../src/control-plane/compositions/compositions.js';
import { Directory } from '../../src/control-plane/registry/directory.js';
import { CredentialedProber } from '../../src/control-plane/prober/probe-thread.js';
import { DeadlineWheel } from '../../src/fair/deadline-wheel.js';
import { createCredentials } from '../../src/credentials/oauth-source.js';
import { Http1Upstream } from '../../src/http-client/http1-upstream.js';
import { Names } from '../../src/http-client/names/names.js';
import { Prober } from '../../src/control-plane/prober/prober.js';
import { Registry } from '../../src/control-plane/registry/registry.js';
import { openRecordStore } from '../../src/store/open-store.js';
import type { RecordStore } from '../../src/store/record-store.js';
import { composerQuotas } from '../support/composer-quotas.js';
import { startRedis } from '../support/redis.js';
import { createScratchDirectory } from '../support/scratch-directory.js';

/** Waited out by failing tests alone. */
const AMPLE_MS = 120_000;
export const NEVER_MS = 3_600_000;

export interface Stage {
  readonly records: RecordStore;
  readonly directory: Directory;
  readonly registry: Registry;
  readonly compositions: Compositions;
  /** Log lines, as JSON text. */
  readonly lines: readonly string[];
}

export interface StageSettings {
  readonly repairIntervalMs?: number;
  readonly healthIntervalMs?: number;
  readonly quotas?: Parameters<typeof composerQuotas>[0];
  /** Replaces the stage's own store. */
  readonly records?: RecordStore;
}

export const stores: Readonly<Record<string, (t: Test) => Promise<StoreOptions>>> = {
  embedded: async (t) => ({ kind: 'embedded', path: createScratchDirectory(t) }),
  redis: async (t) => (await startRedis(t)).storeOptions,
};

export async function setStage(t: Test, options: StoreOptions, settings: StageSettings = {}): Promise<Stage> {
  const lines: string[] = [];
  const logger = pino({ level: 'debug' }, { write: (line: string) => void lines.push(line) });
  const records = settings.records ?? (await openRecordStore(options, logger));
  const prober = new CredentialedProber(
    new Prober({ timeoutMs: AMPLE_MS }),
    createCredentials(
      { mode: 'plain-text-or-tls', secretsDirectory: undefined, secretKeys: [], connectUrl: undefined },
      { http: new Http1Upstream({ connectTimeoutMs: AMPLE_MS, names: new Names() }), deadlines: new DeadlineWheel() },
    ),
  );
  const { healthIntervalMs = NEVER_MS, repairIntervalMs = NEVER_MS } = settings;
  const directory = new Directory(records);
  const quotas = composerQuotas(settings.quotas);
  const { serversMax } = quotas;
  const registry = new Registry({ records, directory, prober, logger, healthIntervalMs, serversMax });
  const compositions = new Compositions({ records, directory, registry, quotas, logger, repairIntervalMs });
  t.teardown(async () => {
    await compositions.stop();
    await registry.stop();
    if (settings.records === undefined) await records.close();
  });
  return { records, directory, registry, compositions, lines };
}
