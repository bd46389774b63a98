// What one user of the control plane may do to the others.
import { setTimeout as sleep } from 'node:timers/promises';
import { startControlPlane, type ControlPlane } from '../../support/control-plane.js';
import { inParallel } from '../../support/in-parallel.js';
import { memberText } from '../../support/json-text.js';
import { INITIALIZE_PARAMS } from '../../support/mcp-caller.js';
import type { ReceivedRequest } from '../../support/raw-backend.js';
import { RawConnection, send, type HttpAnswer } from '../../support/raw-http.js';
import { expect, tally, type Experiment } from '../experiment.js';
import type { Stage } from '../stage.js';

const MIB = 1_048_576;
/** For `/health`, and for a page of servers, beside an attack. */
export const ANSWER_MS_MAX = 3_000;
const LOOK_EVERY_MS = 50;

export const fatServer: Experiment = {
  name: 'control-plane-fat-server',
  expected: `a server whose initialize is 57 MiB: health and lists are answered within ${ANSWER_MS_MAX / 1_000} s`,
  async run(stage) {
    const fat = Buffer.from(`[${'{},'.repeat(19 * MIB)}{}]`);
    const slim = await stage.backend();
    const grow = (request: ReceivedRequest): void => {
      const id = memberText(request.text, 'id');
      if (id === undefined) return request.empty(202);
      const before = Buffer.from(
        `{"jsonrpc":"2.0","id":${id},"result":{"protocolVersion":"2025-11-25","serverInfo":{"name":"fat","version":"1"},"capabilities":{"x":`,
      );
      const length = String(before.length + fat.length + 3);
      request.head({ headers: { 'content-type': 'application/json', 'content-length': length } });
      for (const part of [before, fat, '}}}']) request.bytes(part);
    };
    const api = await Api.start(stage);
    const watch = new HealthWatch(api);
    // The server passes the probe and grows afterwards: first for a caller of all servers at `/mcp`, then for another probe.
    const registered = await api.send('POST', '/servers', { name: 'fat', url: slim.url });
    slim.raw.handler = grow;
    const params = JSON.parse(INITIALIZE_PARAMS) as unknown;
    const opened = await api.send('POST', '/mcp', {
      jsonrpc: '2.0',
      id: 1,
      method: 'initialize',
      params,
    });
    const refreshed = await api.send('POST', '/servers/fat/refresh');
    const seen = `registered ${registered.status}, initialize ${opened.status}, refresh ${refreshed.status}; ${await watch.end()}`;
    expect(watch.longestMs < ANSWER_MS_MAX && watch.failures === 0, seen);
    return seen;
  },
};

export const manySubjects: Experiment = {
  name: 'control-plane-subjects',
  expected: `compositions of 1,000 subjects: health and lists are answered within ${ANSWER_MS_MAX / 1_000} s`,
  async run(stage) {
    const tools = Array.from({ length: 1_000 }, (_, n) => `tool-${n}-${'t'.repeat(50)}`);
    const backend = await stage.backend({ tools });
    const api = await Api.start(stage);
    const registered = await api.send('POST', '/servers', { name: 'many', url: backend.url });
    expect(registered.status === 201, `registered: ${registered.status} ${registered.text.slice(0, 200)}`);
    const subjects = Array.from({ length: stage.scaled(1_000, 300) }, (_, n) => `subject-${n}@example.com`);
    const watch = new HealthWatch(api);
    const statuses: number[] = [];
    for (let turn = 0; turn < stage.scaled(4, 1); turn++) {
      const composition = { name: `c${turn}`, servers: [{ name: 'many', tools }], subjects };
      statuses.push((await api.send('POST', '/compositions', composition)).status);
    }
    const seen = `composed: ${tally(statuses)}; ${await watch.end()}`;
    expect(watch.longestMs < ANSWER_MS_MAX && watch.failures === 0, seen);
    return seen;
  },
};

