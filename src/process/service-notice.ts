// Tells systemd how the service stands. Node.js has no datagram Unix sockets, so systemd's own systemd-notify sends the
// notice; it comes from a child therefore, and the unit needs NotifyAccess=all. Cold.
import { spawn } from 'node:child_process';
import type { Logger } from '../shared/logger.js';

export class ServiceNotice {
  readonly #socket: string | undefined;
  readonly #environment: NodeJS.ProcessEnv;
  readonly #logger: Logger;

  /** @param socket systemd's NOTIFY_SOCKET; `undefined` outside of a systemd service, where nothing is sent. */
  constructor(socket: string | undefined, environment: NodeJS.ProcessEnv, logger: Logger) {
    this.#socket = socket;
    this.#environment = environment;
    this.#logger = logger;
  }

  ready(): void {
    this.#send('READY=1');
  }

  stopping(): void {
    this.#send('STOPPING=1');
  }

  /** As an assignment, because `systemd-notify --stopping` is younger (systemd 253) than the systems in use. */
  #send(assignment: string): void {
    if (this.#socket === undefined) return;
    const environment = { ...this.#environment, NOTIFY_SOCKET: this.#socket };
    const child = spawn('systemd-notify', [assignment], { env: environment, stdio: ['ignore', 'ignore', 'inherit'] });
    const warn = (reason: string): void => {
      this.#logger.warn({ assignment, reason }, 'systemd was not told how the service stands');
    };
    child.once('error', (error) => warn(`systemd-notify cannot be run: ${error.message}`));
    child.once('exit', (status) => {
      if (status !== 0) warn(`systemd-notify ended with status ${status}`);
    });
  }
}
