// What an upstream session keeps of its backend's statements at its opening, as far as the session memory has room for the texts.
// Capabilities are kept longer than the record: a request that relies on them is what opens the session again.
import type { NamedCapability } from '../../protocol/capabilities.js';
import type { UpstreamSessionRecord, WordMemory } from './upstream-session-record.js';

export class KeptRecord {
  readonly #memory: WordMemory;
  #record: { -readonly [Member in keyof UpstreamSessionRecord]: UpstreamSessionRecord[Member] } | undefined;
  #capabilities: number | undefined;
  #named: readonly NamedCapability[] | undefined;
  /** The counted bytes of the record's instructions, and of the named capabilities. */
  #instructionBytes = 0;
  #namedBytes = 0;

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

  /** The same for experimental capabilities and extensions. */
  get named(): readonly NamedCapability[] | undefined {
    return this.#named;
  }

  /** Keeps a record after the previous one was dropped. */
  keep(record: UpstreamSessionRecord): void {
    const { instructions, named, capabilities } = record;
    this.#capabilities = capabilities;
    this.#keepNamed(named);
    this.#record = { ...record };
    if (instructions === undefined && named === this.#named) return;
    const bytes = instructions === undefined ? undefined : this.#memory.tryKeepText(instructions);
    this.#instructionBytes = bytes ?? 0;
    const kept = bytes === undefined ? undefined : instructions;
    this.#record.instructions = kept;
    this.#record.named = this.#named;
  }

  /** Whether the record says the same about the backend as what is kept; instructions are passed on only once, and do not count. */
  says({ capabilities, named }: UpstreamSessionRecord): boolean {
    return capabilities === this.#capabilities && wordsOf(named) === wordsOf(this.#named);
  }

  /** The backend calls the session by another id. */
  rename(sessionId: string): void {
    if (this.#record !== undefined) this.#record.sessionId = sessionId;
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
    this.#keepNamed(undefined);
  }

  #keepNamed(named: readonly NamedCapability[] | undefined): void {
    this.#memory.drop(this.#namedBytes);
    const words = wordsOf(named);
    const bytes = words === undefined ? 0 : this.#memory.tryKeepText(words);
    this.#named = bytes === undefined ? undefined : named;
    this.#namedBytes = bytes ?? 0;
  }
}

function wordsOf(named: readonly NamedCapability[] | undefined): string | undefined {
  return named?.map(({ name, value }) => name + value).join('');
}
