// What an upstream session keeps of its backend's statements at its opening, as far as the session memory has room for the texts.
// Capabilities are kept longer than the record: a request that relies on them is what opens the session again.
import type { ExperimentalCapability } from '../../protocol/capabilities.js';
import type { UpstreamSessionRecord, WordMemory } from './upstream-session-record.js';

export class KeptRecord {
  readonly #memory: WordMemory;
  #record: UpstreamSessionRecord | undefined;
  #capabilities: number | undefined;
  #experimental: readonly ExperimentalCapability[] | undefined;
  /** The counted bytes of the record's instructions, and of the experimental capabilities. */
  #instructionBytes = 0;
  #experimentalBytes = 0;

  constructor(memory: WordMemory) {
    this.#memory = memory;
  }

  /** `undefined` unless the session is open. */
  get record(): UpstreamSessionRecord | undefined {
    return this.#record;
  }

  /** As the backend declared it when it was last opened: bits of `capability`. */
  get capabilities(): number | undefined {
    return this.#capabilities;
  }

  /** The same for capabilities with methods outside MCP. */
  get experimental(): readonly ExperimentalCapability[] | undefined {
    return this.#experimental;
  }

  /** Keeps a record after the previous one was dropped. */
  keep(record: UpstreamSessionRecord): void {
    const { instructions, experimental, capabilities } = record;
    this.#capabilities = capabilities;
    this.#keepExperimental(experimental);
    this.#record = record;
    if (instructions === undefined && experimental === this.#experimental) return;
    const bytes = instructions === undefined ? undefined : this.#memory.tryKeepText(instructions);
    this.#instructionBytes = bytes ?? 0;
    const kept = bytes === undefined ? undefined : instructions;
    this.#record = { ...record, instructions: kept, experimental: this.#experimental };
  }

  /** Whether the record says the same about the backend as what is kept; instructions are passed on only once, and do not count. */
  says({ capabilities, experimental }: UpstreamSessionRecord): boolean {
    return capabilities === this.#capabilities && wordsOf(experimental) === wordsOf(this.#experimental);
  }

  /** The session is no longer open. */
  drop(): void {
    this.#record = undefined;
    this.#memory.drop(this.#instructionBytes);
    this.#instructionBytes = 0;
  }

  /** The session will not be opened again. */
  dropAll(): void {
    this.drop();
    this.#keepExperimental(undefined);
  }

  #keepExperimental(experimental: readonly ExperimentalCapability[] | undefined): void {
    this.#memory.drop(this.#experimentalBytes);
    const words = wordsOf(experimental);
    const bytes = words === undefined ? 0 : this.#memory.tryKeepText(words);
    this.#experimental = bytes === undefined ? undefined : experimental;
    this.#experimentalBytes = bytes ?? 0;
  }
}

function wordsOf(experimental: readonly ExperimentalCapability[] | undefined): string | undefined {
  return experimental?.map(({ name, value }) => name + value).join('');
}
