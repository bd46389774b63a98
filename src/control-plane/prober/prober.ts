// Finds out what a server is: connects as an MCP client, reads who it is, what it can do and all of its tools.
import type { ServerTool } from '../registry/server-record.js';

export type Probe =
  | {
      readonly kind: 'reached';
      readonly serverInfo: Readonly<Record<string, unknown>>;
      readonly capabilities: Readonly<Record<string, unknown>>;
      readonly tools: readonly ServerTool[];
    }
  /** The reason is for people and names no URL. */
  | { readonly kind: 'failed'; readonly reason: string };

export interface ProberOptions {
  /** For one probe as a whole. */
  readonly deadlineMs: number;
}

export declare class Prober {
  constructor(options: ProberOptions);
  /** Never rejects. */
  probe(url: string): Promise<Probe>;
  /** Ends the probes under way; they fail. */
  close(): Promise<void>;
}
