// Where a user's browser gives the consent that a backend wants: pages of the control plane. Each address has a ticket in it, of one
// user and one backend. Cold: made when somebody is told of it.
import type { SecretKeys } from '../../secrets/secret-keys.js';
import { sealTicket } from '../../secrets/connect-ticket.js';
import type { UserAuth } from '../../user-config/auth.js';
import type { UpstreamTarget } from '../../user-config/upstream-target.js';

/** A backend as its user knows it. */
export interface NamedBackend {
  readonly name: string;
  readonly target: UpstreamTarget;
}

export class ConnectLinks {
  readonly #connectUrl: string | undefined;
  readonly #keys: SecretKeys;

  /** @param connectUrl scheme, host and port of the control plane for browsers; without it there are no addresses. */
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
