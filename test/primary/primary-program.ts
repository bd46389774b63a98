// runPrimary as a separate program, for tests that need its log or its exit status, or send it signals.
import { readFileSync } from 'node:fs';
import { runPrimary } from '../../src/primary/run-primary.js';
import type { DataplaneOptions } from '../../src/config/dataplane-options.js';
import { stubEnvironment, stubModule, type StubPlan } from './stub-worker.js';

export interface ProgramPlan {
  readonly options: DataplaneOptions;
  readonly journal: string;
  readonly stubs: readonly StubPlan[];
  readonly bootstrapModule?: string;
  readonly notifySocket?: string;
  readonly watchdogMs?: number;
  /** The PATH in which programs are looked up. */
  readonly path?: string;
  /** A file with the options that a reload reads; without it, a reload reads the initial options again. */
  readonly nextOptions?: string;
  readonly isOnTerminal?: boolean;
  /** The damage that the check of the store reports. */
  readonly storeDamage?: string;
  /** With it, the check fails as a file system does. */
  readonly storeErrorCode?: string;
}

const plan = JSON.parse(process.argv[2] ?? '') as ProgramPlan;
const {
  options,
  journal,
  stubs,
  bootstrapModule,
  notifySocket,
  watchdogMs,
  path,
  storeDamage,
  storeErrorCode,
  nextOptions,
} = plan;
const workerEnvironment = stubEnvironment(journal, stubs);
process.exitCode = await runPrimary(options, {
  workerModule: stubModule,
  launcher: [],
  readOptions: () =>
    nextOptions === undefined ? options : (JSON.parse(readFileSync(nextOptions, 'utf8')) as DataplaneOptions),
  isOnTerminal: plan.isOnTerminal ?? false,
  bootstrapModule,
  workerEnvironment: path === undefined ? workerEnvironment : { ...workerEnvironment, PATH: path },
  serviceManager: { notifySocket, watchdogMs },
  chooseListener: async (read) => ({ options: read, warnings: [] }),
  checkStore: async () => {
    if (storeDamage !== undefined)
      throw Object.assign(new Error(storeDamage), storeErrorCode !== undefined && { code: storeErrorCode });
  },
});
