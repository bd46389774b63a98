// Limits: what backends list: names, URIs, pages, and merging them.
import { KIB, MIB } from './units.js';

export const listLimits = {
  /** changes of the backends' lists within this time are one notification → the next is another */
  listChangesMs: 50,
  /**
   * `ttlMs` of a backend's list: the user config, by which its callers see it, may change before → what is told to a client of
   * 2026-07-28 is this
   */
  listTtlMsMax: 3_600_000,
  /**
   * the name of a tool or prompt, or a task's id, in a backend's list: it is decoded to be sorted → it is left out of
   * the list, and cannot be asked for
   */
  toolNameBytesMax: 4 * KIB,
  /**
   * what a user config says of one tool or prompt, as JSON: the compiled config is put together a few of them at a time
   * → the config cannot be decoded: 500 `config-failed`
   */
  curatedItemCharsMax: 64 * KIB,
  /**
   * tools, and prompts, of one backend of which a user config says something: their names are compared whenever a server
   * or a composition is changed → the config cannot be decoded: 500 `config-failed`; a server and a composition may
   * have half as many each, else they are refused, naming the member
   */
  curatedItemsMax: 2_000,
  /**
   * the URI of a resource, or a template, in a backend's list, which is decoded to be sorted and routed by → it is left
   * out of the list, and cannot be read
   */
  uriBytesMax: 16 * KIB,
  /**
   * templates that the URI of one request is held against: of an allow-list, and of each list that is read for it →
   * the others make no URI
   *
   * Each may cost 30 us for the longest URI (2.6 GHz AMD EPYC, Node 20).
   */
  templatesTriedMax: 500,
  /**
   * characters between two variables of such a template → it makes no URI
   *
   * What searches a longer text may take its length for each character of the URI.
   */
  templateTextCharsMax: 250,
  /**
   * a tool with `x-mcp-header`, whose schema is read for it, in the list thread where the list is larger than `listBytesInlineMax` → a call
   * for whose headers the gateway answers fails with -32602, which says so
   */
  mirroredToolBytesMax: 4 * MIB,
  /**
   * what is kept of such tools for an upstream session, in characters → further ones are not known, but for the tool whose call was refused last:
   * it comes first when the list is read for it
   */
  mirrorsCharsMax: 32 * KIB,
  /** tools that a log line names as left out for their headers, of each page → further ones are not named */
  invalidMirrorsLoggedMax: 20,
  /** a backend's `nextCursor`, which the next request carries → fault `answer-invalid` */
  cursorBytesMax: 64 * KIB,
  /** tools that a log line names as unreachable → further ones are not named */
  unreachableToolsLoggedMax: 100,
  /** pages of one of a backend's lists: some never end → fault `answer-invalid` */
  listPagesMax: 1_000,
  /**
   * bytes of one backend's pages, and of all pages of a list, read and merged on the event loop → the list thread
   * handles it
   *
   * Both take the event loop half a millisecond here: reading and merging 1.7 ms a MiB, the way to the thread and back
   * 0.4 ms and 0.4 ms a MiB (2.6 GHz AMD EPYC, Node 20).
   */
  listBytesInlineMax: 256 * KIB,
  /**
   * what each tool of a large list counts for on top of its bytes: what reading, merging and sorting take for it → the
   * share fills, as above
   */
  listToolBytesEach: 256,
  /**
   * bytes of lists that the list thread has no use for any more: V8 lets them grow to a quarter of the process → its
   * garbage is collected
   */
  listGarbageBytesMax: 64 * MIB,
  /** what `--list-cache` may say → the option is refused */
  listCacheMsMax: 3_600_000,
  /** lists in memory (`--list-cache`) of one worker → those of the subject that has most of them go, the oldest first */
  listCacheBytesMax: 128 * MIB,
  /** the same of one subject; a list that is larger is not kept → its oldest go */
  listCacheBytesPerSubjectMax: 16 * MIB,
  /** what each of them counts for on top of its bytes → as above */
  listCacheEntryBytes: KIB,
  /**
   * how long `find_tools` goes by tools that were read before, unless their backend says that they have changed, which it can only where
   * somebody hears it → they are read anew
   */
  catalogueAgeMs: 60_000,
  /** the same while a backend's tools are missing → they are read anew */
  partialCatalogueAgeMs: 5_000,
  /**
   * what is kept in memory of one worker for `find_tools`: tools, and what is looked through of them → what is kept for the subject that has
   * most goes, the oldest first, and is read anew when it is asked for
   */
  catalogueBytesMax: 128 * MIB,
  /** the same of one subject; what is larger is made for each question anew → its oldest goes */
  catalogueBytesPerSubjectMax: 32 * MIB,
  /** characters of a tool's title, and of its description, that `find_tools` looks through → the rest finds nothing */
  toolTextCharsMax: 2_000,
  /** the arguments of `find_tools` → the result is an error that says so */
  findToolsArgumentsBytesMax: 16 * KIB,
  /** characters of a `query` of `find_tools` → the result is an error that says so */
  toolQueryCharsMax: 1_000,
  /** different words of a query that are looked for → further ones find nothing */
  toolQueryWordsMax: 24,
  /** tools that are ranked for one question: those that have most of its words → the others are not found */
  toolCandidatesMax: 200,
  /** tools that one `find_tools` may ask for → the result is an error that says so */
  foundToolsMax: 50,
  /** bytes of the tools that one `find_tools` finds → what comes behind, and a tool that is larger itself, is left out */
  foundToolsBytesMax: 256 * KIB,
  /** tasks in the list thread: one is done, one is ready → further ones wait, each subject's in turn */
  listTasksInThreadMax: 2,
  /** a task waiting for the list thread and in it → the list fails with a JSON-RPC error, or its answer is cut */
  listTaskMsMax: 10_000,
  /**
   * bytes of a large list that go to the list thread and come from it at once → the next part follows
   *
   * More at once would hold up the event loop.
   */
  listPartBytes: 512 * KIB,
  /**
   * times `--initialize-patience` that a list waits for a backend that is being opened: few clients list twice → the
   * list is answered without it, naming it as `not ready yet`
   */
  listPatienceTimes: 4,
} as const;
