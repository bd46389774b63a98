// Which test files a run takes, and in which order. There are three tiers:
//   test     what starts no built program, and the specification's rows on one deployment: the first answer
//   system   what starts the built programs, browsers, balancers or proxies; and the rows once more, on the other deployments
//   measure  what measures whether subjects or backends disturb each other, how long the event loop is held, or how much memory is kept
// A file's tier follows from what it starts, so that a new file has one without being entered anywhere; only files that measure are named.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { reachedModules } from './imports.js';

export type Tier = 'test' | 'system' | 'measure';
export const TIERS: readonly Tier[] = ['test', 'system', 'measure'];

const TREE = join('build', 'test');

/** With their folders, and without `.test.js`. */
const MEASURING: ReadonlySet<string> = new Set([
  'integration/control-plane-event-loop',
  'integration/event-loop',
  'integration/event-loop-floods',
  'integration/event-loop-woken',
  'integration/hostile-backends',
  'integration/hostile-token-endpoints',
  'integration/large-messages',
  'integration/memory-shares',
  'integration/overload-recovery',
  'integration/rebinding',
  'integration/sessions-full-disk',
  'integration/slow-readers-memory',
  'integration/tenants',
  'integration/tenants-bytes',
  'integration/tenants-connections',
  'integration/tenants-totals',
  'messages/uri-template-time',
  'relay/event-loop',
  'relay/event-loop-sessions',
  'user-config/event-loop',
]);

/** Files of the specification: the first tier has them all. */
const SPECIFICATION = /^spec\//;
/** Their rows run on one deployment in the first tier, and on the others in the second (`TEST_DEPLOYMENTS`). */
const ROWS = /\bforEach(?:Deployment|Store)\(|rows\.js['"]/;

/**
 * Folders whose tests start whole systems, files that start programs without one of the functions below, and those that wait for
 * deadlines of libraries or of a silent Redis.
 */
const SYSTEMS =
  /^(?:integration\/|deploy\/|eras\/|runner\/|main\.|cli\/completion\.|shared\/log-output\.|mutation\/judge\.|store\/redis-silence\.|support\/leftovers\.|edge\/library-deadlines\.)/;
/** A test that calls one of these starts a program with options of its own. */
const STARTS_PROGRAM = /\b(?:startGateway|startDeployment|startControlPlane|startProgram|launchProgram|runProgram)\(/;
/** So does one that loads one of these. */
const PROGRAM_MODULES: readonly string[] = ['support/browser.js', 'primary/stub-fleet.js'].map((file) =>
  join(TREE, file),
);

/** Prefixes of files that take longest, so that no core is idle at the end because a long one began last. */
const FIRST = ['integration/balancers.', 'spec/all-rows.', 'integration/', 'ui/', 'spec/', 'primary/'] as const;

/** @param name for example `build/test/main.test.js`. */
export function isMeasuring(name: string): boolean {
  return MEASURING.has(name.slice(TREE.length + 1, -'.test.js'.length));
}

/**
 * The compiled tests below `build/test`, for example `build/test/main.test.js`.
 * @param words parts of names; selects the files that have any of them. All when empty.
 * @param tier all tiers when not given.
 */
export function testFiles(root: string, words: readonly string[], tier?: Tier): string[] {
  const files = readdirSync(join(root, TREE), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.test.js'))
    .filter((file) => words.length === 0 || words.some((word) => join(TREE, file).includes(word)))
    .filter((file) => tier === undefined || tiersOf(root, join(TREE, file)).includes(tier));
  const rank = (file: string): number => {
    if (isMeasuring(join(TREE, file))) return -1;
    const at = FIRST.findIndex((beginning) => file.startsWith(beginning));
    return at === -1 ? FIRST.length : at;
  };
  return files.sort((one, other) => rank(one) - rank(other) || (one < other ? -1 : 1)).map((file) => join(TREE, file));
}

/** @param name for example `build/test/main.test.js`. */
export function tiersOf(root: string, name: string): readonly Tier[] {
  const file = name.slice(TREE.length + 1);
  if (isMeasuring(name)) return ['measure'];
  if (SPECIFICATION.test(file))
    return ROWS.test(readFileSync(join(root, name), 'utf8')) ? ['test', 'system'] : ['test'];
  return [startsPrograms(root, file) ? 'system' : 'test'];
}

function startsPrograms(root: string, file: string): boolean {
  if (SYSTEMS.test(file)) return true;
  const path = join(root, TREE, file);
  if (STARTS_PROGRAM.test(readFileSync(path, 'utf8'))) return true;
  const { modules } = reachedModules(root, join(TREE, file));
  return PROGRAM_MODULES.some((module) => modules.has(module));
}
