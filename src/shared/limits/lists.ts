// Limits: backends' lists: names, URIs, pages, merging and searching.
import { KIB, MIB } from './units.js';

export const listLimits = {
  /**
   * name of a tool or prompt, or a task's id, in a backend's list; it is decoded for sorting → the item is left out of the list, and cannot
   * be requested
   */
  toolNameBytesMax: 4 * KIB,
  /**
   * a user config's entry for one tool or prompt, as JSON; compiled configs are built a few entries at a time → the config cannot be
   * decoded: 500 `config-failed`
   */
  curatedItemCharsMax: 64 * KIB,
  /**
   * entries for tools, and for prompts, of one backend in a user config, whose names are compared at each change of a server or a
   * composition → the config cannot be decoded: 500 `config-failed`; a server and a composition may have half as many each, or are refused,
   * naming the member
   */
  curatedItemsMax: 2_000,
  /**
   * URI of a resource, or a URI template, in a backend's list; it is decoded for sorting and routing → it is left out of the list, and
   * cannot be read
   */
  uriBytesMax: 16 * KIB,
  /**
   * a tool with `x-mcp-header`, whose schema is parsed for it; in the list thread if the list exceeds `listBytesInlineMax` → a call whose
   * headers the gateway has to supply fails with -32602, which says so
   */
  mirroredToolBytesMax: 4 * MIB,
  /** a backend's `nextCursor`, which is sent with the next request → fault `answer-invalid` */
  cursorBytesMax: 64 * KIB,
  /** pages of one list of a backend; some lists never end → what was read is listed, with fault `list-cut` */
  listPagesMax: 1_000,
  /**
   * bytes of one backend's pages, and of all pages of a list, that are parsed and merged on the event loop → the list thread does it
   *
   * At this size both cost the event loop half a millisecond: parsing and merging 1.7 ms a MiB; the way to the thread and back 0.4 ms plus
   * 0.4 ms a MiB (2.6 GHz AMD EPYC, Node 20).
   */
  listBytesInlineMax: 256 * KIB,
  /**
   * memory counted for each tool of a large list on top of its bytes, for parsing, merging and sorting → the share fills, as with other
   * messages
   */
  listToolBytesEach: 256,
  /** longest `--list-cache` → the option is refused */
  listCacheMsMax: 3_600_000,
  /** lists cached by `--list-cache`, per worker → those of the subject with the most are dropped, oldest first */
  listCacheBytesMax: 128 * MIB,
  /** lists of one subject cached by `--list-cache`, per worker; a larger list is not cached → its oldest are dropped */
  listCacheBytesPerSubjectMax: 16 * MIB,
  /** memory counted for each cached list on top of its bytes → the cache fills sooner */
  listCacheEntryBytes: KIB,
  /**
   * age of the tools that `find_tools` searches, unless their backend announced a change, which needs an open stream to it → they are read
   * again
   */
  catalogueAgeMs: 60_000,
  /**
   * tools and their searchable texts kept for `find_tools`, per worker → those of the subject with the most are dropped, oldest first, and
   * read again when needed
   */
  catalogueBytesMax: 128 * MIB,
  /**
   * tools and their searchable texts kept for `find_tools` for one subject; anything larger is built for each query → its oldest are
   * dropped
   */
  catalogueBytesPerSubjectMax: 32 * MIB,
  /** the arguments of `find_tools` → the result is an error that says so */
  findToolsArgumentsBytesMax: 16 * KIB,
  /** characters of a `query` of `find_tools` → the result is an error that says so */
  toolQueryCharsMax: 1_000,
  /** tools that one `find_tools` may ask for → the result is an error that says so */
  foundToolsMax: 50,
  /** time for a task to wait for the list thread and run in it → the list fails with a JSON-RPC error, or its answer is cut */
  listTaskMsMax: 10_000,
  /**
   * bytes of a large list that go to the list thread, or come from it, in one go → the next part follows
   *
   * Larger parts would hold up the event loop.
   */
  listPartBytes: 512 * KIB,
  /**
   * multiple of `--initialize-patience` that a list waits for a backend that is being opened; few clients list twice → the list is answered
   * without it, naming it as `not ready yet`
   */
  listPatienceTimes: 4,
} as const;
