// The pages of the admin listener that show what happens in the workers, and why. Cold path.
import type { ChildProcess } from 'node:child_process';
import type { ViewQuestion } from '../process/index.js';
import { limits, isLogLevel, tryParseJson, LOG_LEVELS, type LogLevel } from '../shared/index.js';
import { jsonPage, type AdminChanges, type AdminPage, type AdminPages } from './admin-server.js';
import type { WorkerPolls } from './worker-polls.js';
import type { PolledSlot } from './slot.js';

/** Time for workers to answer. After that, a worker that has not answered is shown as silent. */
const ADMIN_VIEW_MS_MAX = 2_000;

export interface WorkerAnswer extends Omit<PolledSlot, 'worker'> {
  readonly pid: number | undefined;
  /** The worker's answer; `undefined` when there is none in time. */
  readonly answer: unknown;
}

/**
 * Asks the workers. @param polls the open questions, whose answers are JSON.
 * @returns an entry for each of `asked`; `undefined` when too many questions are open.
 */
export async function askWorkers(
  polls: WorkerPolls<string>,
  asked: readonly PolledSlot[],
  send: (worker: ChildProcess, ticket: number) => void,
  answerMsMax: number = ADMIN_VIEW_MS_MAX,
): Promise<readonly WorkerAnswer[] | undefined> {
  if (polls.openCount >= limits.adminViewsAtOnceMax) return undefined;
  const workers = asked.flatMap(({ worker }) => worker ?? []);
  const { answers } = await polls.ask(workers, answerMsMax, send);
  return asked.map(({ worker, ...slotState }) => {
    const text = worker && answers.get(worker);
    return { ...slotState, pid: worker?.pid, answer: text === undefined ? undefined : (JSON.parse(text) as unknown) };
  });
}

interface ViewPageSources {
  ask(question: ViewQuestion): Promise<readonly WorkerAnswer[] | undefined>;
  setLogLevel(level: LogLevel): void;
}

type PageMaker = (answers: readonly WorkerAnswer[]) => AdminPage;

export function viewPages(sources: ViewPageSources): AdminPages {
  const ask = async (question: ViewQuestion, gather: PageMaker): Promise<AdminPage> => {
    const answers = await sources.ask(question);
    return answers === undefined ? TOO_MANY_QUESTIONS : gather(answers);
  };
  return {
    '/workers': () => ask({ view: 'worker' }, (answers) => jsonPage(200, { workers: answers.map(workerView) })),
    '/sessions': (_accept, query) => sessionsPage(query, ask),
    '/backends': () =>
      ask({ view: 'backends' }, (answers) => {
        const backends = answers.flatMap(({ slot, answer }) => listIn(answer).map((origin) => ({ slot, ...origin })));
        return jsonPage(200, { backends, silent: silentSlots(answers) });
      }),
    '/requests/': (_accept, _query, requestId) =>
      ask({ view: 'request', requestId }, (answers) => {
        const found = answers.flatMap(({ slot, answer }) => listIn(answer).map((request) => ({ slot, ...request })));
        if (found.length > 0) return jsonPage(200, { requests: found, silent: silentSlots(answers) });
        const detail =
          'no worker knows a recent request with this id; only requests with an id and a valid token are remembered, and only with --metrics';
        return jsonPage(404, { detail, silent: silentSlots(answers) });
      }),
    '/explain': (_accept, query) => explainPage(query, ask),
  };
}

export function viewChanges(sources: Pick<ViewPageSources, 'setLogLevel'>): AdminChanges {
  return {
    '/log-level': (body) => {
      const level = parseLevel(body);
      if (level === undefined) {
        return jsonPage(400, { detail: `level must be one of ${CHANGEABLE_LEVELS.join(', ')}` });
      }
      sources.setLogLevel(level);
      return jsonPage(200, { level });
    },
  };
}

