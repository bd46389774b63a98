// Links to the page of the control plane where a user lets the gateway use a backend. Each contains a ticket for one user and
// one backend. Cold path.
import { type SecretKeys, openValue, sealValue } from './secrets/secret-keys.js';
import type { UserAuth, UpstreamTarget } from '../user-config/index.js';
import { randomBytes } from 'node:crypto';
import { limits } from '../shared/index.js';

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

  /** The link for one user and backend. @returns `undefined` if there are no links, or if this one would be too long. */
  linkTo({ name, target }: NamedBackend, auth: UserAuth, subject: string, missingScope?: string): string | undefined {
    if (this.#connectUrl === undefined) return undefined;
    const { origin, path } = target;
    const ticket = sealTicket(this.#keys, { subject, backendName: name, origin, path, auth, missingScope }, Date.now());
    return ticket && `${this.#connectUrl}/connect/${encodeURIComponent(name)}?ticket=${ticket}`;
  }
}

/** Says for which user and backend a browser comes. It is sealed, so that only the gateway can make or read it. */
export interface ConnectTicket {
  /** The ticket's id. Each ticket begins only one consent. */
  readonly id: string;
  readonly subject: string;
  readonly backendName: string;
  readonly origin: string;
  readonly path: string;
  readonly auth: UserAuth;
  /** What the backend misses in the user's token, to be asked for beside what the user has consented to. */
  readonly missingScope?: string | undefined;
  /** When the ticket expires, in ms of the wall clock. */
  readonly expiresAtMs: number;
}

type OpenedTicket =
  | { readonly kind: 'opened'; readonly ticket: ConnectTicket }
  | { readonly kind: 'failed'; readonly reason: 'forged' | 'expired' };

const SEAL_USE = 'connect ticket';
const ID_BYTES = 16;

/** The ticket as a text. @returns `undefined` without a key, or if the ticket would be too long for a URL. */
export function sealTicket(
  keys: SecretKeys,
  contents: Omit<ConnectTicket, 'id' | 'expiresAtMs'>,
  nowMs: number,
): string | undefined {
  if (keys.sealingKey === undefined) return undefined;
  const id = randomBytes(ID_BYTES).toString('base64url');
  const ticket: ConnectTicket = { ...contents, id, expiresAtMs: nowMs + limits.personMsMax };
  const text = sealValue(keys, SEAL_USE, ticket);
  return text.length <= limits.connectTicketCharsMax ? text : undefined;
}

export function openTicket(keys: SecretKeys, text: string, nowMs: number): OpenedTicket {
  const isShort = text.length <= limits.connectTicketCharsMax;
  const ticket = isShort ? openValue<ConnectTicket>(keys, SEAL_USE, text) : undefined;
  if (ticket === undefined) return { kind: 'failed', reason: 'forged' };
  return nowMs < ticket.expiresAtMs ? { kind: 'opened', ticket } : { kind: 'failed', reason: 'expired' };
}
