// The credentials that probes send to servers: secrets, and access tokens, which are requested over separate
// connections. The MCP endpoints of the same process have their own. Cold path.
import type { UpstreamOptions } from '../../config/dataplane-options.js';
import type { Names } from '../../names/names.js';
import { SecretKeys } from '../../secrets/secret-keys.js';
import type { StoredSecrets } from '../../secrets/stored-secrets.js';
import type { UserGrants } from '../../secrets/user-grants.js';
import { DeadlineWheel } from '../../shared/deadline-wheel.js';
import { ConnectLinks } from '../../upstream/credentials/connect-links.js';
import type { OAuthSourceMeans } from '../../upstream/credentials/oauth-source.js';
import { Tokens } from '../../upstream/credentials/tokens.js';
import { UserTokens } from '../../upstream/credentials/user-tokens.js';
import { Http1Upstream } from '../../upstream/http1/http1-upstream.js';
import { Secrets } from '../../upstream/credentials/secrets.js';

export interface ProbeCredentialsOptions extends Pick<
  UpstreamOptions,
  'connectTimeoutMs' | 'authorities' | 'mode' | 'secretsDirectory' | 'secretKeys' | 'connectUrl'
> {
  readonly names: Names;
  readonly storedSecrets?: StoredSecrets | undefined;
  readonly userGrants?: UserGrants | undefined;
}

export class ProbeCredentials implements OAuthSourceMeans {
  readonly secrets: Secrets;
  readonly tokens: Tokens;
  readonly users: UserTokens;
  readonly mode: UpstreamOptions['mode'];
  readonly #http: Http1Upstream;
  readonly #deadlines = new DeadlineWheel();

  constructor(options: ProbeCredentialsOptions) {
    const { connectTimeoutMs, mode, secretsDirectory, names, storedSecrets, userGrants: grants } = options;
    const nowMs = (): number => performance.now();
    this.#http = new Http1Upstream({ connectTimeoutMs, names, authorities: options.authorities });
    this.secrets = new Secrets(secretsDirectory, nowMs, storedSecrets);
    const means = { http: this.#http, deadlines: this.#deadlines };
    this.tokens = new Tokens(means, { nowMs, random: Math.random });
    const links = new ConnectLinks(options.connectUrl, new SecretKeys(options.secretKeys));
    const { secrets } = this;
    this.users = new UserTokens({ ...means, secrets, mode, links, grants }, { nowMs: Date.now, random: Math.random });
    this.mode = mode;
  }

  close(): void {
    this.#deadlines.stop();
    void this.#http.close();
  }
}
