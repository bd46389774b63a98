// Compiles the stored bytes of a user config. A small config is compiled at once; a large one, whose parsing would block the event loop for
// up to a second, is compiled in a thread and assembled here a few rows per turn. Cold path: once when a config's bytes change.
import type { UpstreamOptions } from '../config/index.js';
import { limits, KIB } from '../shared/index.js';
import { TaskThread } from './task-thread.js';
import { compileUserConfig } from './compile-config.js';
import type { CompiledUserConfig, UserConfigRead } from './compiled-config.js';
import { ConfigReader } from './config-rows.js';
import type { ConfigOutcome, ConfigTask } from './config-thread.js';
import { decodeUserConfig } from './user-config-schema.js';

/** A user config that is parsed on the event loop, in up to 8 ms. A larger one is parsed in a thread, and its first request waits. */
export const CONFIG_INLINE_BYTES_MAX = 32 * KIB;

export class ConfigCompiler {
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
