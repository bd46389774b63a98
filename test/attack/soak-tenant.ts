// A tenant of the soak: it comes, at times with a rewritten config, uses a session or two, and leaves, properly or not.
import type { ConfiguredCaller } from '../support/deployment.js';
import { KeptCaller } from '../support/kept-caller.js';
import { answerText, type McpSession } from '../support/mcp-caller.js';
import type { Random } from '../support/random.js';
import { encodeRequest, RawConnection } from '../support/raw-http.js';

const CALLS_MAX = 20;
/** Short enough to keep for checking the response; some texts are longer than one packet. */
const TEXT_CHARS_MAX = 40_000;

/** Reports the outcome of each request: `right`, `wrong: …`, or how it was refused. */
export type Tell = (what: string) => void;

export interface Backends {
  readonly [name: string]: { readonly url: string };
}

export async function visit(caller: ConfiguredCaller, backends: Backends, random: Random, tell: Tell): Promise<void> {
  const names = Object.keys(backends);
  if (random.chance(0.2)) await caller.configure(backends);
  const kept = random.chance(0.5) ? await KeptCaller.connect(caller) : undefined;
  try {
    for (let sessions = 1 + random.below(2); sessions > 0; sessions--) {
      const session = await (kept ?? caller).openSession();
      for (let calls = random.below(CALLS_MAX); calls > 0; calls--) await callOnce(session, random, names, tell);
      if (random.chance(0.5)) {
        const { status } = await session.list();
        tell(status === 200 ? 'right' : `HTTP ${status}`);
      }
      if (random.chance(0.3)) await leaveInTheMiddle(session, random.pick(names));
      if (random.chance(0.6)) await session.delete();
    }
  } finally {
    kept?.close();
  }
}

async function callOnce(session: McpSession, random: Random, names: readonly string[], tell: Tell): Promise<void> {
  const id = String(random.below(1_000_000_000));
  const text = 'z'.repeat(random.below(random.chance(0.1) ? TEXT_CHARS_MAX : 200));
  const args = `{"of": ${id}.0,"text":"${text}"}`;
  const answer = await session.call(`${random.pick(names)}-echo`, args, { id });
  if (answer.status !== 200) return tell(`HTTP ${answer.status}`);
  const message = answerText(answer);
  const begin = `{"jsonrpc":"2.0","id":${id},`;
  if (message.startsWith(`${begin}"error"`))
    return tell(/"code":(-?\d+)/.exec(message)?.[1] ?? 'an error without a code');
  const result = `{"content":[{"type":"text","text":${JSON.stringify(args)}}],"structuredContent":${args}}`;
  tell(message === `${begin}"result":${result}}` ? 'right' : `wrong: ${message.slice(0, 200)}`);
}

/** Disconnects while the response is on its way. */
async function leaveInTheMiddle(session: McpSession, name: string): Promise<void> {
  const { origin } = session.caller;
  const connection = await RawConnection.open(origin);
  const params = `{"name":"${name}-echo","arguments":{}}`;
  const body = `{"jsonrpc":"2.0","id":0,"method":"tools/call","params":${params}}`;
  connection.write(encodeRequest(origin, session.caller.request({ session: session.id, body })));
  await new Promise(setImmediate);
  connection.close();
}
