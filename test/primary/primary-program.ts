// runPrimary as a program of its own, for tests that need its log, its exit status, or to send it signals.
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
  /** The PATH to look for programs in. */
  readonly path?: string;
  /** A file with the options that a reload reads; those of the start when it is not there. */
  readonly nextOptions?: string;
  readonly isOnTerminal?: boolean;
  /** What is wrong with the store. */
  readonly storeDamage?: string;
}

const plan = JSON.parse(process.argv[2] ?? '') as ProgramPlan;
const { options, journal, stubs, bootstrapModule, notifySocket, watchdogMs, path, storeDamage, nextOptions } = plan;
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
    if (storeDamage !== undefined) throw new Error(storeDamage);
  },
});
