// Reads a backend's list of tools again, after a call was refused for its `mcp-param-*` headers (N04). Cold path.
import { listKinds } from '../../protocol/list-kinds.js';
import type { RequestMetadata } from '../../upstream/http/request-metadata.js';
import type { UpstreamContext } from '../../upstream/upstream-context.js';
import type { UpstreamSession } from '../../upstream/session/upstream-session.js';
import type { ListMerger } from '../list-merge/list-merger.js';
import { ListPages } from '../list-merge/list-pages.js';

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
