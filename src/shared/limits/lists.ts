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
   * a tool with `x-mcp-header`, whose schema is parsed for it in one go; also its `_meta`, in which the addresses of its pages are → a call
   * whose headers the gateway has to supply fails with -32602, which says so; the pages stay out of reach
   */
  mirroredToolBytesMax: 256 * KIB,
  /** a backend's `nextCursor`, which is sent with the next request → fault `answer-invalid` */
  cursorBytesMax: 64 * KIB,
  /** pages of one list of a backend; some lists never end → what was read is listed, with fault `list-cut` */
  listPagesMax: 1_000,
  /**
   * bytes of one backend's pages, and of all pages of a list, that are parsed and merged in one go, half a millisecond → more is done in
   * steps, between which others are served, and counts in the share of its subject
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
  /** time for a task of `find_tools` to wait for the search thread and run in it → the result is an error that says so */
  listTaskMsMax: 10_000,
  /** bytes of a large list that are read from its backend in one turn, or written to its caller in one go → the rest follows */
  listPartBytes: 128 * KIB,
  /**
   * multiple of `--initialize-patience` that a list waits for a backend that is being opened; few clients list twice → the list is answered
   * without it, naming it as `not ready yet`
   */
  listPatienceTimes: 4,
} as const;
