// A prober that authenticates to servers as their `auth` requires. Secrets and tokens are obtained here, in the process that reads the
// store; the probe thread gets only headers. Cold path.
import { type OAuthSourceMeans, Credentials } from '../../credentials/index.js';
import { NO_METADATA, loggedReason } from '../../http-client/index.js';
import type { ServerInput } from '../records/server-record.js';
import type { Probe, Prober } from './prober.js';

/** The subject whose share of connections to authorization servers probes use; no token has an empty subject. */
const PROBER = '';
const NO_HEADERS: readonly string[] = [];

type ProbedServer = Pick<ServerInput, 'url' | 'transport' | 'auth'>;

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
