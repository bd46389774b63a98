// The process of a flood: many lanes, each with its own connection, which send the next request as soon as the last one was
// answered, refused or not, until the time is up.
import type { FloodOrder, FloodReport } from './flood.js';
import { inParallel } from './in-parallel.js';
import { KeptCaller } from './kept-caller.js';
import { McpCaller, McpSession } from './mcp-caller.js';
import type { HttpAnswer } from './raw-http.js';

const CONNECTING_MAX = 64;

process.once('message', (order: FloodOrder) => void flood(order));
process.once('disconnect', () => process.exit());

async function flood(order: FloodOrder): Promise<void> {
  const { origin, path, token, laneCount, forMs, sessionIds } = order;
  const caller = new McpCaller(origin, path, token);
  const lanes: KeptCaller[] = [];
  await inParallel([...Array(laneCount).keys()], CONNECTING_MAX, async () => {
    lanes.push(await KeptCaller.connect(caller));
  });
  const tally: Record<string, number> = {};
  const count = (word: string): void => void (tally[word] = (tally[word] ?? 0) + 1);
  const endMs = performance.now() + forMs;
  await inParallel([...lanes.entries()], laneCount, async ([index, lane]) => {
    const id = sessionIds[index % sessionIds.length];
    while (performance.now() < endMs) {
      const answer = await (id === undefined ? visit(lane) : lane.send({ session: id, body: LIST })).catch(wordOf);
      count(typeof answer === 'string' ? answer : wordsOf(answer));
      if (typeof answer === 'string') return;
    }
  });
  for (const lane of lanes) lane.close();
  process.send?.(tally satisfies FloodReport);
}

const LIST = '{"jsonrpc":"2.0","id":5,"method":"tools/list"}';

/** Opens a session and ends it. */
async function visit(lane: KeptCaller): Promise<HttpAnswer> {
  const opening = await lane.initialize();
  const id = opening.header('mcp-session-id');
  if (opening.status !== 200 || id === undefined) return opening;
  const ending = await new McpSession(lane, id, opening).delete();
  return ending.status === 200 ? opening : ending;
}

function wordsOf(answer: HttpAnswer): string {
  const isTold = answer.status === 200 || Number(answer.header('retry-after')) > 0;
  return `${answer.status}${isTold ? '' : ', not when to try again'}`;
}

function wordOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
