// Slips on the way to a backend and back: connections and who may use them, calls, lists, and their upstream sessions.
import { mutantsOf, type Mutant } from '../mutant.js';

const CONNECTION = ['upstream/http1/http1-connection', 'upstream/http1/http1-upstream'];
const POOL = ['upstream/http1/origin-pool'];
const SSE = ['upstream/sse/sse-session'];

export const upstreamMutants: readonly Mutant[] = [
  ...mutantsOf('src/upstream/http1/http1-connection.ts', CONNECTION, [
    {
      slip: 'who stops and goes on in a read is read on though it rests',
      text: '    if (this.#isResumed) this.#socket?.pause();',
      becomes: '',
    },
    {
      slip: 'one with bytes left over behind its answer is used again',
      text: 'const canReuse = isClean && isSent',
      becomes: 'const canReuse = isSent',
    },
    {
      slip: 'one that is still sending its request is used again',
      text: 'isClean && isSent && this.#parser',
      becomes: 'isClean && this.#parser',
    },
    {
      slip: 'a request whose answer has begun is sent again',
      text: 'this.#isCutOff && !this.#hasAnswerBegun;',
      becomes: 'this.#isCutOff;',
    },
    {
      slip: 'a request that broke a new connection is sent again',
      text: 'this.#answersCount > 0 && this.#isCutOff',
      becomes: 'this.#isCutOff',
    },
    {
      slip: 'one is used until the very moment at which the backend closes it',
      text: 'announcedMs - limits.upstreamKeepAliveMarginMs',
      becomes: 'announcedMs',
    },
    {
      slip: 'a call that is paused before it was written is read',
      text: 'if (call.isPaused) socket.pause();',
      becomes: '',
    },
  ]),
  ...mutantsOf('src/upstream/http1/origin-pool.ts', POOL, [
    {
      slip: 'a subject has one connection more than its share',
      text: 'if (use.connections >= this.#bounds.connectionsPerSubjectMax) {',
      becomes: 'if (use.connections > this.#bounds.connectionsPerSubjectMax) {',
    },
    {
      slip: 'what a call had of the process is not given back',
      text: 'use.whole.connections -= 1;',
      becomes: '',
    },
    {
      slip: 'a subject that was at its share never has its turn again',
      text: 'this.#waiting.letGo(call.subject);',
      becomes: '',
    },
    {
      slip: 'a call is tried without end',
      text: 'this.#isClosed || call.unsentCount > limits.upstreamUnsentTriesMax',
      becomes: 'this.#isClosed',
    },
    {
      slip: 'a connection that is lost is not made up for',
      text: 'this.#serveWaiting();',
      after: 'if (unsent !== undefined) this.#sendAgain(unsent);',
      becomes: '',
    },
  ]),
  ...mutantsOf(
    'src/upstream/http1/read-turns.ts',
    ['upstream/http1/read-turns'],
    [
      { slip: 'small answers have no bound', text: 'return this.#isSmallKept(bytes);', becomes: 'return false;' },
      {
        slip: 'small answers overtake those that wait',
        text: 'this.#smallLeft = isOver ? 0 : ',
        becomes: 'this.#smallLeft = ',
      },
      { slip: 'while some wait others have a time of their own', text: 'isOver ? -Infinity : -1', becomes: '-1' },
      { slip: 'the time of small answers never begins anew', text: 'isOver ? -Infinity : -1', becomes: '-Infinity' },
      {
        slip: 'all small answers that wait are dealt with in one turn',
        text: 'while (this.#nowMs() < endMs);',
        becomes: 'while (true);',
      },
      {
        slip: 'small answers wait among large ones',
        text: '(isSmall ? this.#small : this.#waiting)',
        becomes: 'this.#waiting',
      },
      { slip: 'nobody comes back for small answers', text: ' || this.#small.hasTurn;', becomes: ';' },
    ],
  ),
  ...mutantsOf(
    'src/upstream/rpc/refused-request.ts',
    ['relay/era-change'],
    [
      {
        slip: 'what has failed within is sent again in the other era',
        text: ' && code !== rpcCodes.internalError',
        becomes: '',
      },
      {
        slip: 'the answer to a request is taken for a refusal of its era',
        text: ' && !refused.isAnswer(error)',
        becomes: '',
      },
      {
        slip: 'a refusal of one version is taken for one of its era',
        text: '!versions.some((version) => PROTOCOL_VERSIONS.has(version))',
        becomes: 'true',
      },
    ],
  ),
  ...mutantsOf(
    'src/relay/request/relayed-request.ts',
    ['relay/era-change'],
    [
      {
        slip: 'what was refused for its era is sent a second time in the same one',
        text: 'if (upstream.record.era === this.#refusedEra) return',
        becomes: 'if (this.isDone) return',
      },
    ],
  ),
  ...mutantsOf('src/upstream/http1/write-batch.ts', CONNECTION, [
    {
      slip: 'a request goes on a connection that was freed in this very turn',
      text: 'if (freedAtTurn === this.#turn)',
      becomes: 'if (freedAtTurn === -2)',
    },
  ]),
  ...mutantsOf(
    'src/relay/request/answered-request.ts',
    ['relay/request/relayed-request'],
    [
      {
        slip: 'a backend is not held back for a caller that takes nothing',
        text: 'if (stream.isBlocked) this.request?.pause();',
        becomes: '',
      },
      {
        slip: 'a backend that was held back is not read on',
        text: 'this.request?.resume();',
        after: 'onRoom(): void {',
        becomes: '',
      },
    ],
  ),
  ...mutantsOf(
    'src/relay/request/relayed-request.ts',
    ['relay/request/relayed-request'],
    [
      {
        slip: 'a call whose session is lost again and again is sent each time',
        text: '!this.#isSecondTry && this.#cancelDeadline === undefined;',
        becomes: 'this.#cancelDeadline === undefined;',
      },
      {
        slip: 'a call that was cancelled is sent once more',
        text: ' && this.#cancelDeadline === undefined;',
        becomes: ';',
      },
      {
        slip: 'a backend without sessions goes on with what was cancelled',
        text: "if (this.#sentIn?.sessionId === '') {",
        becomes: "if (this.#sentIn?.sessionId === 'none') {",
      },
    ],
  ),
  ...mutantsOf(
    'src/relay/lists/listing.ts',
    ['relay/lists/listing', 'relay/session-end'],
    [
      {
        slip: 'the end of a session leaves its lists to the backends',
        text: 'for (const reader of this.readers) reader.abort();',
        becomes: '',
      },
      {
        slip: 'a backend that is missing from a list is not named',
        text: 'unavailable.push(missingBackend(backend.name, fault));',
        becomes: 'void fault;',
      },
    ],
  ),
  ...mutantsOf(
    'src/relay/session/sessions.ts',
    ['relay/sessions-share', 'relay/session-idle', 'relay/session/session', 'relay/session-end'],
    [
      { slip: 'sessions are not counted', text: 'account.sessions.take(1);', becomes: '' },
      {
        slip: 'a session that was ended counts on',
        text: 'if (this.#sessions.delete(id)) session.account.sessions.give(1);',
        becomes: 'this.#sessions.delete(id);',
      },
      {
        slip: 'a session ends under a long call',
        text: 'if (session.isBusy || this.#isElsewhere(session)) {',
        becomes: 'if (this.#isElsewhere(session)) {',
      },
    ],
  ),
  ...mutantsOf('src/upstream/sse/endpoint-url.ts', SSE, [
    {
      slip: 'messages go to whatever origin the server names',
      text: "if (origin !== stream.origin || username !== '' || password !== '')",
      becomes: "if (username !== '' || password !== '')",
    },
  ]),
  ...mutantsOf('src/upstream/sse/sse-stream.ts', SSE, [
    {
      slip: 'the answer to another request is handed on',
      text: 'const call = this.#waiting.get(idKey(data, idStart, idEnd));',
      becomes: 'const [call] = this.#waiting.values();',
    },
    {
      slip: 'of two requests with one id the second takes the answer of the first',
      text: "else if (this.#waiting.has(key)) call.failLater(upstreamFault('id-in-use', true));",
      becomes: '',
    },
    {
      slip: 'who waits on a stream that is over waits on',
      text: 'for (const call of [...this.#waiting.values()]) call.lose(fault);',
      becomes: '',
    },
    {
      slip: 'of several requests one is told what the server says by itself',
      text: 'if (only !== undefined && this.#waiting.size === 1)',
      becomes: 'if (only !== undefined)',
    },
    {
      slip: 'it is read on while a large event of it is read',
      text: 'const isResting = this.#reading !== undefined || ',
      becomes: 'const isResting = ',
    },
  ]),
  ...mutantsOf('src/upstream/sse/sse-call.ts', SSE, [
    {
      slip: 'a POST without an end keeps its connection',
      text: 'if (!this.#isPosted) this.#cut = this.#stream.cutLater(() => this.#post?.abort());',
      becomes: '',
    },
  ]),
  ...mutantsOf(
    'src/upstream/session/era-opening.ts',
    ['upstream/session/era-opening'],
    [
      {
        slip: 'who says that it has no sessions is initialized',
        text: 'if (result.speaksLegacy === true) {',
        becomes: 'if (result.speaksLegacy !== undefined) {',
      },
      {
        slip: 'a refused token is taken for an answer to what it speaks',
        text: ' || isUnauthorized(fault)',
        becomes: '',
      },
      {
        slip: 'what was asked and not answered is asked by nobody again',
        text: '    if (this.#isAsking) this.#plan.endpoint.eras.onUnasked();',
        becomes: '',
      },
      {
        slip: 'who says nothing is waited for',
        text: 'Math.min(this.#plan.dueMs, nowMs + limits.eraAskedMsMax)',
        becomes: 'this.#plan.dueMs',
      },
    ],
  ),
  ...mutantsOf(
    'src/upstream/http1/read-pace.ts',
    ['upstream/http1/read-turns'],
    [
      {
        slip: 'who goes on while what was kept is dealt with is read on though it rests',
        text: '    if (this.isResting) this.stopReading();',
        becomes: '    if (this.isResting && this.#connection.isPaused) this.stopReading();',
      },
    ],
  ),
  ...mutantsOf(
    'src/upstream/reach/era-memory.ts',
    ['upstream/session/era-opening'],
    [{ slip: 'each session asks', text: '    this.#askedAtMs = nowMs;', becomes: '' }],
  ),
  ...mutantsOf(
    'src/upstream/session/modern-handshake.ts',
    ['upstream/session/era-opening'],
    [{ slip: 'a version is tried without end', text: '    this.#isSecondTry = true;', becomes: '' }],
  ),
];
