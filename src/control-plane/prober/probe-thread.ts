// Runs probes in a thread: what servers send is read with a blocking parser, which must not run on the event loop that
// serves everybody else. The thread starts with the first probe, and again after it has died.
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { type OAuthSourceMeans, Credentials } from '../../credentials/index.js';
import { NO_METADATA, loggedReason } from '../../http-client/index.js';
import { MIB } from '../../shared/index.js';
import type { ServerInput, ServerTransport } from '../records/server-record.js';
import { ProbeFault, ProberClosedError } from './probe-fault.js';
import type { Probe, Prober, ProberOptions } from './prober.js';

/** Memory of the thread that probes servers. Beyond that, the probes in progress count as failed. */
const PROBE_THREAD_MEMORY_BYTES_MAX = 512 * MIB;

export type ProbeThreadOptions = Pick<
  ProberOptions,
  'deadlineMs' | 'mode' | 'authorities' | 'nameServers' | 'allowedNetworks'
>;

export type ToProbeThread =
  | {
      readonly kind: 'probe';
      readonly id: number;
      readonly url: string;
      readonly authHeaders: readonly string[];
      readonly transport: ServerTransport | undefined;
    }
  | { readonly kind: 'close' };

/** `closed`: the thread was closed before the probe was over. */
export interface FromProbeThread {
  readonly id: number;
  readonly probe: Probe | 'closed';
}

interface PendingProbe {
  resolve(probe: Probe): void;
  reject(error: ProberClosedError): void;
}

const THREAD_FILE = fileURLToPath(new URL('./probe-thread-entry.js', import.meta.url));

export class ProbeThread {
  readonly #options: ProbeThreadOptions;
  readonly #pending = new Map<number, PendingProbe>();
  #worker: Worker | undefined;
  #lastId = 0;
  #isClosed = false;

  constructor(options: ProbeThreadOptions) {
    this.#options = options;
  }

  /** As `Prober.probe`: rejects with a `ProberClosedError` only. */
  async probe(url: string, authHeaders: readonly string[] = [], transport?: ServerTransport): Promise<Probe> {
    if (this.#isClosed) throw new ProberClosedError();
    const worker = (this.#worker ??= this.#start());
    const id = (this.#lastId += 1);
    return new Promise((resolve, reject) => {
      this.#pending.set(id, { resolve, reject });
      // A pending probe keeps the process alive: otherwise it could exit before the caller gets the result.
      worker.ref();
      this.#send(worker, { kind: 'probe', id, url, authHeaders, transport });
    });
  }

  /** Ends the probes under way; the thread ends with the last of them. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    if (this.#worker !== undefined) this.#send(this.#worker, { kind: 'close' });
  }

  #send(worker: Worker, message: ToProbeThread): void {
    worker.postMessage(message);
  }

  #start(): Worker {
    const worker = new Worker(THREAD_FILE, {
      workerData: this.#options,
      resourceLimits: { maxOldGenerationSizeMb: PROBE_THREAD_MEMORY_BYTES_MAX / MIB },
    });
    worker.on('message', ({ id, probe }: FromProbeThread) => {
      const pending = this.#pending.get(id);
      this.#pending.delete(id);
      if (this.#pending.size === 0) worker.unref();
      if (probe === 'closed') pending?.reject(new ProberClosedError());
      else pending?.resolve(probe);
    });
    // Usually it is out of memory; `exit` follows.
    worker.on('error', () => {});
    worker.on('exit', () => this.#onExit());
    return worker;
  }

  #onExit(): void {
    this.#worker = undefined;
    const unanswered = [...this.#pending.values()];
    this.#pending.clear();
    const { message } = new ProbeFault('answer-too-large');
    for (const pending of unanswered) {
      if (this.#isClosed) pending.reject(new ProberClosedError());
      else pending.resolve({ kind: 'failed', reason: message });
    }
  }
}

/** The subject whose share of connections to authorization servers probes use; no token has an empty subject. */
const PROBER = '';
const NO_HEADERS: readonly string[] = [];

type ProbedServer = Pick<ServerInput, 'url' | 'transport' | 'auth'>;

/** Authenticates to servers as their `auth` requires: here, in the process that reads the store; the thread gets only headers. */
export class CredentialedProber {
  readonly #prober: Pick<Prober, 'probe' | 'close'>;
  readonly #means: OAuthSourceMeans;

  constructor(prober: Pick<Prober, 'probe' | 'close'>, means: OAuthSourceMeans) {
    this.#prober = prober;
    this.#means = means;
  }

  /** As `Prober.probe`. */
  async probe({ url, transport, auth }: ProbedServer): Promise<Probe> {
    const { origin, pathname, search } = new URL(url);
    const backend = { name: '', target: { origin, path: pathname + search } };
    const credentials = Credentials.of(auth ?? undefined, backend, PROBER, this.#means);
    const fault = await credentials?.refresh(NO_METADATA);
    if (fault !== undefined) return { kind: 'failed', reason: loggedReason(fault) };
    return this.#prober.probe(url, credentials?.addTo(NO_HEADERS, NO_METADATA) ?? NO_HEADERS, transport);
  }

  close(): void {
    this.#prober.close();
  }
}
