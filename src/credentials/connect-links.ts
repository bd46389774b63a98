// Links to the pages of the control plane where a user consents, in a browser, to a backend's access. Each link contains a ticket for one
// user and one backend. Cold path: made when a caller is told that consent is missing.
import type { SecretKeys } from './secrets/secret-keys.js';
import { sealTicket } from './secrets/connect-ticket.js';
import type { UserAuth, UpstreamTarget } from '../user-config/index.js';

/** A backend as its user knows it, by name. */
export interface NamedBackend {
  readonly name: string;
  readonly target: UpstreamTarget;
}

export class ConnectLinks {
  readonly #connectUrl: string | undefined;
  readonly #keys: SecretKeys;

  /** @param connectUrl scheme, host and port of the control plane for browsers; without it there are no links. */
  constructor(connectUrl: string | undefined, keys: SecretKeys) {
    this.#connectUrl = connectUrl;
    this.#keys = keys;
  }

  linkTo({ name, target }: NamedBackend, auth: UserAuth, subject: string): string | undefined {
    if (this.#connectUrl === undefined) return undefined;
    const { origin, path } = target;
    const ticket = sealTicket<UserAuth>(this.#keys, { subject, backendName: name, origin, path, auth }, Date.now());
    return ticket && `${this.#connectUrl}/connect/${encodeURIComponent(name)}?ticket=${ticket}`;
  }
}
