// What calls of tools depend on, as the backend last listed it to this upstream session; the lists of other sessions do not count: tool
// parameters that calls must repeat in `mcp-param-*` headers, and what apps call the backend by. Kept in the session's memory, if any.
import type { MirroredParam, ToolMirrors, ExtraCapability, Era } from '../../mcp/index.js';
import { KIB } from '../../shared/index.js';

// Plain data about an open upstream session, for the code that uses it and for the session's record.

/** What is stored about an open upstream session: all that another process needs to continue it. */
export interface UpstreamSessionRecord {
  /** Whether the backend is spoken to in a session or without one. */
  readonly era: Era;
  /** The backend's session id; `''` when it gave none (C09), and in the modern era. */
  readonly sessionId: string;
  /** The cookies that it has set for the session, as they are sent; absent for none. */
  readonly cookies?: string | undefined;
  /** The version with which the backend answered (decisions 2.4). */
  readonly protocolVersion: string;
  /** The capabilities that the backend declared, as bits of `capability`. */
  readonly capabilities: number;
  /** The experimental capabilities and extensions that it declared; `undefined` for none. */
  readonly named: readonly ExtraCapability[] | undefined;
  /** Passed to the client with the session's `initialize`; `undefined` where another process opened the session. */
  readonly instructions: string | undefined;
}

/** The memory that texts from a backend count against: that of a session. */
export interface TextMemory {
  /** @returns the counted bytes, to be passed to `drop` later; `undefined` when there is no room for the text. */
  tryKeepText(text: string): number | undefined;
  drop(bytes: number): void;
}

/** The same in bytes, for what waits or is incomplete: a part of the subject's share of session memory. */
export interface SessionShare {
  hasRoomFor(bytes: number): boolean;
  keep(bytes: number): void;
  drop(bytes: number): void;
}

/**
 * Tools with `x-mcp-header` kept per upstream session, as JSON. Beyond that, further ones are not kept, except the tool whose call was last
 * refused, which comes first when the list is read for it.
 */
export const MIRRORS_CHARS_MAX = 32 * KIB;

export class KnownMirrors {
  readonly #memory: TextMemory;
  #byTool: ReadonlyMap<string, readonly MirroredParam[] | undefined> = new Map();
  #apps: ReadonlySet<string> = new Set();
  #bytes = 0;
  /** The tool whose parameters were last missed: it is kept first when there is no room for all. */
  #missed = '';

  constructor(memory: TextMemory) {
    this.#memory = memory;
  }

  /** @param tools all tools that have such parameters now. @param apps names of tools, and URIs of pages. */
  learn(tools: readonly ToolMirrors[], apps: readonly string[] = []): void {
    this.drop();
    const kept: ToolMirrors[] = [];
    let text = '';
    for (const tool of this.#inOrder(tools)) {
      const words = JSON.stringify(tool);
      if (text.length + words.length > MIRRORS_CHARS_MAX) break;
      text += words;
      kept.push(tool);
    }
    const names = apps.filter((name) => (text.length + name.length <= MIRRORS_CHARS_MAX ? (text += name) : ''));
    const bytes = this.#memory.tryKeepText(text);
    if (bytes === undefined) return;
    this.#bytes = bytes;
    this.#apps = new Set(names);
    // If a list has two tools of one name, the first counts.
    this.#byTool = new Map(kept.reverse());
  }

  #inOrder(tools: readonly ToolMirrors[]): readonly ToolMirrors[] {
    const missed = tools.find(([name]) => name === this.#missed);
    return missed === undefined ? tools : [missed, ...tools.filter((tool) => tool !== missed)];
  }

  /** Called when the tools are about to be listed because this tool's parameters are unknown. */
  miss(tool: string): void {
    this.#missed = tool;
  }

  /** Whether the tool has such parameters but they are unknown, because it was too large to be read. */
  isUnread(tool: string): boolean {
    return this.#byTool.has(tool) && this.#byTool.get(tool) === undefined;
  }

  /** @param tool as the backend calls it. */
  of(tool: string): readonly MirroredParam[] | undefined {
    return this.#byTool.get(tool);
  }

  /** Whether apps call the backend by this. */
  hasApp(name: string): boolean {
    return this.#apps.has(name);
  }

  drop(): void {
    this.#memory.drop(this.#bytes);
    this.#bytes = 0;
    this.#byTool = new Map();
    this.#apps = new Set();
  }
}
