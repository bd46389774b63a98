// A worker's compiled user configs. A compiled config is reused while the stored bytes are the same and it stays in the cache, so that
// another identity of a compiled virtual host means that its config may have changed. Hot path.
import type { UpstreamOptions } from '../config/index.js';
import { limits, KIB, RecentMap } from '../shared/index.js';
import { compileUserConfig } from './compile-config.js';
import type { UserConfigRead, CompiledUserConfig, CompiledVirtualHost } from './compiled-config.js';
import { ConfigReader } from './config-rows.js';
import type { ConfigOutcome, ConfigTask } from './config-thread.js';
import { TaskThread } from './task-thread.js';
import { decodeUserConfig } from './user-config-schema.js';
import type { Store } from '../store/index.js';

/**
 * The state of a virtual host, for work that outlasts the request that started it. `gone`: the subject may no longer use it. `unknown`: it
 * cannot be read now.
 */
export type CurrentHost = CompiledVirtualHost | 'gone' | 'unknown';

/** Never throws or rejects. */
export type ReadHost = (subject: string, virtualHostId: string) => CurrentHost | Promise<CurrentHost>;

export function hostReader(configs: Pick<UserConfigs, 'read'>): ReadHost {
  return (subject, virtualHostId) => {
    const read = configs.read(subject);
    return read instanceof Promise ? read.then((late) => hostIn(late, virtualHostId)) : hostIn(read, virtualHostId);
  };
}

function hostIn(read: Awaited<ReturnType<UserConfigs['read']>>, virtualHostId: string): CurrentHost {
  if (read.kind === 'failed') return 'unknown';
  return (read.kind === 'found' ? read.config.virtualHosts.get(virtualHostId) : undefined) ?? 'gone';
}

// Tells which of two compiled configs was read from the store later. A request carries the config that it was admitted with, which may be
// older than what other requests have brought since, because the request or the reading of the config took long.

const configNumbers = new WeakMap<CompiledVirtualHost, number>();
let lastConfigNumber = 0;

/** The number for a config whose bytes have just been read. */
export function nextConfigNumber(): number {
  lastConfigNumber += 1;
  return lastConfigNumber;
}

/** Numbers a config with the number that was taken when its bytes were read. */
export function numberConfig(config: CompiledUserConfig, number: number): void {
  for (const virtualHost of config.virtualHosts.values()) configNumbers.set(virtualHost, number);
}

/** Whether the bytes of `one` were read before those of `other`; false when that is not known. */
export function isOlderConfig(one: CompiledVirtualHost, other: CompiledVirtualHost): boolean {
  const number = configNumbers.get(one);
  return number !== undefined && number < (configNumbers.get(other) ?? 0);
}

// Compiles the stored bytes of a user config. A small config is compiled at once; a large one, whose parsing would block the event loop for
// up to a second, is compiled in a thread and assembled here a few rows per turn. Cold path: once when a config's bytes change.

/** A user config that is parsed on the event loop, in up to 8 ms. A larger one is parsed in a thread, and its first request waits. */
export const CONFIG_INLINE_BYTES_MAX = 32 * KIB;

class ConfigCompiler {
  readonly #upstreamMode: UpstreamOptions['mode'];
  readonly #thread = new TaskThread<ConfigTask, ConfigOutcome>(new URL('./config-thread.js', import.meta.url));

  constructor(upstreamMode: UpstreamOptions['mode']) {
    this.#upstreamMode = upstreamMode;
  }

