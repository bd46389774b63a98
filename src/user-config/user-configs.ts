// A worker's compiled user configs. Each is reused while it is cached and its bytes are the same: another object for a virtual host
// means that its config may have changed. Hot path.
import type { UpstreamOptions } from '../config/index.js';
import { limits, KIB, RecentMap } from '../shared/index.js';
import { compileUserConfig } from './compile-config.js';
import type { UserConfigRead, CompiledUserConfig, CompiledVirtualHost } from './compiled-config.js';
import { ConfigReader } from './config-rows.js';
import type { ConfigOutcome, ConfigTask } from './config-thread.js';
import { TaskThread } from './task-thread.js';
import { decodeUserConfig } from './user-config-schema.js';
import type { Store } from '../store/index.js';

/** The virtual host as it is now. `gone`: the subject may no longer use it. `unknown`: its config cannot be read now. */
export type CurrentHost = CompiledVirtualHost | 'gone' | 'unknown';

/** Reads the current virtual host, for work that outlasts its request. Never throws or rejects. */
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

// Tells which of two compiled configs was read later. A request carries the config that it was admitted with, which may be older than a
// config that another request has read since.

const configNumbers = new WeakMap<CompiledVirtualHost, number>();
let lastConfigNumber = 0;

/** The number of a config whose bytes have just been read. */
export function nextConfigNumber(): number {
  lastConfigNumber += 1;
  return lastConfigNumber;
}

/** Gives a config its number. @param number taken when the config's bytes were read. */
export function numberConfig(config: CompiledUserConfig, number: number): void {
  for (const virtualHost of config.virtualHosts.values()) configNumbers.set(virtualHost, number);
}

/** Whether `one` was read before `other`; false if that is not known. */
export function isOlderConfig(one: CompiledVirtualHost, other: CompiledVirtualHost): boolean {
  const number = configNumbers.get(one);
  return number !== undefined && number < (configNumbers.get(other) ?? 0);
}

// A small config is compiled at once; a large one in a thread, because it would block the event loop for up to a second. The rows
// that the thread returns are assembled in slices.

/** A config of up to this size is compiled on the event loop, in up to 8 ms. */
export const CONFIG_INLINE_BYTES_MAX = 32 * KIB;

function foundRead(config: CompiledUserConfig, oddities = ''): UserConfigRead {
  return { kind: 'found', config, ...(oddities !== '' && { oddities }) };
}

function invalidRead(issues: string): UserConfigRead {
  return { kind: 'failed', reason: `the user config cannot be decoded: ${issues}` };
}

/** Assembles a config from its rows, in slices of at most `limits.turnMs`. */
async function assembleConfig(reader: ConfigReader): Promise<CompiledUserConfig> {
  let endMs = performance.now() + limits.turnMs;
  while (reader.readRow()) {
    if (performance.now() < endMs) continue;
    await new Promise(setImmediate);
    endMs = performance.now() + limits.turnMs;
  }
  return reader.config;
}

/** The most configs that a worker caches. The least recently used are compiled again when needed. */
const USER_CONFIG_CACHE_ENTRIES_MAX = 50_000;

interface CompiledEntry {
  readonly value: Buffer;
  readonly read: UserConfigRead;
}

/** A compilation in progress, which all reads meanwhile share. */
interface CompilationInProgress {
  readonly value: Buffer;
  readonly read: Promise<UserConfigRead>;
}

const MISSING: UserConfigRead = Object.freeze({ kind: 'missing' });

