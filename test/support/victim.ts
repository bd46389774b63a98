// A user of the gateway at a steady pace while others misbehave: a subject, a virtual host and a healthy backend of its own,
// all in a separate process, so that its figures include neither the attack's load nor a test's garbage collection.
//
//   const victim = await startVictim(t, deployment);
//   const alone = await victim.during(() => sleep(2_000));
//   const beside = await victim.during(() => attack());
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Test } from 'tap';
import { completeBackends, type Deployment } from './deployment.js';
import { childEnvironment } from './gateway.js';
import type { Latencies } from './latencies.js';
import { killWithProcess } from './leftovers.js';

/** The parts of a deployment that a victim needs. */
export interface VictimHome extends Pick<Deployment, 'newSubject' | 'newVirtualHostId' | 'token' | 'writeConfig'> {
  readonly gateway: Pick<Deployment['gateway'], 'origin' | 'path'>;
}

export interface VictimSetup {
  /** Interval between two requests. */
  readonly everyMs?: number;
  /** False: every request takes a connection of its own; true: all use one, and so one worker. */
  readonly keepsConnection?: boolean;
  /** The name by which the gateway finds its backend on this machine; the backend's address unless given. */
  readonly backendHost?: string;
  /** One request in ten is a call that its backend takes a while over, so that it needs several connections. */
  readonly callsSlowly?: boolean;
  /** Size of each of the three tools that its backend lists; small unless given. */
  readonly toolBytes?: number;
}

/** What the victim observed in a period: every response is checked to the byte. */
export interface VictimReport {
  /** Times of calls, pings and lists, which alternate. The backend's own time for a slow call is subtracted. */
  readonly requests: Latencies;
  /** Times of `initialize` alone: a new session from time to time. */
  readonly openings: Latencies;
  /** How much longer work took meanwhile than on an otherwise idle core. */
  readonly slowness: number;
  /** A socket round trip on this machine as a multiple of the usual one, independent of load. */
  readonly roundTripFactor: number;
  /** Each request that was refused, wrong or not answered, in words. */
  readonly failures: readonly string[];
  /** The most concurrent calls of its backend's tool `hang`, which is never answered, whoever made them. */
  readonly hangingMost: number;
}

export type VictimOrder =
  | ({ readonly kind: 'begin'; readonly origin: string; readonly path: string; readonly token: string } & Omit<
      VictimSetup,
      'backendHost' | 'toolBytes'
    >)
  /** Begins a report; the victim continues meanwhile. */
  | { readonly kind: 'mark' }
  /** Asks for the report of what began since the mark, as soon as all of it has ended. */
  | { readonly kind: 'report' };

export type VictimNotice =
  | { readonly kind: 'ready'; readonly backendUrl: string }
  | { readonly kind: 'begun' | 'marked' }
  | { readonly kind: 'failed'; readonly reason: string }
  | ({ readonly kind: 'report' } & VictimReport);

const program = fileURLToPath(new URL('./victim-process.js', import.meta.url));

/** Resolves once its first call was answered. It ends with the test. */
export async function startVictim(
  t: Pick<Test, 'teardown'>,
  home: VictimHome,
  setup: VictimSetup = {},
): Promise<Victim> {
  const { backendHost, toolBytes, ...work } = setup;
  const child = fork(program, [String(toolBytes ?? 0)], {
    env: childEnvironment(),
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  killWithProcess(child);
  t.teardown(() => child.kill('SIGKILL'));
  const ready = await notice(child, 'ready');
  const backendUrl = backendHost === undefined ? ready.backendUrl : withHost(ready.backendUrl, backendHost);
  const subject = home.newSubject();
  const virtualHostId = home.newVirtualHostId();
  const backends = completeBackends({ own: { url: backendUrl } });
  await home.writeConfig(subject, { virtual_hosts: { [virtualHostId]: { backends } } });
  const victim = new Victim(child, backendUrl);
  const { origin } = home.gateway;
  await victim.begin({ ...work, origin, path: home.gateway.path(virtualHostId), token: await home.token(subject) });
  return victim;
}

function withHost(url: string, host: string): string {
  const changed = new URL(url);
  changed.hostname = host;
  return changed.href;
}

export class Victim {
  /** The URL of its backend, which attackers may want to share; it has a tool `hang` that never answers. */
  readonly backendUrl: string;
  readonly #child: ChildProcess;

  constructor(child: ChildProcess, backendUrl: string) {
    this.#child = child;
    this.backendUrl = backendUrl;
  }

  async begin(work: Omit<Extract<VictimOrder, { kind: 'begin' }>, 'kind'>): Promise<void> {
    this.#order({ kind: 'begin', ...work });
    await notice(this.#child, 'begun');
  }

  /** What the victim observed while the task ran. */
  async during(task: () => Promise<unknown>): Promise<VictimReport> {
    await this.mark();
    await task();
    return this.report();
  }

  async mark(): Promise<void> {
    this.#order({ kind: 'mark' });
    await notice(this.#child, 'marked');
  }

  async report(): Promise<VictimReport> {
    this.#order({ kind: 'report' });
    return notice(this.#child, 'report');
  }

  #order(order: VictimOrder): void {
    this.#child.send(order);
  }
}

async function notice<Kind extends VictimNotice['kind']>(
  child: ChildProcess,
  kind: Kind,
): Promise<Extract<VictimNotice, { kind: Kind }>> {
  const over = new AbortController();
  try {
    for (;;) {
      const heard = await Promise.race([
        once(child, 'message', { signal: over.signal }).then(([message]) => message as VictimNotice),
        once(child, 'exit', { signal: over.signal }).then(([code]) => code as number | null),
      ]);
      if (heard === null || typeof heard === 'number') throw new Error(`the victim's process ended: ${heard}`);
      if (heard.kind === 'failed') throw new Error(`the victim cannot begin: ${heard.reason}`);
      if (heard.kind === kind) return heard as Extract<VictimNotice, { kind: Kind }>;
    }
  } finally {
    over.abort();
  }
}
