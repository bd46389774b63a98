// The commands that query a running dataplane through its admin listener.
import { formatAddress, type ListenAddress, type adminClientOptions, type ValuesOf } from '../config/index.js';
import {
  explanationShape,
  requestsShape,
  sessionsShape,
  type DataplaneRequest,
  type DataplaneSessions,
  exitStatus,
  sessionHash,
  readBodyText,
  limits,
  refusals,
} from '../shared/index.js';
import {
  CliFault,
  printResult,
  type CommandResult,
  printable,
  textLines,
  textTable,
  parseResponse,
  exitStatusOf,
} from './command-result.js';
import type { Columns } from './views.js';

/** Sends requests to a dataplane's admin listener. When one fails, the method rejects with a CliFault. */
export class AdminConnection {
  readonly #origin: string;

  constructor(address: ListenAddress) {
    this.#origin = `http://${formatAddress(address)}`;
  }

  /** Resolves with the response's JSON. */
  async get(path: string): Promise<unknown> {
    return this.#exchange(path, { method: 'GET' });
  }

  /** Resolves with the response's JSON; with `undefined` for a 404. */
  async find(path: string): Promise<unknown> {
    try {
      return await this.get(path);
    } catch (error) {
      if (error instanceof CliFault && error.exitStatus === exitStatus.notFound) return undefined;
      throw error;
    }
  }

  async put(path: string, value: unknown): Promise<unknown> {
    return this.#exchange(path, { method: 'PUT', body: JSON.stringify(value) });
  }

  async #exchange(path: string, init: RequestInit): Promise<unknown> {
    let response: Response;
    let answer: unknown;
    try {
      const signal = AbortSignal.timeout(limits.adminRequestMsMax);
      response = await fetch(this.#origin + path, { ...init, headers: ACCEPT_JSON, signal, redirect: 'error' });
      answer = JSON.parse(await readBodyText(response, signal));
    } catch (error) {
      const advice = 'start a dataplane, or give its --admin-address';
      const words = `no admin listener answers at ${this.#origin}; ${advice}`;
      throw new CliFault(exitStatus.unavailable, words, error);
    }
    if (response.ok) return answer;
    const { detail } = Object(answer) as { readonly detail?: unknown };
    if (typeof detail !== 'string' || detail === refusals.pathUnknown.message) {
      const words = `what answers at ${this.#origin} (HTTP status ${response.status}) is no admin listener`;
      throw new CliFault(exitStatus.unavailable, `${words}; give the --admin-address of a dataplane`);
    }
    throw new CliFault(exitStatusOf(response.status), detail);
  }
}

/** The header that asks for JSON: without it, /metrics would answer in Prometheus's text format. */
const ACCEPT_JSON = { accept: 'application/json' };

export interface AdminContext {
  readonly admin: Pick<AdminConnection, 'get' | 'find' | 'put'>;
  readonly columns: Columns;
}

/** Runs a command and prints its result or fault. @returns the program's exit status, once everything is printed. */
export async function runAdminCommand(
  { address, isJson }: ValuesOf<typeof adminClientOptions>,
  perform: (context: AdminContext) => Promise<CommandResult>,
): Promise<number> {
  const context = { admin: new AdminConnection(address), columns: process.stdout.columns };
  return printResult(isJson, () => perform(context));
}

export async function setLogLevel(
  { level }: { readonly level: string },
  { admin }: Pick<AdminContext, 'admin'>,
): Promise<CommandResult> {
  const answer = await admin.put('/log-level', { level });
  return { answer, text: `The log level is now ${printable(level)}, until the dataplane is restarted.\n` };
}

interface ExplainArguments {
  /** The id of a request or a session. */
  readonly id?: string | undefined;
  readonly subject?: string | undefined;
  readonly virtualHost?: string | undefined;
  readonly tool?: string | undefined;
}

