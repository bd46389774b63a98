// Reads a backend's list of tools again, after a call was refused for its `mcp-param-*` headers (N04). Cold path.
import { listKinds } from '../mcp/index.js';
import type { RequestMetadata } from '../http-client/index.js';
import type { UpstreamContext, UpstreamSession } from '../upstream/index.js';
import { type ListMerger, ListPages } from '../lists/index.js';

/** A list that is being read. */
export interface MirrorReading {
  abort(): void;
}

export class MirrorRefresh {
  readonly #context: UpstreamContext;
  readonly #merger: ListMerger;

  constructor(context: UpstreamContext, merger: ListMerger) {
    this.#context = context;
    this.#merger = merger;
  }

  /** @param tool the one whose call was refused. @param done called once, whatever the outcome, perhaps from within. */
  read(upstream: UpstreamSession, tool: string, metadata: RequestMetadata, done: () => void): MirrorReading {
    upstream.missMirrors(tool);
    const reader = new ListPages(this.#context, this.#merger, listKinds.tools, upstream, metadata, (pages) => {
      this.#merger.dropPages(upstream.subject, pages);
      done();
    });
    reader.start();
    return reader;
  }
}
