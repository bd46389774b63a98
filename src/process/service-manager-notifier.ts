// Notifies systemd of the service's state. Node.js has no datagram Unix sockets, so a child process, systemd-notify, sends the messages,
// and the unit needs NotifyAccess=all. Messages are sent one at a time, so that they arrive in order. Cold path.
import { spawn } from 'node:child_process';
import { type Logger, RepeatedLog } from '../shared/index.js';

export interface ServiceManager {
  /** The value of NOTIFY_SOCKET; `undefined` outside of systemd. */
  readonly notifySocket: string | undefined;
  /** The time within which systemd expects a watchdog message; `undefined` for none. */
  readonly watchdogMs: number | undefined;
}

export class ServiceManagerNotifier {
  readonly #manager: ServiceManager;
  readonly #environment: NodeJS.ProcessEnv;
  readonly #logger: Logger;
  /** Values that are not sent yet, by variable. */
  readonly #unsent = new Map<string, string>();
  #isSending = false;
  #isReloading = false;
  readonly #repeated = new RepeatedLog();

  constructor(manager: ServiceManager, environment: NodeJS.ProcessEnv, logger: Logger) {
    this.#manager = manager;
    this.#environment = environment;
    this.#logger = logger;
    const { watchdogMs } = manager;
    // Half of the time, as sd_watchdog_enabled(3) advises.
    if (watchdogMs !== undefined) setInterval(() => this.#send('WATCHDOG', '1'), watchdogMs / 2).unref();
  }

  /** Reports that the service is ready. Not during a reload: systemd would take the message for the reload's end. */
  notifyReady(): void {
    if (!this.#isReloading) this.#send('READY', '1');
  }

  /** Reports a reload. The timestamp tells systemd that this answers no earlier signal. */
  notifyReloading(): void {
    this.#isReloading = true;
    // Both variables go in one message.
    this.#unsent.set('MONOTONIC_USEC', String(process.hrtime.bigint() / 1_000n));
    this.#send('RELOADING', '1');
  }

  /** Reports the end of a reload, successful or not. */
  notifyReloaded(): void {
    this.#isReloading = false;
    this.notifyReady();
  }

  notifyStopping(): void {
    if (this.#manager.notifySocket === undefined) return;
    this.#unsent.set('STOPPING', '1');
    // The message is sent at once, because the program may end.
    this.#sendUnsent(this.#manager.notifySocket);
  }

  /** Reports the status. @param words for `systemctl status`. */
  notifyStatus(words: string): void {
    this.#send('STATUS', words);
  }

  #send(variable: string, value: string): void {
    if (this.#manager.notifySocket === undefined) return;
    this.#unsent.set(variable, value);
    if (!this.#isSending) this.#sendUnsent(this.#manager.notifySocket);
  }

  /** Sends all unsent values, as variables: the option `--stopping` of systemd-notify needs systemd 253. */
  #sendUnsent(socket: string): void {
    if (this.#unsent.size === 0) return;
    const assignments = Array.from(this.#unsent, ([variable, value]) => `${variable}=${value}`);
    this.#unsent.clear();
    this.#isSending = true;
    const environment = { ...this.#environment, NOTIFY_SOCKET: socket };
    const child = spawn('systemd-notify', assignments, { env: environment, stdio: ['ignore', 'ignore', 'inherit'] });
    const onEnd = (fault: string | undefined): void => {
      this.#isSending = false;
      if (fault !== undefined) this.#warn(assignments, fault);
      this.#sendUnsent(socket);
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
