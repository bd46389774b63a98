// The process of a victim: its backend, and its requests at a steady pace that does not wait for earlier ones.
import { Agent, request as httpRequest, type IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { CoreShare } from './core-share.js';
import { latenciesOf } from './latencies.js';
import { startMcpBackend } from './mcp-backend.js';
import { INITIALIZE_PARAMS, McpCaller } from './mcp-caller.js';
import { roundTripFactor } from './round-trips.js';
import type { VictimNotice, VictimOrder } from './victim.js';

const EVERY_MS = 20;
/** How long its backend takes over a slow call. */
const SLOW_MS = 300;
/** A request that takes longer counts as not answered. */
const ANSWER_MS_MAX = 20_000;
/** With this many requests under way, no more are sent: a gateway that stands still must not cause a flood. */
const UNDER_WAY_MAX = 256;
/**
 * `--initialize-patience`, for which a session waits for its backend, is a fixed time. On a machine where work and round trips take this
 * many times longer than on a usual one, exceeding it says nothing.
 */
const NOT_READY_SLOWNESS = 4;
/** A kept connection that was idle this long may already be being closed by the other side: RFC 9112, 9.3.1. */
const IDLE_MS = 3_000;
/** How many failures are reported in words; the rest are alike. */
const FAILURES_MAX = 20;

interface Answer {
  readonly status: number;
  readonly sessionId: string | undefined;
  readonly text: string;
}

/** The times measured for one report. */
class Window {
  readonly requestMs: number[] = [];
  readonly openingMs: number[] = [];
  readonly failures: string[] = [];
  notReadyCount = 0;
  hangingMost = 0;
  /** Requests and openings that have not ended. */
  readonly underWay = new Set<Promise<void>>();
}

class IdleConnectionLost extends Error {}

/** When a kept connection last had an answer. */
const usedAtMs = new WeakMap<Socket, number>();

class VictimWork {
  readonly #caller: McpCaller;
  readonly #kept: Agent;
  /** Which turns use a kept connection; the others take a new one, and perhaps another worker. */
  readonly #isKept: (turn: number) => boolean;
  readonly #callsSlowly: boolean;
  #sessionId = '';
  #window = new Window();
  #turn = 0;

  constructor(caller: McpCaller, keepsConnection: boolean | undefined, callsSlowly: boolean) {
    this.#caller = caller;
    this.#callsSlowly = callsSlowly;
    this.#kept = new Agent({ keepAlive: true, maxSockets: keepsConnection === true ? 1 : Infinity });
    this.#isKept = keepsConnection === undefined ? (turn) => turn % 4 !== 3 : () => keepsConnection;
  }

  async begin(everyMs: number): Promise<void> {
    this.#sessionId = await this.#open(true);
    await this.#call(0, 'echo', true);
    setInterval(() => this.#onTurn(), everyMs);
  }

  onHanging(count: number): void {
    this.#window.hangingMost = Math.max(this.#window.hangingMost, count);
  }

  mark(): void {
    this.#window = new Window();
    coreShare.mark();
  }

  async report(): Promise<VictimNotice> {
    const window = this.#window;
    const slowness = await coreShare.slowness();
    this.mark();
    await Promise.all(window.underWay);
    const { requestMs, openingMs, failures, notReadyCount, hangingMost } = window;
    if (notReadyCount > 0 && slowness * roundTrips < NOT_READY_SLOWNESS)
      failures.push(`${notReadyCount} sessions began without its backend`);
    const told = failures.slice(0, FAILURES_MAX);
    if (failures.length > told.length) told.push(`and ${failures.length - told.length} more`);
    return {
      kind: 'report',
      requests: latenciesOf(requestMs),
      openings: latenciesOf(openingMs),
      slowness,
      roundTripFactor: roundTrips,
      failures: told,
      hangingMost,
    };
  }

  #onTurn(): void {
    const turn = ++this.#turn;
    const isKept = this.#isKept(turn);
    const window = this.#window;
    if (window.underWay.size >= UNDER_WAY_MAX) {
      window.failures.push(`${UNDER_WAY_MAX} requests wait for their answers`);
      return;
    }
    if (turn % 50 === 0) this.#measure(window, window.openingMs, 'a session', () => this.#visit(turn, isKept));
    if (turn % 50 === 25) this.#measure(window, window.requestMs, 'tools/list', () => this.#list(turn, isKept));
    else if (turn % 10 === 5) this.#measure(window, window.requestMs, 'ping', () => this.#ping(turn, isKept));
    else if (turn % 10 === 7 && this.#callsSlowly)
      this.#measure(window, window.requestMs, 'a slow call', () => this.#callSlowly(turn, isKept));
    else this.#measure(window, window.requestMs, 'tools/call', () => this.#call(turn, 'echo', isKept));
  }

  /** The task returns the time that counts. */
  #measure(window: Window, timesMs: number[], what: string, task: () => Promise<number>): void {
    const underWay = task()
      .then((tookMs) => void timesMs.push(tookMs))
      .catch((error: unknown) => {
        window.failures.push(`${what}: ${error instanceof Error ? error.message : String(error)}`);
      })
      .finally(() => window.underWay.delete(underWay));
    window.underWay.add(underWay);
  }

  async #ping(id: number, isKept: boolean): Promise<number> {
    return this.#expect(
      `{"jsonrpc":"2.0","id":${id},"method":"ping"}`,
      `{"jsonrpc":"2.0","id":${id},"result":{}}`,
      isKept,
    );
  }

  /** Returns the time taken, minus the backend's own. */
  async #callSlowly(id: number, isKept: boolean): Promise<number> {
    return Math.max(0, (await this.#call(id, 'slow', isKept)) - SLOW_MS);
  }

  async #call(id: number, tool: 'echo' | 'slow', isKept: boolean): Promise<number> {
    const args = `{"turn": ${id}.0}`;
    const params = `{"name":"own-${tool}","arguments":${args}}`;
    const body = `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":${params}}`;
    const result = `{"content":[{"type":"text","text":${JSON.stringify(args)}}],"structuredContent":${args}}`;
    return this.#expect(body, `{"jsonrpc":"2.0","id":${id},"result":${result}}`, isKept);
  }

  async #list(id: number, isKept: boolean): Promise<number> {
    const body = `{"jsonrpc":"2.0","id":${id},"method":"tools/list"}`;
    return this.#expect(body, undefined, isKept, (text) => {
      const { result } = JSON.parse(text) as { result?: { tools?: { name: string; description: string }[] } };
      const listed = result?.tools?.map(({ name, description }) => `${name} ${description.length}`);
      return listed?.join() === TOOL_NAMES.map((name) => `own-${name} ${toolBytes}`).join();
    });
  }

  /** Opens a session, uses it once and ends it. Returns how long opening it took. */
  async #visit(id: number, isKept: boolean): Promise<number> {
    const beganMs = performance.now();
    const sessionId = await this.#open(isKept);
    const tookMs = performance.now() - beganMs;
    const body = `{"jsonrpc":"2.0","id":${id},"method":"ping"}`;
    await this.#expect(body, `{"jsonrpc":"2.0","id":${id},"result":{}}`, isKept, undefined, sessionId);
    const { status } = await this.#send({ method: 'DELETE', session: sessionId }, isKept);
    if (status >= 300) throw new Error(`DELETE: ${status}`);
    return tookMs;
  }

  async #open(isKept: boolean): Promise<string> {
    const body = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":${INITIALIZE_PARAMS}}`;
    const { status, sessionId, text } = await this.#send({ body }, isKept);
    if (status !== 200 || sessionId === undefined) throw new Error(`initialize: ${status} ${text.slice(0, 200)}`);
    if (text.includes('"not ready yet"')) this.#window.notReadyCount += 1;
    else if (text.includes('switchyard/unavailable')) throw new Error(`initialize: ${text.slice(0, 300)}`);
    const confirmation = '{"jsonrpc":"2.0","method":"notifications/initialized"}';
    const confirmed = await this.#send({ body: confirmation, session: sessionId }, isKept);
    if (confirmed.status !== 202) throw new Error(`initialized: ${confirmed.status} ${confirmed.text.slice(0, 200)}`);
    return sessionId;
  }

  async #expect(
    body: string,
    expected: string | undefined,
    isKept: boolean,
    isRight = (text: string): boolean => text === expected,
    session = this.#sessionId,
  ): Promise<number> {
    const beganMs = performance.now();
    const { status, text } = await this.#send({ body, session }, isKept);
    const tookMs = performance.now() - beganMs;
    if (status !== 200 || !isRight(text)) throw new Error(`${status} ${text.slice(0, 200)}`);
    return tookMs;
  }

  /** Sends again, as clients do, when an idle connection turns out to be closed before any response. */
  async #send(parts: Parameters<McpCaller['request']>[0], isKept: boolean): Promise<Answer> {
    try {
      return await this.#sendOnce(parts, isKept);
    } catch (error) {
      if (!(error instanceof IdleConnectionLost)) throw error;
      return this.#sendOnce(parts, false);
    }
  }

  async #sendOnce(parts: Parameters<McpCaller['request']>[0], isKept: boolean): Promise<Answer> {
    const { method, path, headers, body } = this.#caller.request(parts);
    const { hostname, port } = new URL(this.#caller.origin);
    return new Promise((resolve, reject) => {
      const outgoing = httpRequest({
        hostname,
        port,
        method,
        path,
        headers: Object.fromEntries(headers),
        agent: isKept ? this.#kept : false,
        signal: AbortSignal.timeout(ANSWER_MS_MAX),
      });
      let idleMs = 0;
      outgoing.once('socket', (socket) => {
        idleMs = performance.now() - (usedAtMs.get(socket) ?? performance.now());
      });
      outgoing.once('error', (error) => {
        reject(outgoing.reusedSocket && idleMs > IDLE_MS && !isAnswered ? new IdleConnectionLost() : error);
      });
      let isAnswered = false;
      outgoing.once('response', (incoming: IncomingMessage) => {
        isAnswered = true;
        const { socket } = incoming;
        const chunks: Buffer[] = [];
        incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
        incoming.once('error', reject);
        incoming.once('end', () => {
          usedAtMs.set(socket, performance.now());
          const sessionId = incoming.headers['mcp-session-id'];
          resolve({
            status: incoming.statusCode ?? 0,
            sessionId: typeof sessionId === 'string' ? sessionId : undefined,
            text: Buffer.concat(chunks).toString('utf8'),
          });
        });
      });
      outgoing.end(body);
    });
  }
}

