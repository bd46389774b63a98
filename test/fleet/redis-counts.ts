// What a Redis did between two moments: commands by name, its CPU time, its memory.
import type { Redis } from 'ioredis';
import type { EventCost } from './measures.js';

/** Commands of this file and of the links' health checks. */
const NOT_COUNTED: ReadonlySet<string> = new Set(['info', 'ping', 'config', 'client', 'memory', 'subscribe', 'select']);

export async function infoOf(redis: Redis, section: string): Promise<ReadonlyMap<string, string>> {
  const lines = (await redis.info(section)).split('\r\n').filter((line) => line.includes(':'));
  return new Map(lines.map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1)]));
}

export async function numberOf(redis: Redis, section: string, name: string): Promise<number> {
  return Number((await infoOf(redis, section)).get(name));
}

/**
 * The cost of `act`, divided by `times`, the number of events in it.
 * @param quietUs CPU time that an otherwise quiet Redis takes per millisecond.
 */
export async function costOf(
  redis: Redis,
  times: number,
  quietUs: number,
  act: () => Promise<void>,
): Promise<EventCost> {
  const [before, cpuBefore, startedMs] = [await callsByName(redis), await cpuUs(redis), performance.now()];
  await act();
  const [after, cpuAfter, endedMs] = [await callsByName(redis), await cpuUs(redis), performance.now()];
  const counted = [...after].map(([name, calls]) => [name, (calls - (before.get(name) ?? 0)) / times] as const);
  const commands = counted.filter(([name, calls]) => calls > 0 && !NOT_COUNTED.has(name)).sort();
  return {
    commands: Object.fromEntries(commands.map(([name, calls]) => [name, rounded(calls)])),
    cpuUs: Math.max(0, rounded((cpuAfter - cpuBefore - quietUs * (endedMs - startedMs)) / times)),
  };
}

/** The cost of an event without that of another event, which occurred `times` times per event. */
export function without(one: EventCost, other: EventCost, times: number): EventCost {
  const left = Object.entries(one.commands).map(
    ([name, calls]) => [name, Math.round((calls - times * (other.commands[name] ?? 0)) * 10) / 10] as const,
  );
  return {
    commands: Object.fromEntries(left.filter(([, calls]) => calls > 0)),
    cpuUs: Math.max(0, rounded(one.cpuUs - times * other.cpuUs)),
  };
}

export function rounded(value: number): number {
  return Math.round(value * 100) / 100;
}

export async function callsByName(redis: Redis): Promise<ReadonlyMap<string, number>> {
  const calls = new Map<string, number>();
  for (const [key, text] of await infoOf(redis, 'commandstats')) {
    const name = key.replace(/^cmdstat_/, '').split('|')[0] ?? '';
    calls.set(name, (calls.get(name) ?? 0) + Number(/calls=(\d+)/.exec(text)?.[1] ?? 0));
  }
  return calls;
}

export async function cpuUs(redis: Redis): Promise<number> {
  const info = await infoOf(redis, 'cpu');
  return (Number(info.get('used_cpu_user')) + Number(info.get('used_cpu_sys'))) * 1_000_000;
}
