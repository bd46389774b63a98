// Tells systemd how the service stands. Node.js has no datagram Unix sockets, so systemd's own systemd-notify sends the
// notice; it comes from a child therefore, and the unit needs NotifyAccess=all. One notice at a time, so that they arrive
// in their order; what changes meanwhile goes with the next one. Cold.
import { spawn } from 'node:child_process';
import type { Logger } from '../shared/logger.js';
import { RepeatedLog } from '../shared/repeated-log.js';

/** How systemd can be told, as the environment says. */
export interface ServiceManager {
  /** systemd's NOTIFY_SOCKET; `undefined` outside of a systemd service, where nothing is sent. */
  readonly notifySocket: string | undefined;
  /** Within so long it wants a sign of life; `undefined` when it wants none. */
  readonly watchdogMs: number | undefined;
}

export class ServiceNotice {
  readonly #manager: ServiceManager;
  readonly #environment: NodeJS.ProcessEnv;
  readonly #logger: Logger;
  /** Variable → value, not sent yet. */
  readonly #waiting = new Map<string, string>();
  #isSending = false;
  #isReloading = false;
  readonly #repeated = new RepeatedLog();

  constructor(manager: ServiceManager, environment: NodeJS.ProcessEnv, logger: Logger) {
    this.#manager = manager;
    this.#environment = environment;
    this.#logger = logger;
    const { watchdogMs } = manager;
    // Twice as often as asked for, as sd_watchdog_enabled(3) advises.
    if (watchdogMs !== undefined) setInterval(() => this.#send('WATCHDOG', '1'), watchdogMs / 2).unref();
  }

  /** Not while a reload runs: systemd would take it for the end of that. */
  ready(): void {
    if (!this.#isReloading) this.#send('READY', '1');
  }

  /** systemd tells by the time that this is no answer to an earlier signal. */
  reloading(): void {
    this.#isReloading = true;
    // Both in one notice: systemd looks for the time where it finds the other, and for nothing else of it later.
    if (this.#manager.notifySocket === undefined) return;
    this.#waiting.set('MONOTONIC_USEC', String(process.hrtime.bigint() / 1_000n));
    this.#send('RELOADING', '1');
  }

  /** Whether it came to something or not; `status` says what. */
  reloaded(): void {
    this.#isReloading = false;
    this.ready();
  }

  stopping(): void {
    if (this.#manager.notifySocket === undefined) return;
    this.#waiting.set('STOPPING', '1');
    // The program may end before what is under way has come to its end.
    this.#sendWaiting(this.#manager.notifySocket);
  }

  /** @param words one line, shown by `systemctl status`. */
  status(words: string): void {
    this.#send('STATUS', words);
  }

  #send(variable: string, value: string): void {
    if (this.#manager.notifySocket === undefined) return;
    this.#waiting.set(variable, value);
    if (!this.#isSending) this.#sendWaiting(this.#manager.notifySocket);
  }

  /** As assignments, because `systemd-notify --stopping` is younger (systemd 253) than the systems in use. */
  #sendWaiting(socket: string): void {
    if (this.#waiting.size === 0) return;
    const assignments = Array.from(this.#waiting, ([variable, value]) => `${variable}=${value}`);
    this.#waiting.clear();
    this.#isSending = true;
    const environment = { ...this.#environment, NOTIFY_SOCKET: socket };
    const child = spawn('systemd-notify', assignments, { env: environment, stdio: ['ignore', 'ignore', 'inherit'] });
    let isOver = false;
    const onEnd = (fault: string | undefined): void => {
      if (isOver) return;
      isOver = true;
      this.#isSending = false;
      if (fault !== undefined) this.#warn(assignments, fault);
      this.#sendWaiting(socket);
    };
    child.once('error', (error) => onEnd(`systemd-notify cannot be run: ${error.message}`));
    child.once('exit', (status) => onEnd(status === 0 ? undefined : `systemd-notify ended with status ${status}`));
  }

  #warn(assignments: readonly string[], reason: string): void {
    this.#repeated.warn(
      this.#logger,
      reason,
      { assignments, reason },
      'systemd could not be notified of the state of the service',
    );
  }
}
