// Slips on the way to a backend and back: connections and who may use them, calls, lists, and their upstream sessions.
import { mutantsOf, type Mutant } from '../mutant.js';

const CONNECTION = ['upstream/http1/http1-connection', 'upstream/http1/http1-upstream'];
const POOL = ['upstream/http1/origin-pool'];
const SSE = ['upstream/sse/sse-session'];

export const upstreamMutants: readonly Mutant[] = [
  ...mutantsOf('src/upstream/http1/http1-connection.ts', CONNECTION, [
    {
      slip: 'a connection that was paused and resumed during one read is read on although it rests',
      text: '    if (this.#isResumed) this.#socket?.pause();',
      becomes: '',
    },
    {
      slip: 'a connection with bytes left over after a response is reused',
      text: 'const canReuse = isClean && isSent',
      becomes: 'const canReuse = isSent',
    },
    {
      slip: 'a connection that is still sending its request is reused',
      text: 'isClean && isSent && this.#parser',
      becomes: 'isClean && this.#parser',
    },
    {
      slip: 'a request whose response has begun is sent again',
      text: 'this.#isCutOff && !this.#hasAnswerBegun;',
      becomes: 'this.#isCutOff;',
    },
    {
      slip: 'a request that broke a new connection is sent again',
      text: 'this.#answersCount > 0 && this.#isCutOff',
      becomes: 'this.#isCutOff',
    },
    {
      slip: 'a connection is used until the very moment at which the backend closes it',
      text: 'announcedMs - limits.upstreamKeepAliveMarginMs',
      becomes: 'announcedMs',
    },
    {
      slip: 'the connection of a call that was paused before it was written is read',
      text: 'if (call.isPaused) socket.pause();',
      becomes: '',
    },
  ]),
  ...mutantsOf('src/upstream/http1/origin-pool.ts', POOL, [
    {
      slip: 'a subject gets one connection more than its share',
      text: 'if (use.connections >= this.#bounds.connectionsPerSubjectMax) {',
      becomes: 'if (use.connections > this.#bounds.connectionsPerSubjectMax) {',
    },
    {
      slip: "a finished call still counts against the subject's connections of the whole process",
      text: 'use.whole.connections -= 1;',
      becomes: '',
    },
    {
      slip: 'a subject that was held back at its share never gets its turn again',
      text: 'this.#waiting.letGo(call.subject);',
      becomes: '',
    },
    {
      slip: 'a call that could not be sent is tried without end',
      text: 'this.#isClosed || call.unsentCount > limits.upstreamUnsentTriesMax',
      becomes: 'this.#isClosed',
    },
    {
      slip: 'waiting calls are not served when a connection is lost',
      text: 'this.#serveWaiting();',
      after: 'if (unsent !== undefined) this.#sendAgain(unsent);',
      becomes: '',
    },
  ]),
  ...mutantsOf(
    'src/upstream/http1/read-turns.ts',
    ['upstream/http1/read-turns'],
    [
      {
        slip: 'the number of small pieces that are read in one turn has no bound',
        text: 'return this.#isSmallKept(bytes);',
        becomes: 'return false;',
      },
      {
        slip: 'new small pieces overtake those that wait',
        text: 'this.#smallLeft = isOver ? 0 : ',
        becomes: 'this.#smallLeft = ',
      },
      {
        slip: 'while small pieces wait, new ones get turn time of their own',
        text: 'isOver ? -Infinity : -1',
        becomes: '-1',
      },
      { slip: 'the time for small pieces never begins anew', text: 'isOver ? -Infinity : -1', becomes: '-Infinity' },
      {
        slip: 'all small pieces that wait are handled in one turn',
        text: 'while (this.#nowMs() < endMs);',
        becomes: 'while (true);',
      },
      {
        slip: 'small pieces wait in the queue of large ones',
        text: '(isSmall ? this.#small : this.#waiting)',
        becomes: 'this.#waiting',
      },
      { slip: 'no turn is planned for small pieces that wait', text: ' || this.#small.hasTurn;', becomes: ';' },
    ],
  ),
  ...mutantsOf(
    'src/upstream/rpc/refused-request.ts',
    ['relay/era-change'],
    [
      {
        slip: 'a request that ended in an internal error is sent again in the other era',
        text: ' && code !== rpcCodes.internalError',
        becomes: '',
      },
      {
        slip: "the backend's answer to a request is taken for a refusal of its era",
        text: ' && !refused.isAnswer(error)',
        becomes: '',
      },
      {
        slip: 'the refusal of one version is taken for a refusal of the era',
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
        slip: 'a request that was refused for its era is sent again in the same era',
        text: 'if (upstream.record.era === this.#refusedEra) return',
        becomes: 'if (this.isDone) return',
      },
    ],
  ),
  ...mutantsOf('src/upstream/http1/write-batch.ts', CONNECTION, [
    {
      slip: 'a request is written in the turn in which its connection became free',
      text: 'if (freedAtTurn === this.#turn)',
      becomes: 'if (freedAtTurn === -2)',
    },
  ]),
  ...mutantsOf(
    'src/relay/request/answered-request.ts',
    ['relay/request/relayed-request'],
    [
      {
        slip: 'a backend is not paused while the caller takes no bytes',
        text: 'if (stream.isBlocked) this.request?.pause();',
        becomes: '',
      },
      {
        slip: 'a paused backend is not resumed when the caller takes bytes again',
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
        slip: 'a call that was cancelled is sent again',
        text: ' && this.#cancelDeadline === undefined;',
        becomes: ';',
      },
      {
        slip: 'a cancelled call to a backend without sessions stays open',
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
        slip: 'the end of a session does not abort the reading of its lists',
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
      {
        slip: 'sessions are not counted in the share of their subject',
        text: 'account.sessions.take(1);',
        becomes: '',
      },
      {
        slip: 'a session that has ended still counts',
        text: 'if (this.#sessions.delete(id)) session.account.sessions.give(1);',
        becomes: 'this.#sessions.delete(id);',
      },
      {
        slip: 'an idle session ends although a long call is in progress',
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
      slip: 'an answer is given to another call than the one it belongs to',
      text: 'const call = this.#waiting.get(idKey(data, idStart, idEnd));',
      becomes: 'const [call] = this.#waiting.values();',
    },
    {
      slip: 'of two requests with one id, the second takes the answer of the first',
      text: "else if (this.#waiting.has(key)) call.failLater(upstreamFault('id-in-use', true));",
      becomes: '',
    },
    {
      slip: 'calls on a stream that has ended wait for ever',
      text: 'for (const call of [...this.#waiting.values()]) call.lose(fault);',
      becomes: '',
    },
    {
      slip: 'of several requests in flight, the first is told what the server says unasked',
      text: 'if (only !== undefined && this.#waiting.size === 1)',
      becomes: 'if (only !== undefined)',
    },
    {
      slip: 'a stream is read on while one of its large events is being parsed',
      text: 'const isResting = this.#reading !== undefined || ',
      becomes: 'const isResting = ',
    },
  ]),
  ...mutantsOf('src/upstream/sse/sse-call.ts', SSE, [
    {
      slip: 'a POST that does not end keeps its connection after the answer has come',
      text: 'if (!this.#isPosted) this.#cut = this.#stream.cutLater(() => this.#post?.abort());',
      becomes: '',
    },
  ]),
  ...mutantsOf(
    'src/upstream/session/era-opening.ts',
    ['upstream/session/era-opening'],
    [
      {
        slip: 'a backend that says it has no legacy version is sent `initialize`',
        text: 'if (result.speaksLegacy === true) {',
        becomes: 'if (result.speaksLegacy !== undefined) {',
      },
      {
        slip: 'a refused token is taken for an answer to the question of the era',
        text: ' || isUnauthorized(fault)',
        becomes: '',
      },
      {
        slip: 'a question of the era that was aborted is not asked again',
        text: '    if (this.#isAsking) this.#plan.endpoint.eras.onUnasked();',
        becomes: '',
      },
      {
        slip: 'a backend that does not answer the question of the era is waited for until the full deadline',
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
        slip: 'a connection that came to rest while its kept bytes were handled is read on',
        text: '    if (this.isResting) this.stopReading();',
        becomes: '    if (this.isResting && this.#connection.isPaused) this.stopReading();',
      },
    ],
  ),
  ...mutantsOf(
    'src/upstream/reach/era-memory.ts',
    ['upstream/session/era-opening'],
    [{ slip: 'every session asks the backend for its eras', text: '    this.#askedAtMs = nowMs;', becomes: '' }],
  ),
  ...mutantsOf(
    'src/upstream/session/modern-handshake.ts',
    ['upstream/session/era-opening'],
    [{ slip: 'a version is tried again without end', text: '    this.#isSecondTry = true;', becomes: '' }],
  ),
];
