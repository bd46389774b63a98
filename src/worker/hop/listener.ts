// The owner's private Unix socket, over which other workers pass on requests for its sessions. It is guarded by its directory
// (mode 0700), its own mode, and a secret that the primary generates at each start. No byte sent by an HTTP caller can open a
// link or end up outside a frame's payload.
import { RestoredSocket } from '../../process/index.js';
import { HopIntake, type HopIntakeOptions, type OnHopExchange } from './intake.js';

/**
 * Links that an owner accepts: two for each other worker, as a restarted worker's old link may still be open. Beyond that, a new one is
 * closed.
 */
export const HOP_LINKS_MAX = 2_048;

export class HopListener extends RestoredSocket {
  readonly #intakes: Set<HopIntake>;

  /**
   * @param path of the socket (`hopSocketPath`).
   * @param onExchange is given each request as it arrives; the answer goes back through the exchange.
   */
  constructor(path: string, secret: Uint8Array, options: HopIntakeOptions, onExchange: OnHopExchange) {
    const { logger } = options;
    const intakes = new Set<HopIntake>();
    const onClosed = (intake: HopIntake): void => void intakes.delete(intake);
    super(path, {
      onConnection: (socket) => intakes.add(new HopIntake(socket, secret, options, onExchange, onClosed)),
      onRenewed: () => logger.warn('the socket for hops was removed; it is made again'),
      onFault: (reason) => logger.error({ reason }, 'the other workers cannot reach this one'),
      connectionsMax: HOP_LINKS_MAX,
    });
    this.#intakes = intakes;
  }

  /** A successor has the slot, and the other workers go there. Resolves when every request that came here is answered. */
  async leave(): Promise<void> {
    for (const intake of this.#intakes) intake.leave();
    await super.close();
  }

  /** Ends every link, aborts the exchanges on them and removes the socket. */
  override async close(): Promise<void> {
    const closed = super.close();
    for (const intake of this.#intakes) intake.close();
    await closed;
  }
}
