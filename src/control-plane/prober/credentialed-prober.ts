// A prober that shows a server what its `auth` asks for. Secrets and tokens are had here, in the process that reads the store,
// and the thread is given headers alone. Cold.
import { Credentials } from '../../upstream/credentials/credentials.js';
import { NO_METADATA } from '../../upstream/http/request-metadata.js';
import { loggedReason } from '../../upstream/http/upstream-fault.js';
import type { ServerInput } from '../records/server-record.js';
import type { ProbeCredentials } from './probe-credentials.js';
import type { Probe, Prober } from './prober.js';

/** Whose share of connections to authorization servers probes have; no token has an empty subject. */
const PROBER = '';
const NO_HEADERS: readonly string[] = [];

export type ProbedServer = Pick<ServerInput, 'url' | 'transport' | 'auth'>;

export class CredentialedProber {
  readonly #prober: Pick<Prober, 'probe' | 'close'>;
  readonly #credentials: ProbeCredentials;

  constructor(prober: Pick<Prober, 'probe' | 'close'>, credentials: ProbeCredentials) {
    this.#prober = prober;
    this.#credentials = credentials;
  }

  /** As `Prober.probe`. */
  async probe({ url, transport, auth }: ProbedServer): Promise<Probe> {
    const { origin, pathname, search } = new URL(url);
    const backend = { name: '', target: { origin, path: pathname + search } };
    const credentials = Credentials.of(auth ?? undefined, backend, PROBER, this.#credentials);
    const fault = await credentials?.refresh(NO_METADATA);
    if (fault !== undefined) return { kind: 'failed', reason: loggedReason(fault) };
    return this.#prober.probe(url, credentials?.addTo(NO_HEADERS, NO_METADATA) ?? NO_HEADERS, transport);
  }

  close(): void {
    this.#prober.close();
    this.#credentials.close();
  }
}