  /** @returns a promise for a large config; it rejects when nothing was found out about the config, for example because the thread died. */
  compile(value: Buffer): UserConfigRead | Promise<UserConfigRead> {
    // A config that is too large is refused before it is parsed.
    const isLarge = value.length > CONFIG_INLINE_BYTES_MAX && value.length <= limits.userConfigBytesMax;
    if (isLarge) return this.#compileLarge(value);
    const decoding = decodeUserConfig(value);
    if (!decoding.ok) return undecodable(decoding.issues);
    return found(compileUserConfig(decoding.config, this.#upstreamMode), decoding.oddities);
  }

  async close(): Promise<void> {
    await this.#thread.close();
  }

  async #compileLarge(value: Buffer): Promise<UserConfigRead> {
    const outcome = await this.#thread.run({ value, upstreamMode: this.#upstreamMode });
    if ('issues' in outcome) return undecodable(outcome.issues);
    const { buffer, byteOffset, byteLength } = outcome.rows;
    const config = await assemble(new ConfigReader(Buffer.from(buffer, byteOffset, byteLength)));
    return found(config, outcome.oddities);
  }
}

function found(config: CompiledUserConfig, oddities = ''): UserConfigRead {
  return { kind: 'found', config, ...(oddities !== '' && { oddities }) };
}

function undecodable(issues: string): UserConfigRead {
  return { kind: 'failed', reason: `the user config cannot be decoded: ${issues}` };
}

/** Yields to the event loop after every few rows. */
async function assemble(reader: ConfigReader): Promise<CompiledUserConfig> {
  let endMs = performance.now() + limits.turnMs;
  while (reader.readRow()) {
    if (performance.now() < endMs) continue;
    await new Promise(setImmediate);
    endMs = performance.now() + limits.turnMs;
  }
  return reader.config;
}

/** Compiled user configs that are cached, per worker. Beyond that, the least recently used is dropped, and compiled again when needed. */
const USER_CONFIG_CACHE_ENTRIES_MAX = 50_000;

interface Compiled {
  readonly value: Buffer;
  readonly read: UserConfigRead;
}

/** A large config that is being compiled, shared by all reads meanwhile. */
interface Compiling {
  readonly value: Buffer;
  readonly read: Promise<UserConfigRead>;
}

const missing: UserConfigRead = Object.freeze({ kind: 'missing' });

export class UserConfigs {
  readonly #store: Pick<Store, 'read' | 'forget'>;
  readonly #compiler: ConfigCompiler;
  readonly #onOddities: (subject: string, oddities: string) => void;
  /** The newest compilation of each subject. */
  readonly #compiling = new Map<string, Compiling>();
  readonly #compiled = new RecentMap<Compiled>(
    USER_CONFIG_CACHE_ENTRIES_MAX,
    limits.cacheBytesMax,
    ({ value }) => value.length,
  );

  /** @param onOddities called for each compiled config that has members that look misspelt, or names that not every client accepts. */
  constructor(
    store: Pick<Store, 'read' | 'forget'>,
    upstreamMode: UpstreamOptions['mode'],
    onOddities: (subject: string, oddities: string) => void = () => {},
  ) {
    this.#store = store;
    this.#onOddities = onOddities;
    this.#compiler = new ConfigCompiler(upstreamMode);
  }

  /**
   * The config of a subject. Returns without a promise whenever the store does, except for a large config not compiled yet. Never throws or
   * rejects.
   * @param stored for the call that follows a wait for the store.
   */
  read(subject: string, stored = this.#store.read(subject)): UserConfigRead | Promise<UserConfigRead> {
    if (stored instanceof Promise) return stored.then((settled) => this.read(subject, settled));
    if (stored.kind !== 'found') return stored;
    const { value } = stored;
    const known = this.#compiled.get(subject);
    if (known?.value === value) return known.read;
    if (known?.value.equals(value) !== true) return this.#compile(subject, value);
    this.#compiled.set(subject, { value, read: known.read });
    return known.read;
  }

  /** Makes the next read see everything written before this call. Compiled configs are kept: they are reused only if the bytes match. */
  forget(subject: string): void {
    this.#store.forget(subject);
  }

  async close(): Promise<void> {
    await this.#compiler.close();
  }

  #compile(subject: string, value: Buffer): UserConfigRead | Promise<UserConfigRead> {
    if (value.length === 0) return missing;
    // Configs that cannot be decoded are cached too, so that they are not parsed again for every request.
    const pending = this.#compiling.get(subject);
    if (pending?.value.equals(value) === true) return pending.read;
    const number = nextConfigNumber();
    const read = this.#compiler.compile(value);
    if (read instanceof Promise)
      return this.#awaitCompilation(
        subject,
        value,
        read.then((late) => withNumber(late, number)),
      );
    this.#remember(subject, value, withNumber(read, number));
    return read;
  }

  #remember(subject: string, value: Buffer, read: UserConfigRead): void {
    this.#compiled.set(subject, { value, read });
    if (read.kind === 'found' && read.oddities !== undefined) this.#onOddities(subject, read.oddities);
  }

  #awaitCompilation(subject: string, value: Buffer, compiled: Promise<UserConfigRead>): Promise<UserConfigRead> {
    const read = compiled.then(
      (settled) => {
        // A config written meanwhile is newer, and must not be replaced.
        if (this.#settle(subject, read)) this.#remember(subject, value, settled);
        return settled;
      },
      (error: unknown): UserConfigRead => {
        this.#settle(subject, read);
        return { kind: 'failed', reason: `the user config could not be compiled: ${String(error)}` };
      },
    );
    this.#compiling.set(subject, { value, read });
    return read;
  }

  /** Returns false when a newer config is being compiled. */
  #settle(subject: string, read: Promise<UserConfigRead>): boolean {
    return this.#compiling.get(subject)?.read === read && this.#compiling.delete(subject);
  }
}

function withNumber(read: UserConfigRead, number: number): UserConfigRead {
  if (read.kind === 'found') numberConfig(read.config, number);
  return read;
}