export async function explain(
  { id, subject = '', virtualHost = '', tool = '' }: ExplainArguments,
  context: AdminContext,
): Promise<CommandResult> {
  const { admin, columns } = context;
  if (id !== undefined) return explainId(id, context);
  const query = new URLSearchParams({ subject, virtual_host: virtualHost, tool });
  const answer = await admin.get(`/explain?${query.toString()}`);
  return { answer, text: explanationText(answer, columns) };
}

type SessionList = Pick<DataplaneSessions, 'sessions' | 'silent'>;

export async function listSessions(
  { subject }: { readonly subject: string | undefined },
  { admin, columns }: AdminContext,
): Promise<CommandResult> {
  const answer = await readAllSessions(subject, admin);
  const rows = answer.sessions.map(({ slot, session, subject, virtualHost, client, ageS, idleS, backends }) => [
    ...[session, subject, virtualHost, client, durationText(ageS), durationText(idleS), String(slot)],
    backends.map(({ name, state }) => `${name}:${state}`).join(' '),
  ]);
  const head = ['SESSION', 'SUBJECT', 'VIRTUAL HOST', 'CLIENT', 'AGE', 'IDLE', 'SLOT', 'BACKENDS'];
  const table = rows.length === 0 ? 'No sessions.\n' : textTable(head, rows, columns);
  return { answer, text: table + silentText(answer.silent) };
}

async function readAllSessions(subject: string | undefined, admin: Pick<AdminConnection, 'get'>): Promise<SessionList> {
  const sessions: DataplaneSessions['sessions'] = [];
  let silent: readonly number[] = [];
  for (let cursor: string | undefined = '0.0'; cursor !== undefined;) {
    const query = new URLSearchParams({ cursor, ...(subject !== undefined && { subject }) });
    const page: DataplaneSessions = parseResponse(
      'dataplane',
      sessionsShape,
      await admin.get(`/sessions?${query.toString()}`),
    );
    sessions.push(...page.sessions);
    silent = page.silent;
    cursor = page.next;
  }
  return { sessions, silent: [...silent] };
}

const SESSION_HASH = /^[\da-f]{12}$/;
/** The form of the session ids that workers make. */
const SESSION_ID = /^[\w-]{35}$/;

const UNKNOWN_ID =
  'no worker knows this id; give the id of a recent request (x-request-id), or the id or the hash of an open session ' +
  '(`switchyard sessions` lists the hashes). A request that was refused for lack of a valid token (401), or for which --metrics is off, ' +
  "is only in the dataplane's log: the line with its `requestId` has the `refusal` and its `cause`. A session that has ended is there, too: " +
  'see its last line, by its hash (`session`, with --access-log)';

async function explainId(id: string, context: AdminContext): Promise<CommandResult> {
  // A session's id lets its holder use the session. So an id of that form is looked up as a session's first, by its hash. It is sent in
  // clear, as a request's id, only if no session has it.
  const lookUps = SESSION_ID.test(id) ? [explainSession, explainRequest] : [explainRequest, explainSession];
  let silent = '';
  for (const lookUp of lookUps) {
    const found = await lookUp(id, context);
    if (typeof found !== 'string') return found;
    silent += found;
  }
  throw new CliFault(exitStatus.notFound, UNKNOWN_ID + silent);
}

/** Looks up an id. Resolves with its explanation; for an unknown id, with a text that names the workers that did not answer, or `''`. */
type IdLookUp = (id: string, context: AdminContext) => Promise<CommandResult | string>;

const explainRequest: IdLookUp = async (id, { admin }) => {
  const found = await admin.find(`/requests/${encodeURIComponent(id)}`);
  if (found === undefined) return '';
  const { requests } = parseResponse('dataplane', requestsShape, found);
  return { answer: found, text: requests.map(requestText).join('\n') };
};

