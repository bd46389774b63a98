// The owner's private Unix socket, on which the other workers pass on requests for its sessions. What guards it: its
// directory (mode 0700), its own mode, and a secret that the primary makes anew at each start. No byte that an HTTP
// caller sends can open a link or end up outside a frame's payload.
import { limits } from '../../shared/limits.js';
import { StandingSocket } from '../../shared/standing-socket.js';
import { HopIntake, type HopIntakeOptions, type OnHopExchange } from './intake.js';

export class HopListener {
  readonly #socket: StandingSocket;
  readonly #intakes = new Set<HopIntake>();

  /**
   * @param path of the socket (`hopSocketPath`).
   * @param onExchange is given each request as it arrives; the answer goes back by the exchange.
   */
  constructor(path: string, secret: Uint8Array, options: HopIntakeOptions, onExchange: OnHopExchange) {
    const { logger } = options;
    const onClosed = (intake: HopIntake): void => void this.#intakes.delete(intake);
    this.#socket = new StandingSocket(path, {
      onConnection: (socket) => this.#intakes.add(new HopIntake(socket, secret, options, onExchange, onClosed)),
      onRenewed: () => logger.warn('the socket for hops was removed; it is made again'),
      onFault: (reason) => logger.error({ reason }, 'the other workers cannot reach this one'),
      connectionsMax: limits.hopLinksMax,
    });
  }

  /** Replaces the socket that a killed worker of the same slot may have left. */
  async listen(): Promise<void> {
    await this.#socket.listen();
  }

  /** Ends every link, aborts the exchanges on them and removes the socket. */
  async close(): Promise<void> {
    const closed = this.#socket.close();
    for (const intake of this.#intakes) intake.close();
    await closed;
  }
}
