// CPU time and resident memory of processes, from Linux's /proc.
import { readdirSync, readFileSync } from 'node:fs';

/** One clock tick of /proc in microseconds: 100 a second on every Linux that Node runs on. */
const TICK_US = 10_000;

export interface ProcessStat {
  readonly parentPid: number;
  readonly cpuUs: number;
}

/** Parses /proc/<pid>/stat. CPU time includes ended children that were waited for. */
export function parseStat(text: string): ProcessStat {
  // The second field is the program's name in brackets and may contain anything, including brackets and spaces.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  // From here, field 0 is the state, number 3 of proc(5): ppid is 4, utime to cstime are 14 to 17.
  const ticks = fields.slice(11, 15).map(Number);
  const parentPid = Number(fields[1]);
  const cpuUs = ticks.reduce((sum, each) => sum + each, 0) * TICK_US;
  if (ticks.length !== 4 || !Number.isInteger(parentPid) || !Number.isInteger(cpuUs)) {
    throw new Error(`not the text of a /proc stat file: ${text}`);
  }
  return { parentPid, cpuUs };
}

/** Total CPU time of living processes. Throws when one has ended: its figures would be void. */
export function cpuUsOf(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => sum + parseStat(readProcessFile(pid, 'stat')).cpuUs, 0);
}

/** Total resident memory of processes; shared pages count once for each. */
export function residentBytesOf(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => {
    const match = /^VmRSS:\s+(\d+) kB$/m.exec(readProcessFile(pid, 'status'));
    return sum + Number(match?.[1] ?? 0) * 1_024;
  }, 0);
}

/** A process and all of its descendants. */
export function processTree(rootPid: number): number[] {
  const childrenByParent = new Map<number, number[]>();
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const parentPid = tryParentPid(Number(name));
    if (parentPid === undefined) continue;
    const siblings = childrenByParent.get(parentPid);
    if (siblings === undefined) childrenByParent.set(parentPid, [Number(name)]);
    else siblings.push(Number(name));
  }
  const tree = [rootPid];
  // The list grows during iteration: children are appended after their parents.
  for (const pid of tree) tree.push(...(childrenByParent.get(pid) ?? []));
  return tree;
}

function tryParentPid(pid: number): number | undefined {
  try {
    return parseStat(readProcessFile(pid, 'stat')).parentPid;
  } catch {
    return undefined; // Ended since the directory was read.
  }
}

function readProcessFile(pid: number, name: 'stat' | 'status'): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'latin1');
  } catch (error) {
    throw new Error(`process ${pid} has ended`, { cause: error });
  }
}