/** Levels that operators can set here. `silent` is not among them: anyone who reaches the listener could hide later log lines. */
const CHANGEABLE_LEVELS = LOG_LEVELS.filter((level) => level !== 'silent');

const TOO_MANY_QUESTIONS = jsonPage(503, { detail: 'too many questions to the workers at once; try again' });

function parseLevel(body: string): LogLevel | undefined {
  const { level } = Object(tryParseJson(body)) as { readonly level?: unknown };
  return isLogLevel(level) && level !== 'silent' ? level : undefined;
}

function workerView({ slot, pid, state, storeObstacle, answer }: WorkerAnswer): object {
  const isAnswering = typeof answer === 'object' && answer !== null;
  const health = isAnswering ? 'ok' : pid === undefined ? 'absent' : 'silent';
  return { slot, pid: pid ?? null, state, health, storeObstacle, ...(isAnswering && answer) };
}

function silentSlots(answers: readonly WorkerAnswer[]): number[] {
  return answers.flatMap(({ slot, answer }) => (answer === undefined ? [slot] : []));
}

function listIn(answer: unknown): readonly object[] {
  if (typeof answer !== 'object' || answer === null || !('list' in answer)) return [];
  return Array.isArray(answer.list) ? (answer.list as object[]) : [];
}

type AskForPage = (question: ViewQuestion, gather: PageMaker) => Promise<AdminPage>;

/** A page of the sessions, slot by slot. `cursor` is where the page begins: `slot.offset`. */
async function sessionsPage(query: URLSearchParams, ask: AskForPage): Promise<AdminPage> {
  const limit = Number(query.get('limit') ?? limits.viewPageMax);
  const [, first = 0, offset = 0] = /^(\d{1,4})\.(\d{1,9})$/.exec(query.get('cursor') ?? '') ?? [];
  if (!Number.isInteger(limit) || limit < 1 || limit > limits.viewPageMax) {
    return jsonPage(400, { detail: `limit: must be 1 to ${limits.viewPageMax}` });
  }
  const filter = { subject: query.get('subject') ?? '', session: query.get('session') ?? '' };
  const start = { firstSlot: Number(first), offset: Number(offset) };
  return ask({ view: 'sessions', ...filter, ...start, countMax: limit }, (answers) => {
    const sessions: object[] = [];
    let next: string | undefined;
    let total = 0;
    for (const { slot, answer } of answers) {
      const { matching = 0 } = (answer ?? {}) as { readonly matching?: number };
      total += matching;
      if (slot < start.firstSlot || next !== undefined) continue;
      const taken = listIn(answer).slice(0, limit - sessions.length);
      sessions.push(...taken.map((session) => ({ slot, ...session })));
      const end = (slot === start.firstSlot ? start.offset : 0) + taken.length;
      if (end < matching) next = `${slot}.${end}`;
    }
    return jsonPage(200, { sessions, total, ...(next !== undefined && { next }), silent: silentSlots(answers) });
  });
}

async function explainPage(query: URLSearchParams, ask: AskForPage): Promise<AdminPage> {
  const [subject = '', virtualHost = ''] = [query.get('subject') ?? '', query.get('virtual_host') ?? ''];
  if (subject === '' || virtualHost === '') {
    return jsonPage(400, { detail: 'give ?subject= and &virtual_host=, and optionally &tool=' });
  }
  return ask({ view: 'explain', subject, virtualHost, tool: query.get('tool') ?? '' }, (all) => {
    // After a reload, two workers of one slot may answer. Only the listening one's answer is shown.
    const serving = new Set(all.filter(({ state }) => state === 'listening').map(({ slot }) => slot));
    const answers = all.filter(({ slot, state }) => state === 'listening' || !serving.has(slot));
    return jsonPage(200, {
      workers: answers.flatMap(({ slot, answer }) =>
        typeof answer === 'object' && answer !== null ? [{ slot, ...answer }] : [],
      ),
      silent: silentSlots(answers),
    });
  });
}
