// Every worker obeys a changed user config on the next request, over fresh connections and in the sessions of every worker. The
// config is written by another process, or through the bootstrap build's helper endpoint.
import t, { type Test } from 'tap';
import {
  backendFor,
  completeBackends,
  startDeployment,
  type ConfiguredCaller,
  type Deployment,
} from '../support/deployment.js';
import type { StoreOptions } from '../../src/config/table/store-options.js';
import { rpc, type McpSession } from '../support/mcp-caller.js';
import { send } from '../support/raw-http.js';
import { startRedis } from '../support/redis.js';
import { until } from '../support/until.js';

const WORKERS = 4;
const SESSIONS = 8;
/** Each over a fresh connection: with four workers, the chance that one gets none of them is 1 in 100,000. */
const REQUESTS = 40;
/** Redis notifies the workers of a change after it has responded to the writer. */
const INVALIDATION_MS_MAX = 1_000;
/** The least number of attempts within that time: on a busy machine a few of them take longer. */
const LOOKS_MIN = 10;

interface Way {
  readonly name: string;
  readonly store: 'embedded' | 'redis';
  readonly isBootstrap: boolean;
}

/** Two backends, a caller with sessions in every worker, and a way to write the caller's config. */
class Stage {
  readonly deployment: Deployment;
  readonly one: Awaited<ReturnType<typeof backendFor>>;
  readonly two: Awaited<ReturnType<typeof backendFor>>;
  readonly #way: Way;
  readonly #caller: ConfiguredCaller;
  readonly #sessions: readonly McpSession[];

  private constructor(
    way: Way,
    caller: ConfiguredCaller,
    backends: Pick<Stage, 'one' | 'two'>,
    sessions: McpSession[],
  ) {
    this.deployment = caller.deployment;
    this.one = backends.one;
    this.two = backends.two;
    this.#way = way;
    this.#caller = caller;
    this.#sessions = sessions;
  }

  static async set(t: Test, way: Way): Promise<Stage> {
    const one = await backendFor(t, { tools: ['a', 'b'] });
    const two = await backendFor(t, { tools: ['a'], withSessions: true });
    const storeOptions: StoreOptions | undefined =
      way.store === 'redis' ? (await startRedis(t)).storeOptions : undefined;
    const deployment = await startDeployment(t, {
      workerCount: WORKERS,
      build: way.isBootstrap ? 'bootstrap' : 'production',
      ...(storeOptions !== undefined && { storeOptions }),
    });
    const caller = await deployment.caller({ one: { url: one.url }, two: { url: two.url } });
    const sessions = await Promise.all(Array.from({ length: SESSIONS }, () => caller.openSession()));
    return new Stage(way, caller, { one, two }, sessions);
  }

  /** @param backends those of the only virtual host; if undefined, the config has no virtual host. */
  async write(backends: Parameters<typeof completeBackends>[0] | undefined): Promise<void> {
    const { subject, virtualHostId } = this.#caller;
    const hosts = backends === undefined ? {} : { [virtualHostId]: { backends: completeBackends(backends) } };
    const config = { virtual_hosts: hosts };
    if (!this.#way.isBootstrap) {
      await this.deployment.writeConfig(subject, config);
      return;
    }
    const answer = await send(this.deployment.gateway.origin, {
      method: 'POST',
      path: `/gw-rs/admin/userconfigs/${encodeURIComponent(subject)}`,
      headers: [['content-type', 'application/json']],
      body: JSON.stringify(config),
    });
    if (answer.status !== 202) throw new Error(`not written: ${answer.status} ${answer.text}`);
  }

  /** Expects the condition in many requests over fresh connections: at once, or, with Redis, after its notification has arrived. */
  async expect(t: Test, what: string, isObeyed: (session: McpSession, id: number) => Promise<boolean>): Promise<void> {
    const obeyedCount = async (): Promise<number> => {
      const ids = [...Array(REQUESTS).keys()];
      const outcomes = await Promise.all(ids.map((id) => isObeyed(this.#sessions[id % SESSIONS]!, id)));
      return outcomes.filter(Boolean).length;
    };
    if (this.#way.store === 'redis' && !this.#way.isBootstrap) {
      const endMs = performance.now() + INVALIDATION_MS_MAX;
      for (let looks = 0; looks < LOOKS_MIN || performance.now() < endMs; looks++) {
        if ((await obeyedCount()) === REQUESTS) break;
      }
    }
    t.equal(await obeyedCount(), REQUESTS, what);
  }
}

const ways: readonly Way[] = [
  { name: 'embedded store, written by another process', store: 'embedded', isBootstrap: false },
  { name: 'Redis, written over another connection', store: 'redis', isBootstrap: false },
  { name: 'embedded store, written at the bootstrap endpoint', store: 'embedded', isBootstrap: true },
  { name: 'Redis, written at the bootstrap endpoint', store: 'redis', isBootstrap: true },
];

for (const way of ways) {
  t.test(way.name, async (t) => {
    const stage = await Stage.set(t, way);
    const { one, two } = stage;
    await stage.expect(t, 'before', async (session) => (await session.toolNames()).join() === 'one-a,one-b,two-a');

    await stage.write({ one: { url: one.url, allowed_tool_names: ['b'] }, two: { url: two.url } });
    await stage.expect(t, 'an allow-list is obeyed in lists and calls', async (session, id) => {
      if (id % 2 === 0) return (await session.toolNames()).join() === 'one-b,two-a';
      return rpc(await session.call('one-a', '{}', { id: String(id) })).error?.code === -32602;
    });

    const openBefore = two.sessions.size;
    t.equal(openBefore, SESSIONS);
    await stage.write({ one: { url: one.url } });
    await stage.expect(t, 'a removed backend is gone, an allow-list that was lifted too', async (session, id) => {
      if (id % 2 === 0) return (await session.toolNames()).join() === 'one-a,one-b';
      return rpc(await session.call('two-a', '{}', { id: String(id) })).error?.code === -32602;
    });
    await until(() => two.deletedSessions.length === SESSIONS, 'the upstream sessions with it to be ended');

    await stage.write(undefined);
    await stage.expect(t, 'a removed virtual host is not found', async (session) => {
      const answer = await session.list();
      return answer.status === 404 && answer.text === '{"detail":"Server not found"}';
    });
    t.same(stage.deployment.gateway.strayLines, []);
  });
}
