// This worker's side of the guarantee in decisions 2.8: once a user config write has been answered, every worker serves
// the new config. The write is announced to the primary, which makes every worker drop its cache of the subject.
import type { PrimaryChannel } from '../ipc/channel.js';

export class ForgetAnnouncer {
  readonly #primary: PrimaryChannel;
  readonly #pending = new Map<number, () => void>();
  #lastTicket = 0;

  constructor(primary: PrimaryChannel) {
    this.#primary = primary;
  }

  /** Resolves when every worker has forgotten the subject. The primary bounds how long that can take. */
  announce(subject: string): Promise<void> {
    this.#lastTicket += 1;
    const ticket = this.#lastTicket;
    return new Promise((resolve) => {
      this.#pending.set(ticket, resolve);
      this.#primary.send({ kind: 'written', subject, ticket });
    });
  }

  onAllForgotten(ticket: number): void {
    this.#pending.get(ticket)?.();
    this.#pending.delete(ticket);
  }
}
