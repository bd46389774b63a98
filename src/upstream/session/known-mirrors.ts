// What calls depend on in the list of tools that the backend last gave to this upstream session (lists of other sessions do not count): the
// parameters that a call must repeat in `mcp-param-*` headers, and the tool names and page URIs that MCP Apps of the backend use.
import type { MirroredParam, ToolMirrors, ExtraCapability, Era } from '../../mcp/index.js';
import { KIB } from '../../shared/index.js';

/** What is stored about an open upstream session: all that another process needs to continue it. */
export interface UpstreamSessionRecord {
  /** Whether the backend is spoken to in a session or without one. */
  readonly era: Era;
  /** The backend's session id; `''` when it gave none (C09), and in the modern era. */
  readonly sessionId: string;
  /** The cookies that the backend has set for the session, as a `cookie` header; absent or `''` for none. */
  readonly cookies?: string | undefined;
  /** The version with which the backend answered (specification 2.4). */
  readonly protocolVersion: string;
  /** The capabilities that the backend declared, as bits of `capability`. */
  readonly capabilities: number;
  /** The experimental capabilities and extensions that it declared; `undefined` for none. */
  readonly named: readonly ExtraCapability[] | undefined;
  /** For the answer to the client's `initialize`; `undefined` for none, and where another process opened the session. */
  readonly instructions: string | undefined;
}

/** The memory that texts from a backend count against: that of a session. */
export interface TextBudget {
  /** @returns the counted bytes, to be passed to `drop` later; `undefined` when there is no room for the text. */
  tryKeepText(text: string): number | undefined;
  drop(bytes: number): void;
}

/** The memory of a session for messages that wait or are incomplete, by their bytes: a part of the subject's share. */
export interface SessionShare {
  hasRoomFor(bytes: number): boolean;
  keep(bytes: number): void;
  drop(bytes: number): void;
}

/**
 * Characters of the tools with `x-mcp-header` that an upstream session keeps, as JSON. Beyond that, further ones are not kept; the tool
 * whose call last missed its parameters is kept first.
 */
export const MIRRORS_CHARS_MAX = 32 * KIB;

/** The mirrored parameters of each tool, and the names that apps use. */
export class KnownMirrors {
  readonly #memory: TextBudget;
  #byTool: ReadonlyMap<string, readonly MirroredParam[] | undefined> = new Map();
  #apps: ReadonlySet<string> = new Set();
  #bytes = 0;
  /** The tool that was last given to `noteMissed`; `''` for none. */
  #missed = '';

  constructor(memory: TextBudget) {
    this.#memory = memory;
  }

  /** Replaces all. @param tools those with mirrored parameters. @param apps the tool names and page URIs that apps use. */
  learn(tools: readonly ToolMirrors[], apps: readonly string[] = []): void {
    this.drop();
    const kept: ToolMirrors[] = [];
    let text = '';
    for (const tool of this.#inOrder(tools)) {
      const json = JSON.stringify(tool);
      if (text.length + json.length > MIRRORS_CHARS_MAX) break;
      text += json;
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

  /** The tools are about to be listed because this tool's parameters are unknown: it is kept first when there is no room for all. */
  noteMissed(tool: string): void {
    this.#missed = tool;
  }

  /** Whether the tool has mirrored parameters that are unknown, because the tool was too large to be read. */
  isTooLarge(tool: string): boolean {
    return this.#byTool.has(tool) && this.#byTool.get(tool) === undefined;
  }

  /** @param tool as the backend calls it. */
  of(tool: string): readonly MirroredParam[] | undefined {
    return this.#byTool.get(tool);
  }

  /** Whether an app of the backend uses this tool name or page URI. */
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
