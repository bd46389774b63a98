// A gateway that is reloaded repeatedly under load: sessions that never pause, over kept and over fresh connections, each
// call with a unique number for the backend, and streams of sessions that are reopened when they end.
import { readFileSync } from 'node:fs';
import type { Test } from 'tap';
import { backendFor, startDeployment, type ConfiguredCaller, type Deployment } from './deployment.js';
import { KeptCaller } from './kept-caller.js';
import type { McpBackend } from './mcp-backend.js';
import { rpc, type McpSession } from './mcp-caller.js';
import { inParallel } from './in-parallel.js';
import { until } from './until.js';

/** The previous workers may still wait for requests on kept connections, and the machine is busy. */
const RELOAD_MS_MAX = 240_000;

export interface ReloadLoadPlan {
  readonly workerCount: number;
  readonly sessionCount: number;
  /** How many of the sessions have a stream of their own. */
  readonly streamCount: number;
  readonly reloadCount: number;
  /** Responses that each session gets between two reloads. */
  readonly answersBetween: number;
}

export interface ReloadLoadOutcome {
  readonly answers: number;
  /** Responses other than the expected ones. */
  readonly wrong: readonly string[];
  /** Connections that broke before the first byte of a response. */
  readonly resets: readonly string[];
  readonly streamsOpened: number;
  readonly wrongStreams: readonly number[];
  /** Calls that reached the backend twice. */
  readonly repeated: readonly number[];
  readonly reloadMs: readonly number[];
}

/** Whether the kernel moves connections that wait in the queue of a closing listener to another one. */
export function migratesConnections(): boolean {
  try {
    return readFileSync('/proc/sys/net/ipv4/tcp_migrate_req', 'latin1').trim() === '1';
  } catch {
    return false;
  }
}

class ReloadLoad {
  readonly #plan: ReloadLoadPlan;
  readonly #deployment: Deployment;
  readonly #caller: ConfiguredCaller;
  readonly #backend: McpBackend;
  readonly #stopped = new AbortController();
  readonly #answersOfLanes: number[] = [];
  readonly #wrong: string[] = [];
  readonly #resets: string[] = [];
  readonly #wrongStreams: number[] = [];
  #streamsOpened = 0;
  #lastId = 0;

  constructor(plan: ReloadLoadPlan, deployment: Deployment, caller: ConfiguredCaller, backend: McpBackend) {
    this.#plan = plan;
    this.#deployment = deployment;
    this.#caller = caller;
    this.#backend = backend;
  }

  async run(): Promise<ReloadLoadOutcome> {
    const { sessionCount, streamCount, reloadCount, answersBetween } = this.#plan;
    const sessions: McpSession[] = [];
    await inParallel([...Array(sessionCount).keys()], 8, async () => {
      sessions.push(await this.#caller.openSession());
    });
    const streams = sessions.slice(0, streamCount).map((session) => this.#listen(session));
    const lanes = sessions.map((session, lane) => this.#call(session, lane));
    const reloadMs: number[] = [];
    await this.#answered(answersBetween);
    for (let reload = 0; reload < reloadCount; reload++) {
      reloadMs.push(await this.#reload());
      await this.#answered(answersBetween);
    }
    this.#stopped.abort();
    await Promise.all([...lanes, ...streams]);
    return {
      answers: this.#answersOfLanes.reduce((sum, count) => sum + count, 0),
      wrong: this.#wrong,
      resets: this.#resets,
      streamsOpened: this.#streamsOpened,
      wrongStreams: this.#wrongStreams,
      repeated: this.#repeated(),
      reloadMs,
    };
  }

  async #reload(): Promise<number> {
    const { gateway } = this.#deployment;
    const countReloaded = (): number => gateway.logs.filter(({ msg }) => msg === 'reloaded').length;
    const before = countReloaded();
    const beganAtMs = performance.now();
    gateway.signal('SIGHUP');
    await gateway.waitForLog(() => countReloaded() > before, RELOAD_MS_MAX);
    return Math.round(performance.now() - beganAtMs);
  }

  async #answered(count: number): Promise<void> {
    const goals = this.#answersOfLanes.map((answers) => answers + count);
    await until(() => goals.every((goal, lane) => this.#answersOfLanes[lane]! >= goal), 'every session to be answered');
  }

  /** Half of the sessions keep their connection until a response says `connection: close`. */
  async #call(session: McpSession, lane: number): Promise<void> {
    this.#answersOfLanes[lane] = 0;
    let kept: KeptCaller | undefined;
    while (!this.#stopped.signal.aborted) {
      const id = ++this.#lastId;
      try {
        if (lane % 2 === 0) kept ??= await KeptCaller.connect(this.#caller);
        const used = kept?.use(session) ?? session;
        const answer = await used.call('one-echo', `{"id":${id}}`, { id: String(id) });
        this.#answersOfLanes[lane]++;
        if (answer.status !== 200 || rpc(answer).id !== id || !('result' in rpc(answer))) {
          this.#wrong.push(`${answer.status} ${answer.text}`);
        }
        if (answer.header('connection')?.toLowerCase() === 'close') {
          kept?.close();
          kept = undefined;
        }
      } catch (error) {
        this.#resets.push(String(error));
        kept?.close();
        kept = undefined;
      }
    }
    kept?.close();
  }

  /** Reopens the stream when it ends, as clients do. */
  async #listen(session: McpSession): Promise<void> {
    const { origin, path, token } = this.#caller;
    const headers = { authorization: `Bearer ${token}`, accept: 'text/event-stream', 'mcp-session-id': session.id };
    while (!this.#stopped.signal.aborted) {
      try {
        const answer = await fetch(origin + path, { headers, signal: this.#stopped.signal });
        this.#streamsOpened++;
        if (answer.status !== 200) this.#wrongStreams.push(answer.status);
        for await (const piece of answer.body ?? []) void piece;
      } catch (error) {
        if (!this.#stopped.signal.aborted) this.#resets.push(`stream: ${String((error as Error).cause ?? error)}`);
      }
    }
  }

  #repeated(): readonly number[] {
    const seen = new Set<number>();
    return this.#backend.calls.flatMap(({ argumentsText = '{}' }) => {
      const { id } = JSON.parse(argumentsText) as { id: number };
      if (seen.has(id)) return [id];
      seen.add(id);
      return [];
    });
  }
}

export async function runReloadLoad(t: Pick<Test, 'teardown'>, plan: ReloadLoadPlan): Promise<ReloadLoadOutcome> {
  const backend = await backendFor(t, { withSessions: true });
  const deployment = await startDeployment(t, { workerCount: plan.workerCount });
  const caller = await deployment.caller({ one: { url: backend.url } });
  return new ReloadLoad(plan, deployment, caller, backend).run();
}