const TOOL_NAMES = ['echo', 'hang', 'slow'] as const;
const toolBytes = Number(process.argv[2]);
const description = 'd'.repeat(toolBytes);

const coreShare = await CoreShare.start();
const roundTrips = await roundTripFactor();
let work: VictimWork | undefined;
/** Connections of calls that are never answered. */
const hanging = new Set<Socket>();
const backend = await startMcpBackend({
  tools: TOOL_NAMES.map((name) => ({ name, description, inputSchema: { type: 'object' } })),
  onCall: async (call) => {
    if (call.name === 'slow') await sleep(SLOW_MS);
    if (call.name !== 'hang') return;
    const { connection } = call.takeOver();
    hanging.add(connection);
    work?.onHanging(hanging.size);
    connection.once('close', () => hanging.delete(connection));
  },
});
// The backend records what it received, which this long run does not need.
setInterval(() => {
  backend.calls.length = 0;
  backend.raw.requests.length = 0;
}, 1_000);

function say(notice: VictimNotice): void {
  process.send?.(notice);
}

process.on('message', (order: VictimOrder) => void onOrder(order));
process.once('disconnect', () => process.exit());
say({ kind: 'ready', backendUrl: backend.url });

async function onOrder(order: VictimOrder): Promise<void> {
  switch (order.kind) {
    case 'begin': {
      const { origin, path, token, everyMs = EVERY_MS, keepsConnection, callsSlowly = false } = order;
      work = new VictimWork(new McpCaller(origin, path, token), keepsConnection, callsSlowly);
      try {
        await work.begin(everyMs);
        say({ kind: 'begun' });
      } catch (error) {
        say({ kind: 'failed', reason: error instanceof Error ? error.message : String(error) });
      }
      return;
    }
    case 'mark':
      work?.mark();
      return say({ kind: 'marked' });
    case 'report':
      if (work !== undefined) say(await work.report());
  }
}
