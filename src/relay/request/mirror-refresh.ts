// Reads a backend's tools again, for what its calls must say in headers (N04): a call was refused for it. Cold.
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

  /** @param tool whose call was refused. @param done called once, whatever has come of it; from within as well. */
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
