// What calls need to know from the backend's latest list of tools in this upstream session: the parameters that a call must repeat in
// `mcp-param-*` headers, and the tool names and URIs of UI resources that MCP Apps use.
import type { MirroredParam, MirroredTool, ExtraCapability, Era } from '../../mcp/index.js';
import { KIB } from '../../shared/index.js';

/** All that another process needs to continue an open upstream session. */
export interface UpstreamSessionRecord {
  readonly era: Era;
  /** The session's id; `''` if the backend gave none (C09), and in the modern era. */
  readonly sessionId: string;
  /** The value of the `cookie` header; absent or `''` for none. */
  readonly cookies?: string | undefined;
  /** The version that the backend answered with (specification 2.4). */
  readonly protocolVersion: string;
  readonly capabilities: number;
  readonly named: readonly ExtraCapability[] | undefined;
  /** The backend's instructions, for the answer to `initialize`; `undefined` for none, and if another process opened the session. */
  readonly instructions: string | undefined;
}

/** Counts texts of backends as session memory. */
export interface TextBudget {
  /** Counts a text. @returns its bytes, to be passed to `drop` later; `undefined` without room. */
  tryKeepText(text: string): number | undefined;
  drop(bytes: number): void;
}

/** Counts messages that wait or are incomplete as session memory. */
export interface MessageBudget {
  hasRoomFor(bytes: number): boolean;
  keep(bytes: number): void;
  drop(bytes: number): void;
}

/** The most characters of JSON that are kept of tools with `x-mcp-header`. The tool of the last `noteMissed` is kept first. */
export const MIRRORS_CHARS_MAX = 32 * KIB;

export class KnownMirrors {
  readonly #textBudget: TextBudget;
  #paramsByTool: ReadonlyMap<string, readonly MirroredParam[] | undefined> = new Map();
  #appNames: ReadonlySet<string> = new Set();
  #bytes = 0;
  #missedTool = '';

  constructor(memory: TextBudget) {
    this.#textBudget = memory;
  }

  /** Replaces all that is known. @param tools those with mirrored parameters. @param apps tool names and UI resources that apps use. */
  learn(tools: readonly MirroredTool[], apps: readonly string[] = []): void {
    this.drop();
    const kept: MirroredTool[] = [];
    let text = '';
    const missed = tools.filter(([name]) => name === this.#missedTool);
    for (const tool of new Set([...missed.slice(0, 1), ...tools])) {
      const json = JSON.stringify(tool);
      if (text.length + json.length > MIRRORS_CHARS_MAX) break;
      text += json;
      kept.push(tool);
    }
    const names = apps.filter((name) => (text.length + name.length <= MIRRORS_CHARS_MAX ? (text += name) : ''));
    const bytes = this.#textBudget.tryKeepText(text);
    if (bytes === undefined) return;
    this.#bytes = bytes;
    this.#appNames = new Set(names);
    // Of two tools with one name, the first counts.
    this.#paramsByTool = new Map(kept.reverse());
  }

  /** Notes that a call lacked this tool's parameters, so that the next `learn` keeps them before others. */
  noteMissed(tool: string): void {
    this.#missedTool = tool;
  }

  /** Whether the tool was too large for its mirrored parameters to be read. */
  isTooLarge(tool: string): boolean {
    return this.#paramsByTool.has(tool) && this.#paramsByTool.get(tool) === undefined;
  }

  paramsOf(tool: string): readonly MirroredParam[] | undefined {
    return this.#paramsByTool.get(tool);
  }

  hasApp(name: string): boolean {
    return this.#appNames.has(name);
  }

  drop(): void {
    this.#textBudget.drop(this.#bytes);
    this.#bytes = 0;
    this.#paramsByTool = new Map();
    this.#appNames = new Set();
  }
}
