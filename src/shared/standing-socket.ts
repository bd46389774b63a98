// A Unix socket that others find at its path for as long as this process listens, in a folder that is private to its
// user. Cleaners of temporary files and people remove such folders: the listener then lives on, but nobody finds it. So
// the path is looked at from time to time, and folder and socket are made again. Cold.
import { once } from 'node:events';
import { lstatSync, mkdirSync } from 'node:fs';
import { chmod, lstat, rm } from 'node:fs/promises';
import { createServer, type Server, type Socket } from 'node:net';
import { dirname } from 'node:path';
import { limits } from './limits.js';

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

  /** Replaces the socket that a killed process may have left. Rejects when the folder or the socket cannot be made. */
  async listen(): Promise<void> {
    await this.#open();
    this.#scheduleCheck();
  }

  /** Accepts no more and removes the socket; resolves when every connection has ended. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    if (!this.#server.listening) return;
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  #createServer(): Server {
    const server = createServer(this.#options.onConnection);
    server.on('error', (error) => this.#options.onFault(error.message));
    server.maxConnections = this.#options.connectionsMax;
    return server;
  }

  async #open(): Promise<void> {
    ensurePrivateFolder(dirname(this.#path));
    await rm(this.#path, { force: true });
    this.#server.listen(this.#path);
    await once(this.#server, 'listening');
    await chmod(this.#path, 0o600);
    this.#identity = await this.#readIdentity();
  }

  #scheduleCheck(): void {
    this.#timer = setTimeout(() => void this.#check(), this.#options.checkMs ?? limits.standingSocketCheckMs);
    this.#timer.unref();
  }

  async #check(): Promise<void> {
    try {
      const identity = await this.#readIdentity();
      if (identity !== this.#identity && !this.#isClosed) await this.#renew();
      this.#lastFault = undefined;
    } catch (error) {
      this.#tell(error instanceof Error ? error.message : String(error));
    }
    if (!this.#isClosed) this.#scheduleCheck();
  }

  async #renew(): Promise<void> {
    this.#identity = undefined;
    // The old one first: closing it removes whatever stands at the path. Its connections are not touched by that.
    if (this.#server.listening) this.#server.close();
    this.#server = this.#createServer();
    await this.#open();
    if (this.#isClosed) this.#server.close();
    else this.#options.onRenewed();
  }

  #tell(fault: string): void {
    if (fault === this.#lastFault) return;
    this.#lastFault = fault;
    this.#options.onFault(fault);
  }

  /** `undefined` when nothing is there. */
  async #readIdentity(): Promise<string | undefined> {
    try {
      const { dev, ino } = await lstat(this.#path);
      return `${dev}:${ino}`;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      throw error;
    }
  }
}

/**
 * Makes the folder for this user alone when it is not there.
 * @throws when it cannot be made, or when somebody else could have put it there or could write into it.
 */
export function ensurePrivateFolder(path: string): void {
  mkdirSync(path, { recursive: true, mode: 0o700 });
  if (!isPrivateFolder(path)) throw new Error(`${path} is not a folder of this user's alone: remove it`);
}

export function isPrivateFolder(path: string): boolean {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  return stats?.isDirectory() === true && stats.uid === process.getuid?.() && (stats.mode & 0o077) === 0;
}