export const silentConnections: Experiment = {
  name: 'control-plane-silent',
  isOnceInShort: true,
  expected: 'thousands of connections that say nothing, or not the whole of a body: health is answered',
  async run(stage) {
    const api = await Api.start(stage);
    const count = stage.scaled(4_200, 4_200);
    const head = `POST /servers HTTP/1.1\r\nhost: ${new URL(api.origin).host}\r\nauthorization: Bearer ${api.token}\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n{`;
    await inParallel([...Array(2 * count).keys()], 64, async (at) => {
      const connection = await RawConnection.open(api.origin).catch(() => undefined);
      if (connection === undefined) return;
      stage.scope.teardown(() => connection.close());
      if (at >= count) connection.write(head);
    });
    const watch = new HealthWatch(api);
    await sleep(2_000);
    const seen = `${count} connections; ${await watch.end()}`;
    expect(watch.failures === 0, seen);
    return seen;
  },
};

/** A control plane, and a caller with a valid token. */
export class Api {
  readonly #controlPlane: ControlPlane;
  readonly token: string;

  private constructor(controlPlane: ControlPlane, token: string) {
    this.#controlPlane = controlPlane;
    this.token = token;
  }

  /** Starts one on the store of the gateway. */
  static async start(stage: Stage): Promise<Api> {
    const { storeOptions, key } = stage.deployment;
    return Api.#watched(
      stage,
      await startControlPlane(stage.scope, { storeOptions, key, environment: stage.watchedEnvironment }),
    );
  }

  /** Starts one on a store of its own, so that its servers are the only ones. */
  static async startAlone(stage: Stage): Promise<Api> {
    const { key } = stage.deployment;
    return Api.#watched(stage, await startControlPlane(stage.scope, { key, environment: stage.watchedEnvironment }));
  }

  /** With the turns of its event loop among those that are told. */
  static async #watched(stage: Stage, controlPlane: ControlPlane): Promise<Api> {
    stage.watch(controlPlane.program.pid);
    return Api.of(controlPlane);
  }

  /** A caller of a control plane that was started separately. */
  static async of(controlPlane: ControlPlane): Promise<Api> {
    return new Api(controlPlane, await controlPlane.token('attacker@example.com'));
  }

  get pid(): number {
    return this.#controlPlane.program.pid;
  }

  get origin(): string {
    return this.#controlPlane.origin;
  }

  async send(method: string, path: string, body?: unknown): Promise<HttpAnswer> {
    // Longer than any timeout of the control plane itself.
    const connection = await RawConnection.open(this.origin, 120_000);
    try {
      const text = body === undefined ? '' : JSON.stringify(body);
      const headers = [
        `authorization: Bearer ${this.token}`,
        'content-type: application/json',
        'accept: application/json, text/event-stream',
        'connection: close',
      ];
      connection.write(
        `${method} ${path} HTTP/1.1\r\nhost: ${new URL(this.origin).host}\r\n${headers.join('\r\n')}\r\ncontent-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`,
      );
      return await connection.readAnswer(method);
    } finally {
      connection.close();
    }
  }
}

/** Requests health and a page of servers at a steady pace, each on a new connection. */
export class HealthWatch {
  readonly #api: Api;
  readonly #ended: Promise<void>;
  #isEnding = false;
  #count = 0;
  longestMs = 0;
  failures = 0;

  constructor(api: Api) {
    this.#api = api;
    this.#ended = this.#run();
  }

  async end(): Promise<string> {
    this.#isEnding = true;
    await this.#ended;
    return `${this.#count} answers, the slowest after ${Math.round(this.longestMs)} ms, ${this.failures} failed`;
  }

  async #run(): Promise<void> {
    do {
      const beganMs = performance.now();
      const path = this.#count++ % 2 === 0 ? '/health' : '/servers?limit=10';
      const request = { method: 'GET', path, headers: [] };
      const answer = path === '/health' ? send(this.#api.origin, request) : this.#api.send('GET', path);
      const isGood = await answer.then(
        ({ status }) => status === 200,
        () => false,
      );
      if (!isGood) this.failures++;
      this.longestMs = Math.max(this.longestMs, performance.now() - beganMs);
      await sleep(LOOK_EVERY_MS);
    } while (!this.#isEnding);
  }
}
