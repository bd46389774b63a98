// Where one upstream session gets its user's access token: from the user's grant for its backend. Warm path.
import type { UserAuth } from '../../user-config/auth.js';
import { upstreamFault, type UpstreamFault } from '../http/upstream-fault.js';
import type { NamedBackend } from './connect-links.js';
import type { CredentialRead } from './token.js';
import type { UserTokens, WantedGrant } from './user-tokens.js';
import { userGrantKey } from './user-refresh.js';

const NONE: readonly string[] = [];

export class UserSource {
  readonly #tokens: UserTokens;
  readonly #wanted: WantedGrant;
  #headers: readonly string[] | undefined;

  constructor(auth: UserAuth, backend: NamedBackend, subject: string, tokens: UserTokens) {
    const { origin } = backend.target;
    const consent: UpstreamFault = {
      ...upstreamFault('consent-missing', true),
      connect: () => tokens.links.linkTo(backend, auth, subject),
    };
    this.#tokens = tokens;
    this.#wanted = { key: userGrantKey(auth, backend.target, subject), subject, origin, auth, consent };
  }

  read(): CredentialRead | Promise<CredentialRead> {
    const read = this.#tokens.read(this.#wanted);
    return read instanceof Promise ? read.then((late) => this.#keep(late)) : this.#keep(read);
  }

  current(): readonly string[] {
    // A session opened by another process may have to send a message before anything here has called `read`.
    if (this.#headers === undefined) void this.read();
    return this.#headers ?? NONE;
  }

  refuse(headers: readonly string[]): boolean {
    return this.#tokens.refuse(this.#wanted, headers);
  }

  #keep(read: CredentialRead): CredentialRead {
    this.#headers = 'kind' in read ? NONE : read;
    return read;
  }
}