export class UserConfigs {
  readonly #store: Pick<Store, 'read' | 'forget'>;
  readonly #upstreamMode: UpstreamOptions['mode'];
  readonly #thread = new TaskThread<ConfigTask, ConfigOutcome>(new URL('./config-thread.js', import.meta.url));
  readonly #onOddities: (subject: string, oddities: string) => void;
  /** The compilation of each subject's newest config in the thread, while it is in progress. */
  readonly #compiling = new Map<string, CompilationInProgress>();
  readonly #compiled = new RecentMap<CompiledEntry>(
    USER_CONFIG_CACHE_ENTRIES_MAX,
    limits.cacheBytesMax,
    ({ value }) => value.length,
  );

  /** @param onOddities called with members that look misspelt, and names that not every client accepts. */
  constructor(
    store: Pick<Store, 'read' | 'forget'>,
    upstreamMode: UpstreamOptions['mode'],
    onOddities: (subject: string, oddities: string) => void = () => {},
  ) {
    this.#store = store;
    this.#onOddities = onOddities;
    this.#upstreamMode = upstreamMode;
  }

  /**
   * Reads a compiled config, synchronously if the store is, except for a large config that is not compiled yet. Never throws or rejects.
   * @param stored what the store has of the subject.
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

  /** Makes the next read see everything written before this call. Compiled configs stay, for use with the same bytes. */
  forget(subject: string): void {
    this.#store.forget(subject);
  }

  async close(): Promise<void> {
    await this.#thread.close();
  }

  #compile(subject: string, value: Buffer): UserConfigRead | Promise<UserConfigRead> {
    if (value.length === 0) return MISSING;
    const pending = this.#compiling.get(subject);
    if (pending?.value.equals(value) === true) return pending.read;
    const number = nextConfigNumber();
    // A config that is too large is refused unparsed.
    if (value.length > CONFIG_INLINE_BYTES_MAX && value.length <= limits.userConfigBytesMax) {
      const compiled = this.#compileInThread(value).then((late) => withNumber(late, number));
      return this.#cacheWhenCompiled(subject, value, compiled);
    }
    // An older, larger config that is still being compiled must not replace this one in the cache.
    this.#compiling.delete(subject);
    const decoding = decodeUserConfig(value);
    const read = decoding.ok
      ? withNumber(foundRead(compileUserConfig(decoding.config, this.#upstreamMode), decoding.oddities), number)
      : invalidRead(decoding.issues);
    // Invalid configs are cached, too, so that they are not decoded for every request.
    this.#remember(subject, value, read);
    return read;
  }

  /** Compiles a config in the thread. Rejects if nothing was found out about it, for example because the thread died. */
  async #compileInThread(value: Buffer): Promise<UserConfigRead> {
    const outcome = await this.#thread.run({ value, upstreamMode: this.#upstreamMode });
    if ('issues' in outcome) return invalidRead(outcome.issues);
    const { buffer, byteOffset, byteLength } = outcome.rows;
    const config = await assembleConfig(new ConfigReader(Buffer.from(buffer, byteOffset, byteLength)));
    return foundRead(config, outcome.oddities);
  }

  #remember(subject: string, value: Buffer, read: UserConfigRead): void {
    this.#compiled.set(subject, { value, read });
    if (read.kind === 'found' && read.oddities !== undefined) this.#onOddities(subject, read.oddities);
  }

  #cacheWhenCompiled(subject: string, value: Buffer, compiled: Promise<UserConfigRead>): Promise<UserConfigRead> {
    const read = compiled.then(
      (settled) => {
        // If a newer config is being compiled, this one is not cached.
        if (this.#endCompilation(subject, read)) this.#remember(subject, value, settled);
        return settled;
      },
      (error: unknown): UserConfigRead => {
        this.#endCompilation(subject, read);
        return { kind: 'failed', reason: `the user config could not be compiled: ${String(error)}` };
      },
    );
    this.#compiling.set(subject, { value, read });
    return read;
  }

  /** Ends a compilation. @returns false if a newer config is being compiled. */
  #endCompilation(subject: string, read: Promise<UserConfigRead>): boolean {
    return this.#compiling.get(subject)?.read === read && this.#compiling.delete(subject);
  }
}

function withNumber(read: UserConfigRead, number: number): UserConfigRead {
  if (read.kind === 'found') numberConfig(read.config, number);
  return read;
}
