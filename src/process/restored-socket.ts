// A Unix socket in a folder private to its user. Cleaners of temporary files may remove the folder, so that no process finds the socket: so
// folder and socket are created again. A successor in another process renames its own socket to the path, in one step. Cold path.
import { once } from 'node:events';
import { lstatSync, renameSync, rmSync } from 'node:fs';
import { chmod, rm } from 'node:fs/promises';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { dirname } from 'node:path';
import { makeDirectory } from '../shared/index.js';

/** Interval between checks of the path. */
export const SOCKET_CHECK_MS = 2_000;

interface RestoredSocketOptions {
  readonly onConnection: (socket: Socket) => void;
  /** Called when the socket was gone, and was created again. Its connections continue. */
  readonly onRecreated: () => void;
  /** Called when the socket cannot be created again, or cannot accept connections, and when the reason changes. */
  readonly onFault: (reason: string) => void;
  /** The most connections. One more is closed. */
  readonly connectionsMax: number;
  /** The interval between checks, which is shorter in tests. */
  readonly checkIntervalMs?: number;
}

export class RestoredSocket {
  readonly #path: string;
  readonly #options: RestoredSocketOptions;
  #server: Server;
  /** Device and inode of the file. */
  #fileIdentity: string | undefined;
  #lastFault: string | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(path: string, options: RestoredSocketOptions) {
    this.#path = path;
    this.#options = options;
    this.#server = this.#createServer();
  }

  /** Listens, in place of another process's socket. Rejects when the folder or the socket cannot be created. */
  async listen(): Promise<void> {
    await this.prepare();
    this.moveIntoPlace();
  }

  /** Listens at a temporary path beside the final one. Rejects as `listen` does. */
  async prepare(): Promise<void> {
    const preparedPath = this.#preparedPath;
    ensurePrivateFolder(dirname(this.#path));
    await rm(preparedPath, { force: true });
    this.#server.listen(preparedPath);
    await once(this.#server, 'listening');
    await chmod(preparedPath, 0o600);
  }

  /** Renames the prepared socket to the path. */
  moveIntoPlace(): void {
    renameSync(this.#preparedPath, this.#path);
    this.#fileIdentity = this.#readIdentity();
    this.#scheduleCheck();
  }

  /** Stops accepting, and removes the socket unless it is a successor's; resolves when every connection has ended. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    if (!this.#server.listening) return;
    if (this.#readIdentity() === this.#fileIdentity) rmSync(this.#path, { force: true });
    // Closing removes only the temporary path.
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
    this.#timer = setTimeout(() => void this.#check(), this.#options.checkIntervalMs ?? SOCKET_CHECK_MS);
    this.#timer.unref();
  }

  async #check(): Promise<void> {
    try {
      const identity = this.#readIdentity();
      const isGone = identity !== this.#fileIdentity && !(identity !== undefined && (await isListenedAt(this.#path)));
      if (isGone && !this.#isClosed) await this.#recreate();
      this.#lastFault = undefined;
    } catch (error) {
      this.#reportFault(error instanceof Error ? error.message : String(error));
    }
    if (!this.#isClosed) this.#scheduleCheck();
  }

  async #recreate(): Promise<void> {
    this.#fileIdentity = undefined;
    // The connections of the old socket stay open.
    if (this.#server.listening) this.#server.close();
    this.#server = this.#createServer();
    await this.prepare();
    if (this.#isClosed) {
      this.#server.close();
      return;
    }
    this.moveIntoPlace();
    this.#options.onRecreated();
  }

  #reportFault(fault: string): void {
    if (fault === this.#lastFault) return;
    this.#lastFault = fault;
    this.#options.onFault(fault);
  }

  /** The identity of the file at the path; `undefined` when nothing is there. */
  #readIdentity(): string | undefined {
    const stats = lstatSync(this.#path, { throwIfNoEntry: false });
    return stats && `${stats.dev}:${stats.ino}`;
  }
}

/** The temporary path where a process creates the socket. No other path that it needs is longer. */
export function preparedSocketPath(path: string, processId: number = process.pid): string {
  return `${path}.${processId}`;
}

/** Whether another process listens at the path. */
async function isListenedAt(path: string): Promise<boolean> {
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

/** Creates the folder. @throws when it cannot be created, or is not for this user alone. */
export function ensurePrivateFolder(path: string): void {
  makeDirectory(path);
  if (!isPrivateFolder(path)) throw new Error(`${path} is not a folder that only this user can access: remove it`);
}

export function isPrivateFolder(path: string): boolean {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  return stats?.isDirectory() === true && stats.uid === process.getuid!() && (stats.mode & 0o077) === 0;
}
