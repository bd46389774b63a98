// A prober that shows a server what its `auth` asks for. The secrets are had here, in the process that reads the store, and
// the thread is given headers alone. Cold.
import type { Secrets } from '../../upstream/secrets.js';
import { loggedReason } from '../../upstream/upstream-fault.js';
import type { BackendAuth } from '../../user-config/auth.js';
import type { Probe, Prober } from './prober.js';

export class CredentialedProber {
  readonly #prober: Pick<Prober, 'probe' | 'close'>;
  readonly #secrets: Pick<Secrets, 'headersOf'>;

  constructor(prober: Pick<Prober, 'probe' | 'close'>, secrets: Pick<Secrets, 'headersOf'>) {
    this.#prober = prober;
    this.#secrets = secrets;
  }

  /** As `Prober.probe`. */
  async probe(url: string, auth?: BackendAuth): Promise<Probe> {
    const headers = auth === undefined ? [] : await this.#secrets.headersOf(auth, new URL(url).origin);
    return 'kind' in headers ? { kind: 'failed', reason: loggedReason(headers) } : this.#prober.probe(url, headers);
  }

  close(): void {
    this.#prober.close();
  }
}
