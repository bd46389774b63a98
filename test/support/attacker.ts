// One subject that takes all it can get: floods of requests, calls that are never answered, and responses that are never read.
import type { Test } from 'tap';
import type { Scope } from '../attack/scope.js';
import { inParallel } from './in-parallel.js';
import { KeptCaller } from './kept-caller.js';
import type { McpCaller, McpSession } from './mcp-caller.js';
import { encodeRequest, HttpAnswer, RawConnection } from './raw-http.js';

const LANES = 8;
/** A caller that has to wait is refused after a few seconds. */
const REFUSED_MS_MAX = 60_000;

/** Sends requests over a few kept connections, each as soon as the previous one was answered. */
export async function flood(
  caller: McpCaller,
  count: number,
  request: (lane: KeptCaller) => Promise<HttpAnswer>,
): Promise<HttpAnswer[]> {
  const lanes = await Promise.all(Array.from({ length: LANES }, () => KeptCaller.connect(caller)));
  const answers: HttpAnswer[] = [];
  await inParallel(lanes, LANES, async (lane) => {
    for (let turn = 0; turn < count / LANES; turn++) answers.push(await request(lane));
    lane.close();
  });
  return answers;
}

/** Calls that are sent without waiting for their responses, each on a connection of its own. */
export class UnansweredCalls {
  readonly #connections: RawConnection[] = [];
  /** In order of arrival. A large response is left unread and is not listed. */
  readonly answers: HttpAnswer[] = [];
  /** How many responses are left unread. */
  unreadCount = 0;

  constructor(scope: Scope) {
    scope.teardown(() => this.hangUp());
  }

  async send(sessions: readonly McpSession[], count: number, tool: string, args = '{}'): Promise<void> {
    const calls = Array.from({ length: count }, (_, id) => ({ id, session: sessions[id % sessions.length]! }));
    await inParallel(calls, LANES, async ({ id, session }) => {
      const { caller } = session;
      const connection = await RawConnection.open(caller.origin, REFUSED_MS_MAX);
      this.#connections.push(connection);
      const params = `{"name":"${tool}","arguments":${args},"_meta":{"progressToken":${id}}}`;
      const body = `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":${params}}`;
      connection.write(encodeRequest(caller.origin, caller.request({ session: session.id, body })));
      // Connections without a response are closed with the scope.
      void this.#read(connection).catch(() => undefined);
    });
  }

  /** Closes all connections at once, whatever is in flight. */
  hangUp(): void {
    for (const connection of this.#connections) connection.close();
  }

  /** Reads a small response whole, and only the beginning of a large or endless one. */
  async #read(connection: RawConnection): Promise<void> {
    const head = await connection.readHead();
    const isSmall = head.headers.some(
      ([name, value]) => name.toLowerCase() === 'content-length' && Number(value) < 10_000,
    );
    if (isSmall) {
      const { status, headers, body } = { ...head, body: await connection.readBody(head) };
      this.answers.push(new HttpAnswer(status, headers, body));
      return;
    }
    this.unreadCount += 1;
    connection.pause();
  }
}

/** Checks that every refusal says when to try again. */
export function checkRefusals(t: Test, answers: readonly HttpAnswer[], statuses: readonly number[]): void {
  const refused = answers.filter(({ status }) => status !== 200);
  t.ok(refused.length > 0, 'the attacker was refused');
  for (const answer of refused) {
    if (statuses.includes(answer.status) && Number(answer.header('retry-after')) > 0) continue;
    t.fail(`${answer.status}, retry-after ${answer.header('retry-after')}: ${answer.text}`);
  }
}
