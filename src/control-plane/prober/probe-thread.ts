// Runs probes in a thread, because servers' responses are parsed in one piece, which would block the event loop. The
// thread starts with the first probe, and again after it has died.
import { type OAuthSourceDependencies, Credentials } from '../../credentials/index.js';
import { NO_METADATA, loggedReason } from '../../http-client/index.js';
import { MIB } from '../../shared/index.js';
import type { ServerEndpoint, ServerTransport } from '../records/server-record.js';
import { TaskThread } from '../../user-config/index.js';
import { ProbeFault, ProberClosedError } from './probe-fault.js';
import type { ProbeResult, Prober, ProberOptions } from './prober.js';

/** The most memory of the probe thread. Beyond this, the thread dies, and its probes fail. */
const PROBE_THREAD_MEMORY_BYTES_MAX = 512 * MIB;

export type ProbeThreadOptions = Pick<ProberOptions, 'timeoutMs' | 'mode' | 'authorities' | 'names'>;

export interface ProbeTask {
  readonly options: ProbeThreadOptions;
  readonly url: string;
  readonly authHeaders: readonly string[];
  readonly transport: ServerTransport | undefined;
}

export class ProbeThread {
  readonly #options: ProbeThreadOptions;
  readonly #thread = new TaskThread<ProbeTask | 'close', ProbeResult | 'closed'>(
    new URL('./probe-thread-entry.js', import.meta.url),
    {
      ...{ concurrentTasksPerWorker: Infinity, maxQueue: Infinity, idleTimeout: Infinity },
      resourceLimits: { maxOldGenerationSizeMb: PROBE_THREAD_MEMORY_BYTES_MAX / MIB },
    },
  );
  #isClosed = false;

  constructor(options: ProbeThreadOptions) {
    this.#options = options;
  }

  /** Probes the server. Rejects only with a `ProberClosedError`. */
  async probe(url: string, authHeaders: readonly string[] = [], transport?: ServerTransport): Promise<ProbeResult> {
    if (this.#isClosed) throw new ProberClosedError();
    const task = { options: this.#options, url, authHeaders, transport };
    // If the thread dies, it was most likely out of memory.
    const outOfMemory: ProbeResult = { kind: 'failed', reason: new ProbeFault('answer-too-large').message };
    const probe = await this.#thread.run(task).catch(() => (this.#isClosed ? 'closed' : outOfMemory));
    if (probe === 'closed') throw new ProberClosedError();
    return probe;
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    if (!this.#thread.isStarted) return;
    const end = (): Promise<void> => this.#thread.close().catch(() => undefined);
    // The task rejects if the thread dies meanwhile.
    void this.#thread.run('close').then(end, end);
  }
}

/** Probes use this subject's quota of connections to authorization servers. No token has an empty subject. */
const PROBE_SUBJECT = '';
const NO_HEADERS: readonly string[] = [];

/** Probes servers with the credentials that their `auth` requires, which are read on the main thread, because that has the store. */
export class CredentialedProber {
  readonly #prober: Pick<Prober, 'probe' | 'close'>;
  readonly #dependencies: OAuthSourceDependencies;

  constructor(prober: Pick<Prober, 'probe' | 'close'>, dependencies: OAuthSourceDependencies) {
    this.#prober = prober;
    this.#dependencies = dependencies;
  }

  async probe({ url, transport, auth }: ServerEndpoint): Promise<ProbeResult> {
    const { origin, pathname, search } = new URL(url);
    const backend = { name: '', target: { origin, path: pathname + search } };
    const credentials = Credentials.of(auth ?? undefined, backend, PROBE_SUBJECT, this.#dependencies);
    const fault = await credentials?.refresh(NO_METADATA);
    if (fault !== undefined) return { kind: 'failed', reason: loggedReason(fault) };
    return this.#prober.probe(url, credentials?.addTo(NO_HEADERS, NO_METADATA) ?? NO_HEADERS, transport);
  }

  close(): void {
    this.#prober.close();
  }
}
