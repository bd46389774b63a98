// Requests that no client should send, beside a client that sends correct ones: odd methods, damaged heads, contradictory lengths
// and codings, a request within the body of another, cut anywhere. No worker ends, the client's answers are its own to the byte,
// and every response to the attacker is valid HTTP and contains nothing of that client.
//
// TAP_TIMEOUT=0 SWITCHYARD_FUZZ_INPUTS=1000000 node build/test/spec/http-fuzz.test.js runs that many. Most of them are never
// answered, so many wait at the same time.
import { connect, type Socket } from 'node:net';
import t from 'tap';
import { backendFor, startDeployment } from '../support/deployment.js';
import { fuzzInputs } from '../support/fuzz-inputs.js';
import { memberText } from '../support/json-text.js';
import { KeptCaller } from '../support/kept-caller.js';
import { answerText, type McpSession } from '../support/mcp-caller.js';
import { mutatedRequest } from '../support/mutated-request.js';
import { Random } from '../support/random.js';
import { encodeRequest } from '../support/raw-http.js';

const SEED = 20261121;
const WORKER_COUNTS = [1, 4];
/** The number of requests for each gateway. */
const INPUTS = Math.ceil(fuzzInputs(600) / WORKER_COUNTS.length);
const LANES = 96;
/** A request without a response by then is one that never gets one: the library is silent about those for ten seconds. */
const SILENCE_MS_MIN = 40;
/** The wait until it is known how fast the gateway responds. */
const SILENCE_MS_FIRST = 1_000;
/** The wait after that, in multiples of the time that the client's last call took. */
const SILENCE_SLOWER = 3;
const TOLD_EVERY = 50_000;

const METHODS = [
  'POST',
  'DELETE',
  'OPTIONS',
  'HEAD',
  'GET',
  'CONSTRUCTOR',
  '__PROTO__',
  'valueOf',
  'TRACE',
  'CONNECT',
  'P',
];
const LENGTHS = [
  '',
  'content-length: {n}',
  'Content-Length:{n}',
  'content-length: 0',
  'content-length: {n}\r\ncontent-length: 3',
];
const CODINGS = ['', '', 'transfer-encoding: chunked', 'transfer-encoding: gzip', 'Transfer-Encoding: CHUNKED, gzip'];
const EXTRAS = [
  '',
  '',
  'expect: 100-continue',
  'connection: close',
  'connection: host',
  'host: evil.example',
  'x: \0',
  ' y: z',
];

interface Attack {
  readonly bytes: Buffer;
  readonly pieces: readonly Buffer[];
}

class Attacker {
  readonly #random: Random;
  readonly #session: McpSession;
  readonly #right: Buffer;

  constructor(session: McpSession, random: Random) {
    this.#random = random;
    this.#session = session;
    const body = '{"jsonrpc":"2.0","id":"attack","method":"tools/call","params":{"name":"one-echo"}}';
    this.#right = encodeRequest(session.caller.origin, session.caller.request({ session: session.id, body }));
  }

  next(): Attack {
    const random = this.#random;
    const bytes = random.chance(0.5) ? mutatedRequest(this.#right, random) : this.#contradiction();
    return { bytes, pieces: this.#cut(bytes) };
  }

  /** Leaves the bytes whole, cuts them into two to six pieces or, rarely because it takes long, into hundreds. */
  #cut(bytes: Buffer): readonly Buffer[] {
    const random = this.#random;
    if (random.chance(0.5)) return [bytes];
    if (random.chance(0.02)) return random.pieces(bytes, 8);
    const ends = Array.from({ length: 1 + random.below(5) }, () => random.below(bytes.length)).sort((a, b) => a - b);
    return [...ends, bytes.length].map((end, index) => bytes.subarray(ends[index - 1] ?? 0, end));
  }

  /** A head that contradicts itself, before a body that may be another request. */
  #contradiction(): Buffer {
    const random = this.#random;
    const { caller, id } = this.#session;
    const inner = random.chance(0.3)
      ? this.#right.toString('latin1')
      : '{"jsonrpc":"2.0","id":"attack","method":"ping"}';
    const isChunked = random.chance(0.4);
    const body = isChunked
      ? `${inner.length.toString(16)}${random.pick(['', ';a=b'])}\r\n${inner}\r\n0\r\n\r\n`
      : inner;
    const method = random.pick(METHODS);
    const lines = [
      `${method} ${random.pick([caller.path, caller.path, '/gw-rs/health', '/x', '*'])} HTTP/1.1`,
      `host: ${new URL(caller.origin).host}`,
      `authorization: Bearer ${caller.token}`,
      // The attacker's own session must last.
      `mcp-session-id: ${method === 'DELETE' ? 'unknown' : id}`,
      'content-type: application/json',
      random.pick(LENGTHS).replaceAll('{n}', String(body.length + random.pick([0, 0, 0, -1, 1]))),
      random.pick(CODINGS),
      random.pick(EXTRAS),
    ];
    return Buffer.from(`${lines.filter((line) => line !== '').join('\r\n')}\r\n\r\n${body}`, 'latin1');
  }
}

