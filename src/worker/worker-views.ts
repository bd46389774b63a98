// Answers the admin listener's questions to this worker, in JSON of bounded size. Session ids and subjects appear only as hashes. Cold
// path.
import { heapMemory, residentBytes } from '../fair/index.js';
import type { ViewQuestion } from '../process/index.js';
import { describeRequest, type RecentRequests } from '../observation/index.js';
import type { Relay } from '../relay/index.js';
import type { Session } from '../session/index.js';
import { limits, sessionHash, subjectHash, type Logger, PROGRAM_VERSION, KIB } from '../shared/index.js';
import type { KeptTimes } from '../store/index.js';
import type { UserConfigRead } from '../user-config/index.js';
import { circuitView, explain, upstreamView, VIEW_BACKENDS_MAX } from './explanation.js';
import type { WorkerFigures } from './worker-figures.js';

/** The most bytes of a list in an answer. A longer list is cut; the answer contains the count of all entries. */
const VIEW_LIST_BYTES_MAX = 256 * KIB;

interface WorkerViewSources {
  readonly relay: Relay;
  readonly slot: number;
  readonly readConfig: (subject: string) => UserConfigRead | Promise<UserConfigRead>;
  readonly keptConfig: (subject: string) => KeptTimes | undefined;
  /** The recent requests; `undefined` when requests have no ids or no figures are kept. */
  readonly recentRequests: RecentRequests | undefined;
  readonly figures: WorkerFigures | undefined;
  readonly logger: Logger;
}

/** The most characters of an answer, because its lists together may be long. Beyond that, it is replaced by an error. */
const VIEW_CHARS_MAX = 2 * VIEW_LIST_BYTES_MAX;

/** Outcomes of a tool call that the config, or the state of its backend, may explain. */
const EXPLAINABLE_OUTCOMES: ReadonlySet<string> = new Set(['rpc-error', 'fault']);

export class WorkerViews {
  readonly #sources: WorkerViewSources;

  constructor(sources: WorkerViewSources) {
    this.#sources = sources;
  }

  /** Answers a question. @returns JSON. Never rejects. */
  async answer(question: ViewQuestion): Promise<string> {
    try {
      const text = JSON.stringify(await this.#answer(question));
      if (text.length <= VIEW_CHARS_MAX) return text;
      return JSON.stringify({ error: `the response would have ${text.length} characters; ask for less` });
    } catch (error) {
      return JSON.stringify({ error: error instanceof Error ? error.message : String(error) });
    }
  }

  async #answer(question: ViewQuestion): Promise<unknown> {
    switch (question.view) {
      case 'worker':
        return this.#workerView();
      case 'sessions':
        return this.#sessions(question);
      case 'backends': {
        const { relay } = this.#sources;
        return boundedList(
          relay.origins.map((used) => ({ origin: used.origin, ...circuitView(used.origin, used, relay) })),
        );
      }
      case 'request':
        return boundedList(await Promise.all(this.#requests(question.requestId)));
      case 'explain': {
        const read = await this.#sources.readConfig(question.subject);
        const explanation = explain(question, read, this.#sources.relay);
        const kept = read.kind === 'failed' ? undefined : this.#sources.keptConfig(question.subject);
        return { ...explanation, ...(kept && { kept, ...(read.kind === 'found' && { config: 'kept' }) }) };
      }
    }
  }

  #workerView(): object {
    const { relay, figures, logger } = this.#sources;
    const { heapUsed, external } = heapMemory();
    return {
      version: PROGRAM_VERSION,
      ...{ uptimeS: Math.round(process.uptime()), logLevel: logger.level, sessions: relay.sessionCount },
      ...(figures && { requestsInFlight: figures.requestsInFlight, streams: figures.streams }),
      memory: { rssBytes: residentBytes(), heapUsedBytes: heapUsed, externalBytes: external },
    };
  }

  async #sessions({
    subject,
    session: hash,
    firstSlot,
    offset,
    countMax,
  }: Extract<ViewQuestion, { view: 'sessions' }>): Promise<object> {
    const { relay, slot } = this.#sources;
    const firstIndex = slot === firstSlot ? offset : 0;
    const list: object[] = [];
    let matching = 0;
    let bytes = 0;
    let turnEndMs = performance.now() + limits.turnMs;
    for (const session of relay.sessions) {
      const { id, subject: owner } = session.identity;
      if (subject !== '' && owner !== subject) continue;
      if (hash !== '') {
        // Hashing very many session ids takes long, so other work is done in between.
        if (performance.now() > turnEndMs) {
          await new Promise(setImmediate);
          turnEndMs = performance.now() + limits.turnMs;
        }
        if (sessionHash(id) !== hash) continue;
      }
      matching += 1;
      if (slot < firstSlot || matching <= firstIndex || list.length >= countMax || bytes > VIEW_LIST_BYTES_MAX)
        continue;
      const view = sessionViewOf(session, relay.nowMs);
      bytes += JSON.stringify(view).length;
      list.push(view);
    }
    return { list, matching };
  }

  #requests(requestId: string): Promise<object>[] {
    const found = this.#sources.recentRequests?.find(requestId) ?? [];
    return found.map(async (request) => {
      const isFailedCall = request.tool !== '' && EXPLAINABLE_OUTCOMES.has(request.outcome);
      if (!isFailedCall) return describeRequest(request, undefined);
      // Explains what the same call would get now.
      const { readConfig, relay } = this.#sources;
      const { subject, virtualHost, tool } = request;
      const now = explain({ view: 'explain', subject, virtualHost, tool }, await readConfig(subject), relay);
      return describeRequest(request, now['verdict']);
    });
  }
}

function sessionViewOf(session: Session, nowMs: number): object {
  const { id, subject, virtualHostId, protocolVersion, introduction } = session.identity;
  const { upstreams } = session;
  return {
    session: sessionHash(id),
    subject: subjectHash(subject),
    virtualHost: virtualHostId,
    protocolVersion,
    client: clientName(introduction.clientInfo),
    ageS: Math.max(0, Math.round((nowMs - session.beganAtMs) / 1_000)),
    idleS: Math.max(0, Math.round((nowMs - session.usedAtMs) / 1_000)),
    isBusy: session.isBusy,
    backends: Array.from(upstreams.virtualHost?.backends.keys() ?? [], (name) => ({
      name,
      ...upstreamView(upstreams.findUsed(name)),
    })).slice(0, VIEW_BACKENDS_MAX),
  };
}

/** The client's name and version, from `initialize`; `''` if these are too long to be parsed at once. */
function clientName(clientInfo: Buffer): string {
  if (clientInfo.length > limits.readAtOnceBytesMax) return '';
  const { name, version } = Object(JSON.parse(clientInfo.toString())) as {
    readonly name?: unknown;
    readonly version?: unknown;
  };
  return [name, version]
    .filter((word) => typeof word === 'string')
    .join(' ')
    .slice(0, limits.quotedCharsMax);
}

/** As many items as fit into an answer, and the count of all. */
function boundedList(all: readonly object[]): object {
  let bytes = 0;
  const list = all.filter((item) => (bytes += JSON.stringify(item).length) <= VIEW_LIST_BYTES_MAX);
  return { list, count: all.length };
}
