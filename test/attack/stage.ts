// What an experiment works with: a deployment, a victim beside it, and the means to misbehave. Everything that an experiment
// starts here ends with it.
import { type BackendMembers, type ConfiguredCaller, type Deployment, backendFor } from '../support/deployment.js';
import { KeptCaller } from '../support/kept-caller.js';
import type { McpBackend, McpBackendOptions } from '../support/mcp-backend.js';
import type { McpCaller } from '../support/mcp-caller.js';
import type { NameServer } from '../support/name-server.js';
import type { TurnLog } from '../support/turn-log.js';
import { startRawBackend, type RawBackend, type RawBackendOptions, type RawHandler } from '../support/raw-backend.js';
import { encodeRequest, RawConnection, type RawRequest } from '../support/raw-http.js';
import type { Victim } from '../support/victim.js';
import type { Scope } from './scope.js';
import { residentBytes } from './worker-watch.js';

export interface StageSetup {
  readonly deployment: Deployment;
  /** `undefined` when the experiment ends processes, and checks callers of its own. */
  readonly victim: Victim | undefined;
  readonly scope: Scope;
  readonly isShort: boolean;
  /** The name server that the gateway queries. */
  readonly nameServer: NameServer;
  /** Has what the turns of workers and other watched processes cost. */
  readonly turns: TurnLog;
  /** By the process's id. */
  readonly watchedSinceMs: Map<number, number>;
}

export class Stage {
  readonly deployment: Deployment;
  readonly scope: Scope;
  readonly isShort: boolean;
  readonly nameServer: NameServer;
  readonly #victim: Victim | undefined;
  readonly #turns: TurnLog;
  readonly #watchedSinceMs: Map<number, number>;

  constructor({ deployment, victim, scope, isShort, nameServer, turns, watchedSinceMs }: StageSetup) {
    this.nameServer = nameServer;
    this.#turns = turns;
    this.#watchedSinceMs = watchedSinceMs;
    this.deployment = deployment;
    this.scope = scope;
    this.isShort = isShort;
    this.#victim = victim;
  }

  get origin(): string {
    return this.deployment.gateway.origin;
  }

  get victim(): Victim {
    if (this.#victim === undefined) throw new Error('this experiment has no victim beside it');
    return this.#victim;
  }

  /** The environment of another program, whose turns are watched with those of the workers. */
  get watchedEnvironment(): Readonly<Record<string, string>> {
    return this.#turns.environment;
  }

  /** Watches the turns of a process that has that environment, from now on. */
  watch(pid: number): void {
    this.#watchedSinceMs.set(pid, Date.now());
  }

  /** A count, with a smaller value for the short form. */
  scaled(full: number, short: number): number {
    return this.isShort ? short : full;
  }

  /** An attacker: a subject of its own whose one virtual host has these backends. */
  async caller(backends: Readonly<Record<string, BackendMembers>>): Promise<ConfiguredCaller> {
    return this.deployment.caller(backends);
  }

  /** The same caller over one kept connection. */
  async kept(caller: McpCaller): Promise<KeptCaller> {
    const kept = await KeptCaller.connect(caller);
    this.scope.teardown(() => kept.close());
    return kept;
  }

  async backend(options: McpBackendOptions = {}): Promise<McpBackend> {
    return backendFor(this.scope, options);
  }

  async rawBackend(handler: RawHandler, options: RawBackendOptions = {}): Promise<RawBackend> {
    const backend = await startRawBackend(handler, options);
    this.scope.teardown(() => backend.close());
    return backend;
  }

  /** @param waitMsMax how long each read may take. */
  async connect(waitMsMax?: number): Promise<RawConnection> {
    const connection = await RawConnection.open(this.origin, waitMsMax);
    this.scope.teardown(() => connection.close());
    return connection;
  }

  /** A connection on which the request was written, and nothing read. */
  async write(request: RawRequest): Promise<RawConnection> {
    const connection = await this.connect();
    connection.write(encodeRequest(this.origin, request));
    return connection;
  }

  /** The memory of the worker that holds most now. */
  get residentBytes(): number {
    return Math.max(...this.deployment.gateway.workerPids().map(residentBytes));
  }
}