/** Everything that is answered, until there is nothing more for a while or the connection has ended. */
async function provoke(origin: string, pieces: readonly Buffer[], silenceMs: number): Promise<string> {
  const { hostname, port } = new URL(origin);
  const socket: Socket = connect({ host: hostname, port: Number(port), noDelay: true });
  let text = '';
  let silence: NodeJS.Timeout | undefined;
  await new Promise<void>((resolve) => {
    socket.on('data', (bytes: Buffer) => {
      text += bytes.toString('latin1');
      // Waits one more moment, in which a second response would arrive.
      if (/^HTTP\/1\.1 (?!100)\d{3} /m.test(text)) setImmediate(resolve);
    });
    socket.on('close', resolve);
    socket.on('error', () => resolve());
    socket.once('connect', () => {
      void writeAll(socket, pieces).then(() => {
        silence = setTimeout(resolve, silenceMs);
      });
    });
  });
  clearTimeout(silence);
  // A reset leaves nothing in the kernel, which has ports for some ten thousand connections that ended in order.
  socket.resetAndDestroy();
  return text;
}

/** Writes each piece in its own turn of the event loop, so that the pieces arrive separately. */
async function writeAll(socket: Socket, pieces: readonly Buffer[]): Promise<void> {
  for (const piece of pieces) {
    if (socket.destroyed) return;
    socket.write(piece);
    await new Promise(setImmediate);
  }
}

/** Why a response is not acceptable; `undefined` if it is. */
function faultOf(text: string): string | undefined {
  if (text === '') return undefined;
  const [statusLine = ''] = text.split('\r\n', 1);
  const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(statusLine)?.[1]);
  if (!(status >= 100 && status < 600)) return `no status: ${JSON.stringify(statusLine)}`;
  if (status >= 500 && status !== 505) return `status ${status}`;
  return text.includes('victim') ? "another's words" : undefined;
}

for (const workerCount of WORKER_COUNTS) {
  t.test(`${workerCount} workers: ${INPUTS} requests, seed ${SEED}`, async (t) => {
    const deployment = await startDeployment(t, { workerCount });
    const backend = await backendFor(t);
    const openSession = async (): Promise<McpSession> =>
      (await deployment.caller({ one: { url: backend.url } })).openSession();
    const [attacked, victim] = [await openSession(), await openSession()];
    const pidsBefore = deployment.gateway.workerPids();
    const attacker = new Attacker(attacked, new Random(SEED));
    let left = INPUTS;
    let answered = 0;
    let silenceMs = SILENCE_MS_FIRST;
    const attack = async (): Promise<void> => {
      while (left > 0) {
        left -= 1;
        if (left % TOLD_EVERY === 0) t.comment(`${left} to go, ${answered} answered`);
        const { bytes, pieces } = attacker.next();
        const text = await provoke(deployment.gateway.origin, pieces, silenceMs);
        if (text !== '') answered += 1;
        const fault = faultOf(text);
        if (fault !== undefined) t.fail(`${fault} to ${JSON.stringify(bytes.toString('latin1'))}`);
      }
    };
    const attacks = Promise.all(Array.from({ length: LANES }, attack));
    const kept = await KeptCaller.connect(victim.caller);
    t.teardown(() => kept.close());
    const overKept = kept.use(victim);
    let calls = 0;
    while (left > 0) {
      const args = `{"marker":"victim-${calls}","n":1.0}`;
      const beganMs = performance.now();
      const answer = await (calls % 2 === 0 ? victim : overKept).call('one-echo', args, { id: `"v-${calls}"` });
      const words = answer.status === 200 ? answerText(answer) : '';
      const isRight =
        memberText(words, 'id') === `"v-${calls}"` && memberText(words, 'result', 'structuredContent') === args;
      if (!isRight) t.fail(`call ${calls}: ${answer.status} ${answer.text}`);
      calls += 1;
      silenceMs = Math.max(SILENCE_MS_MIN, SILENCE_SLOWER * (performance.now() - beganMs));
      // Drops the backend's recorded requests: a million of them would fill the memory.
      backend.calls.length = 0;
      backend.raw.requests.length = 0;
    }
    await attacks;
    t.ok(answered > INPUTS / 4, `${answered} of ${INPUTS} were answered`);
    t.ok(calls > 0, `${calls} calls beside them were right`);
    t.same(deployment.gateway.workerPids(), pidsBefore, 'every worker is the one that was started');
    t.equal(deployment.gateway.errorOutput, '', 'standard error is empty');
  });
}