const explainSession: IdLookUp = async (id, { admin, columns }) => {
  const hash = SESSION_HASH.test(id) ? id : sessionHash(id);
  const answer = await admin.find(`/sessions?${new URLSearchParams({ session: hash }).toString()}`);
  const page = parseResponse('dataplane', sessionsShape, answer);
  const [session] = page.sessions;
  if (session === undefined) return silentText(page.silent);
  const { backends, ...rest } = session;
  const lines = textLines([
    ['session', rest.session],
    ['subject', rest.subject],
    ['virtual host', rest.virtualHost],
    ['client', rest.client],
    ['age', durationText(rest.ageS)],
    ['idle', durationText(rest.idleS)],
    ['slot', String(rest.slot)],
  ]);
  const rows = backends.map(({ name, state, reason = '' }) => [name, state, reason]);
  return { answer: session, text: `${lines}\n${textTable(['BACKEND', 'STATE', 'WHY'], rows, columns)}` };
};

function requestText(request: DataplaneRequest): string {
  const { detail = '', backendMs } = request;
  return textLines([
    ['request', request.requestId],
    ['ended', request.endedAt],
    ['subject', request.subject],
    ['virtual host', request.virtualHost],
    ['method', request.method],
    ['backend', request.backend],
    ['tool', request.tool],
    ['outcome', detail === '' ? request.outcome : `${request.outcome}: ${detail}`],
    ['now', request.verdict],
    ['status', request.status === 0 ? 'none' : String(request.status)],
    ['took', `${request.durationMs} ms${backendMs === undefined ? '' : `, the backend ${backendMs} ms of it`}`],
    ['slot', String(request.slot)],
  ]);
}

function explanationText(answer: unknown, columns: Columns): string {
  const { workers, silent } = parseResponse('dataplane', explanationShape, answer);
  const [first] = workers;
  if (first === undefined) return silentText(silent) || 'No worker answers.\n';
  const { kept } = first;
  const lines = textLines([
    ['config', first.config ?? first.error ?? ''],
    ['kept', kept && `read at ${kept.readAt}, used until ${kept.usedUntil}`],
    ['oddities', first.oddities],
    ['virtual hosts', first.virtualHosts?.join(', ')],
    ['verdict', first.verdict],
  ]);
  const rows = workers.flatMap(({ slot, backends }) =>
    backends.map(({ name, origin, circuit, obstacle, reason, lastFault, allowedTools, sessions: open }) => [
      ...[name, origin, String(slot), obstacle ?? circuit],
      reason ?? (lastFault === null ? '' : `${lastFault.reason} (${lastFault.at})`),
      allowedTools === 'all' ? 'all' : allowedTools.join(','),
      countOccurrences(open.map(({ state }) => state)),
    ]),
  );
  const head = ['BACKEND', 'ORIGIN', 'SLOT', 'CIRCUIT', 'LAST ERROR', 'TOOLS', 'SESSIONS'];
  const table = rows.length === 0 ? '' : `\n${textTable(head, rows, columns)}`;
  const forgivenRows = workers.flatMap(({ slot, backends }) =>
    backends.flatMap(({ name, forgiven = {} }) =>
      Object.entries(forgiven).map(([kind, count]) => [name, String(slot), kind.replaceAll('-', ' '), String(count)]),
    ),
  );
  const forgivenHead = ['BACKEND', 'SLOT', 'FORGIVEN', 'TIMES'];
  const forgivenTable = forgivenRows.length === 0 ? '' : `\n${textTable(forgivenHead, forgivenRows, columns)}`;
  return lines + table + forgivenTable + silentText(silent);
}

/** The words with their counts, as a text: `open, 11 opening`. */
function countOccurrences(words: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  return Array.from(counts, ([word, count]) => (count === 1 ? word : `${count} ${word}`)).join(', ');
}

function silentText(slots: readonly number[]): string {
  return slots.length === 0 ? '' : `\nNo answer from the workers of slots ${slots.join(', ')}.\n`;
}

function durationText(seconds: number): string {
  if (seconds < 120) return `${seconds}s`;
  return seconds < 7_200 ? `${Math.floor(seconds / 60)}m` : `${Math.floor(seconds / 3_600)}h`;
}
