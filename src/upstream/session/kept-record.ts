// What an upstream session keeps of what its backend said when it was opened, as far as the memory of sessions has room for its
// words. Capabilities outlive the record: whoever asks for what they promise is what opens the session again.
import type { ExperimentalCapability } from '../../protocol/capabilities.js';
import type { UpstreamSessionRecord, WordMemory } from './upstream-session-record.js';

export class KeptRecord {
  readonly #memory: WordMemory;
  #record: UpstreamSessionRecord | undefined;
  #capabilities: number | undefined;
  #experimental: readonly ExperimentalCapability[] | undefined;
  /** What the record's instructions weigh, and what the backend declared as experimental. */
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

  /** The same of methods that MCP does not have. */
  get experimental(): readonly ExperimentalCapability[] | undefined {
    return this.#experimental;
  }

  /** In place of one that was dropped. */
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

  /** Whether what is kept is what this says of the backend; its instructions are told once, and do not count. */
  says({ capabilities, experimental }: UpstreamSessionRecord): boolean {
    return capabilities === this.#capabilities && wordsOf(experimental) === wordsOf(this.#experimental);
  }

  /** The session is open no more. */
  drop(): void {
    this.#record = undefined;
    this.#memory.drop(this.#instructionBytes);
    this.#instructionBytes = 0;
  }

  /** It will not be opened again. */
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
