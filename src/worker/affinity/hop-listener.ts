// The owner's private Unix socket, on which the other workers pass on requests for its sessions. What guards it: its
// directory (mode 0700), its own mode, and a secret that the primary makes anew at each start. No byte that an HTTP
// caller sends can open a link or end up outside a frame's payload.
import { once } from 'node:events';
import { chmod, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { limits } from '../../shared/limits.js';
import { HopIntake, type HopIntakeOptions, type OnHopExchange } from './hop-intake.js';

export class HopListener {
  readonly #path: string;
  readonly #server: Server;
  readonly #intakes = new Set<HopIntake>();

  /**
   * @param path of the socket (`hopSocketPath`).
   * @param onExchange is given each request as it arrives; the answer goes back by the exchange.
   */
  constructor(path: string, secret: Uint8Array, options: HopIntakeOptions, onExchange: OnHopExchange) {
    this.#path = path;
    const onClosed = (intake: HopIntake): void => void this.#intakes.delete(intake);
    this.#server = createServer((socket) => {
      this.#intakes.add(new HopIntake(socket, secret, options, onExchange, onClosed));
    });
    this.#server.on('error', (error) => options.logger.error({ err: error }, 'hop listener failed'));
    this.#server.maxConnections = limits.hopLinksMax;
  }

  /** Replaces the socket that a killed worker of the same slot may have left. */
  async listen(): Promise<void> {
    await rm(this.#path, { force: true });
    this.#server.listen(this.#path);
    await once(this.#server, 'listening');
    await chmod(this.#path, 0o600);
  }

  /** Ends every link, aborts the exchanges on them and removes the socket. */
  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    for (const intake of this.#intakes) intake.close();
    await closed;
  }
}
