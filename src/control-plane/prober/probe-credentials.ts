// What probes show servers: secrets, and access tokens, which are asked for over connections of their own. The MCP endpoints of
// the same process have theirs. Cold.
import type { UpstreamOptions } from '../../config/dataplane-options.js';
import type { Names } from '../../names/names.js';
import type { StoredSecrets } from '../../secrets/stored-secrets.js';
import { DeadlineWheel } from '../../shared/deadline-wheel.js';
import type { OAuthSourceMeans } from '../../upstream/credentials/oauth-source.js';
import { Tokens } from '../../upstream/credentials/tokens.js';
import { Http1Upstream } from '../../upstream/http1/http1-upstream.js';
import { Secrets } from '../../upstream/secrets.js';

export interface ProbeCredentialsOptions extends Pick<
  UpstreamOptions,
  'connectTimeoutMs' | 'mode' | 'secretsDirectory'
> {
  readonly names: Names;
  readonly storedSecrets?: StoredSecrets | undefined;
}

export class ProbeCredentials implements OAuthSourceMeans {
  readonly secrets: Secrets;
  readonly tokens: Tokens;
  readonly mode: UpstreamOptions['mode'];
  readonly #http: Http1Upstream;
  readonly #deadlines = new DeadlineWheel();

  constructor({ connectTimeoutMs, mode, secretsDirectory, names, storedSecrets }: ProbeCredentialsOptions) {
    const nowMs = (): number => performance.now();
    this.#http = new Http1Upstream({ connectTimeoutMs, names });
    this.secrets = new Secrets(secretsDirectory, nowMs, storedSecrets);
    this.tokens = new Tokens({ http: this.#http, deadlines: this.#deadlines }, { nowMs, random: Math.random });
    this.mode = mode;
  }

  close(): void {
    this.#deadlines.stop();
    void this.#http.close();
  }
}
