// A machine of the fleet dies: each of its sessions moves, with its client's next request, to the machine that the balancer's
// consistent hash chooses. A small simulation with seeded randomness, which yields the same result each time.
import { createHash } from 'node:crypto';
import { Random } from '../support/random.js';
import type { Fleet } from './arithmetic.js';

/** As nginx does for each server of `hash … consistent`. */
const POINTS_PER_MACHINE = 160;
const POINTS_PER_HASH = 4;
const RING = 0x1_0000_0000;
const SEED = 20_261_123;

export interface Failure {
  /** Sessions of the fullest machine, which is the one that dies. */
  readonly sessions: number;
  /** Calls that were in flight at the dead machine. */
  readonly cutOff: number;
  /** How many other machines its sessions go to. */
  readonly heirs: number;
  /** Sessions that go to the heir that gets most. */
  readonly sessionsOfOneMax: number;
  /** Adoptions, each at the client's next request: in the first second, and by one machine in its worst second. */
  readonly adoptedInFirstSecond: number;
  readonly adoptedByOneInASecondMax: number;
  /** Seconds until this fraction of the sessions has been adopted. */
  readonly secondsUntilHalf: number;
  readonly secondsUntilAllButOneInAHundred: number;
}

export function simulateFailure(use: Fleet): Failure {
  const ring = ringOf(use.machines);
  const shares = sharesOf(ring, use.machines);
  const dead = shares.indexOf(Math.max(...shares));
  const sessions = Math.round(use.sessions * (shares[dead] ?? 0));
  const random = new Random(SEED);
  const bySecond = new Map<number, number>();
  const byHeir = new Map<number, Map<number, number>>();
  const seconds: number[] = [];
  const arcs = arcsOf(ring, dead);
  for (let n = 0; n < sessions; n += 1) {
    const heir = heirOf(arcs, random.fraction());
    const second = Math.floor(-Math.log(1 - random.fraction()) * use.secondsBetweenRequests);
    seconds.push(second);
    add(bySecond, second);
    const own = byHeir.get(heir) ?? new Map<number, number>();
    byHeir.set(heir, own);
    add(own, second);
  }
  seconds.sort((one, other) => one - other);
  const heirs = [...byHeir.values()];
  return {
    sessions,
    cutOff: Math.round((sessions / use.secondsBetweenRequests) * (use.requestMs / 1_000)),
    heirs: heirs.length,
    sessionsOfOneMax: Math.max(...heirs.map((own) => [...own.values()].reduce((sum, each) => sum + each, 0))),
    adoptedInFirstSecond: bySecond.get(0) ?? 0,
    adoptedByOneInASecondMax: Math.max(...heirs.flatMap((own) => [...own.values()])),
    secondsUntilHalf: (seconds[Math.floor(sessions / 2)] ?? 0) + 1,
    secondsUntilAllButOneInAHundred: (seconds[Math.floor(sessions * 0.99)] ?? 0) + 1,
  };
}

interface Point {
  readonly at: number;
  readonly machine: number;
}

function ringOf(machines: number): readonly Point[] {
  const points: Point[] = [];
  for (let machine = 0; machine < machines; machine += 1) {
    for (let part = 0; part < POINTS_PER_MACHINE / POINTS_PER_HASH; part += 1) {
      const digest = createHash('md5').update(`machine-${machine} ${part}`).digest();
      for (let n = 0; n < POINTS_PER_HASH; n += 1) points.push({ at: digest.readUInt32LE(4 * n), machine });
    }
  }
  return points.sort((one, other) => one.at - other.at || one.machine - other.machine);
}

/** The arc before a point belongs to the point's machine. */
function lengthAt(ring: readonly Point[], index: number): number {
  const [point, before] = [ring[index], ring[(index + ring.length - 1) % ring.length]];
  return ((point?.at ?? 0) - (before?.at ?? 0) + RING) % RING;
}

function sharesOf(ring: readonly Point[], machines: number): number[] {
  const shares = new Array<number>(machines).fill(0);
  ring.forEach(({ machine }, index) => (shares[machine] = (shares[machine] ?? 0) + lengthAt(ring, index) / RING));
  return shares;
}

interface Arc {
  /** Cumulative fraction of the dead machine's arcs up to the end of this one. */
  readonly upTo: number;
  readonly heir: number;
}

function arcsOf(ring: readonly Point[], dead: number): readonly Arc[] {
  const arcs: { upTo: number; heir: number }[] = [];
  let total = 0;
  ring.forEach(({ machine }, index) => {
    if (machine !== dead) return;
    let next = index;
    do next = (next + 1) % ring.length;
    while (ring[next]?.machine === dead);
    total += lengthAt(ring, index);
    arcs.push({ upTo: total, heir: ring[next]?.machine ?? 0 });
  });
  return arcs.map(({ upTo, heir }) => ({ upTo: upTo / total, heir }));
}

function heirOf(arcs: readonly Arc[], at: number): number {
  return (arcs.find(({ upTo }) => at < upTo) ?? arcs.at(-1))?.heir ?? 0;
}

function add(counts: Map<number, number>, key: number): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}
