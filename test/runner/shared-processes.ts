// Which test files run together in one process: those that start no programs, and neither inspect nor change the process they
// run in. Alone, such a file would spend most of its time loading tap and modules that others load as well.
import { readFileSync } from 'node:fs';
import { join, sep } from 'node:path';
import { reachedModules } from './imports.js';
import { isMeasuring } from './tiers.js';

/** With more, too many would wait for a slow one, and a core would be idle at the end. */
const GROUP_FILES_MAX = 20;
const TESTS = join('build', 'test');
/** Tests in these folders start whole systems, whatever they import. */
const SYSTEMS: readonly string[] = ['integration', 'spec'].map((folder) => join(TESTS, folder) + sep);
/** Modules that start programs. */
const PROGRAMS = /^node:(?:child_process|cluster)$/;
/** State that exists once per process. */
const PROCESS_ITSELF =
  /\bprocess\.(?:argv|chdir|cpuUsage|emit|env|exit|getActive|kill|memoryUsage|off|on|once|resourceUsage|std|title|umask)|\bglobalThis\b|\bsetFlagsFromString\b|\bmonitorEventLoopDelay\b/;
/** These files measure how long the event loop is blocked, and by themselves alone. */
const HELD_UP = /(?:^|[-/])event-loop[^/]*\.test\.js$/;

/** Groups the files in the given order, with a list for each process. */
export function groupFiles(root: string, names: readonly string[]): string[][] {
  const groups: string[][] = [];
  let open: string[] | undefined;
  for (const name of names) {
    if (!sharesProcess(root, name)) groups.push([name]);
    else if (open !== undefined && open.length < GROUP_FILES_MAX) open.push(name);
    else groups.push((open = [name]));
  }
  return groups;
}

function sharesProcess(root: string, name: string): boolean {
  if (isMeasuring(name) || HELD_UP.test(name) || SYSTEMS.some((folder) => name.startsWith(folder))) return false;
  if (PROCESS_ITSELF.test(readFileSync(join(root, name), 'utf8'))) return false;
  const { packages } = reachedModules(root, name, (module) => module.startsWith(TESTS + sep));
  return ![...packages].some((specifier) => PROGRAMS.test(specifier));
}
