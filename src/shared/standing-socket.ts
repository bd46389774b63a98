// A Unix socket that others find at its path for as long as this process listens, in a folder that is private to its
// user. Cleaners of temporary files and people remove such folders: the listener then lives on, but nobody finds it. So
// the path is looked at from time to time, and folder and socket are made again. A successor in another process takes the
// path over by putting its own socket there, in one step: whoever connects finds the one or the other. Cold.
import { once } from 'node:events';
import { lstatSync, renameSync, rmSync } from 'node:fs';
import { chmod, rm } from 'node:fs/promises';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { dirname } from 'node:path';
import { limits } from './limits.js';
import { makeDirectory } from './make-directory.js';

export interface StandingSocketOptions {
  readonly onConnection: (socket: Socket) => void;
  /** The socket was gone, and stands at its path again. Connections made before go on. */
  readonly onRenewed: () => void;
  /** It is gone and cannot be made again, or cannot accept. Called when the reason changes; it is tried on. */
  readonly onFault: (reason: string) => void;
  /** Connections at once; one more is closed. */
  readonly connectionsMax: number;
  /** Between two looks at the path, ms; a test may be less patient. */
  readonly checkMs?: number;
}

export class StandingSocket {
  readonly #path: string;
  readonly #options: StandingSocketOptions;
  #server: Server;
  /** What identifies the socket's file. */
  #identity: string | undefined;
  #lastFault: string | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(path: string, options: StandingSocketOptions) {
    this.#path = path;
    this.#options = options;
    this.#server = this.#createServer();
  }

  /** Replaces what another process has at the path. Rejects when the folder or the socket cannot be made. */
  async listen(): Promise<void> {
    await this.prepare();
    this.take();
  }

  /** Listens beside the path, where nobody looks. Rejects as `listen` does. */
  async prepare(): Promise<void> {
    const preparedPath = this.#preparedPath;
    ensurePrivateFolder(dirname(this.#path));
    await rm(preparedPath, { force: true });
    this.#server.listen(preparedPath);
    await once(this.#server, 'listening');
    await chmod(preparedPath, 0o600);
  }

  /** Puts the prepared socket at the path: from here on others find this one. */
  take(): void {
    renameSync(this.#preparedPath, this.#path);
    this.#identity = this.#readIdentity();
    this.#scheduleCheck();
  }

  /**
   * Accepts no more, and removes the socket unless a successor has put its own there; resolves when every connection has
   * ended.
   */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    if (!this.#server.listening) return;
    if (this.#identity !== undefined && this.#readIdentity() === this.#identity) rmSync(this.#path, { force: true });
    // What it was bound to is a name that it has left: nothing else is removed with it.
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  get #preparedPath(): string {
    return preparedSocketPath(this.#path);
  }

  #createServer(): Server {
    const server = createServer(this.#options.onConnection);
    server.on('error', (error) => this.#options.onFault(error.message));
    server.maxConnections = this.#options.connectionsMax;
    return server;
  }

  #scheduleCheck(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#check(), this.#options.checkMs ?? limits.standingSocketCheckMs);
    this.#timer.unref();
  }

  async #check(): Promise<void> {
    try {
      const identity = this.#readIdentity();
      const isGone = identity !== this.#identity && !(identity !== undefined && (await isAnswered(this.#path)));
      if (isGone && !this.#isClosed) await this.#renew();
      this.#lastFault = undefined;
    } catch (error) {
      this.#tell(error instanceof Error ? error.message : String(error));
    }
    if (!this.#isClosed) this.#scheduleCheck();
  }

  async #renew(): Promise<void> {
    this.#identity = undefined;
    // Its connections are not touched by that.
    if (this.#server.listening) this.#server.close();
    this.#server = this.#createServer();
    await this.prepare();
    if (this.#isClosed) {
      this.#server.close();
      return;
    }
    this.take();
    this.#options.onRenewed();
  }

  #tell(fault: string): void {
    if (fault === this.#lastFault) return;
    this.#lastFault = fault;
    this.#options.onFault(fault);
  }

  /** `undefined` when nothing is there. */
  #readIdentity(): string | undefined {
    const stats = lstatSync(this.#path, { throwIfNoEntry: false });
    return stats && `${stats.dev}:${stats.ino}`;
  }
}

/** Where this process makes a socket before it takes the path over; the longest path there is for it. */
export function preparedSocketPath(path: string, processId: number = process.pid): string {
  return `${path}.${processId}`;
}

/** Whether somebody listens there, as a successor does. */
async function isAnswered(path: string): Promise<boolean> {
  const socket = connect(path);
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

/**
 * Makes the folder for this user alone when it is not there.
 * @throws when it cannot be made, or when somebody else could have put it there or could write into it.
 */
export function ensurePrivateFolder(path: string): void {
  makeDirectory(path);
  if (!isPrivateFolder(path)) throw new Error(`${path} is not a folder that only this user can access: remove it`);
}

export function isPrivateFolder(path: string): boolean {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  return stats?.isDirectory() === true && stats.uid === process.getuid?.() && (stats.mode & 0o077) === 0;
}
