// The credentials that probes send to servers: secrets, and access tokens, which are requested over separate
// connections. The MCP endpoints of the same process have their own. Cold path.
import type { UpstreamOptions } from '../../config/index.js';
import { type Names, Http1Upstream, NO_METADATA, loggedReason } from '../../http-client/index.js';
import {
  SecretKeys,
  type StoredSecrets,
  type UserGrants,
  ConnectLinks,
  type OAuthSourceMeans,
  Tokens,
  UserTokens,
  Secrets,
  Credentials,
} from '../../credentials/index.js';
import { DeadlineWheel } from '../../fair/index.js';
import type { ServerInput } from '../records/server-record.js';
import type { Probe, Prober } from './prober.js';

// A prober that authenticates to servers as their `auth` requires. Secrets and tokens are obtained here, in the process
// that reads the store; the probe thread gets only headers.

/** The subject whose share of connections to authorization servers probes use; no token has an empty subject. */
const PROBER = '';
const NO_HEADERS: readonly string[] = [];

type ProbedServer = Pick<ServerInput, 'url' | 'transport' | 'auth'>;

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

interface ProbeCredentialsOptions extends Pick<
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
