// Slips in batches: which are refused, what happens to their members, and what waits for a slow caller.
import { mutantsOf, type Mutant } from '../mutant.js';

const EXCHANGE = ['relay/batch-exchange', 'relay/dispatch/batch'];
const WHOLE = ['relay/dispatch/batch', 'spec/batches'];

export const batchMutants: readonly Mutant[] = [
  ...mutantsOf(
    'src/protocol/client-batch.ts',
    ['protocol/client-batch'],
    [
      {
        slip: 'a batch that is too long looks as if it were not',
        text: 'members.length <= limits.batchMembersMax;',
        becomes: 'members.length < limits.batchMembersMax;',
      },
      {
        slip: 'places of members are written down without a bound',
        text: 'node < past && members.length <= limits.batchMembersMax;',
        becomes: 'node < past;',
      },
      { slip: 'a member begins within another', text: 'node = tape.next(node)', becomes: 'node += 1' },
    ],
  ),
  ...mutantsOf('src/relay/dispatch/batch.ts', WHOLE, [
    {
      slip: 'versions without batches take them',
      text: 'if (!BATCH_PROTOCOL_VERSIONS.has(session.identity.protocolVersion) || exchange.isPart)',
      becomes: 'if (exchange.isPart)',
      noticedBy: ['relay/dispatch/batch', 'spec/answers'],
    },
    { slip: 'a batch may be in a batch', text: ' || exchange.isPart) return', becomes: ') return' },
    {
      slip: 'an empty batch is accepted',
      text: 'if (members.length === 0) return refusals.notJsonRpc;',
      becomes: '',
    },
    {
      slip: 'a batch has as many members as it likes',
      text: 'members.length > limits.batchMembersMax || exchange',
      becomes: 'exchange',
    },
    {
      slip: 'a batch is as large as any body',
      text: ' || exchange.request.body.length > limits.batchBytesMax;',
      becomes: ';',
    },
    {
      slip: 'members of a session that has ended are carried out',
      text: 'if (this.#session.isEnded) refuseMessage(part, refusals.sessionUnknown);',
      becomes: 'if (members === undefined) refuseMessage(part, refusals.sessionUnknown);',
      after: 'this.#watcher?.onPart(part);',
    },
    {
      slip: 'all members are begun in one turn',
      text: 'if (bytesLeft < 0 && index > 0) {',
      becomes: 'if (index < 0) {',
    },
    {
      slip: 'members have views of the body that is given back',
      text: 'body: Buffer.from(body.subarray(start, end)),',
      becomes: 'body: body.subarray(start, end),',
      noticedBy: EXCHANGE,
    },
    {
      slip: 'the body of the batch is kept while its members are under way',
      text: '    this.#exchange.releaseBody();',
      becomes: '',
      noticedBy: EXCHANGE,
    },
    {
      slip: 'answers of a batch whose caller is gone are kept',
      text: 'else if (!this.isAborted) this.#answers',
      becomes: 'else this.#answers',
      noticedBy: EXCHANGE,
    },
    {
      slip: 'one answer may be as large as it likes',
      text: 'if (bytes > limits.batchAnswerBytesMax) return false;',
      becomes: '',
      noticedBy: EXCHANGE,
    },
    {
      slip: 'answers that take too much are gathered all the same',
      text: "if (this.#keptBytes + bytes > limits.batchAnswerBytesMax && this.#exchange.request.answerForms !== 'json')",
      becomes: 'if (this.#keptBytes < 0)',
      noticedBy: EXCHANGE,
    },
    {
      slip: 'who takes only JSON gets a stream',
      text: " && this.#exchange.request.answerForms !== 'json')",
      becomes: ')',
      noticedBy: [...EXCHANGE, 'spec/batches'],
    },
    {
      slip: 'what waits behind events has no bound',
      text: 'if (this.#isStreaming) return !isMuch || this.#hold.hasRoomFor(bytes);',
      becomes: 'if (this.#isStreaming) return true;',
      noticedBy: EXCHANGE,
    },
    {
      slip: 'what is gathered counts nowhere',
      text: '    if (!isMuch) this.#keep(bytes);',
      becomes: '',
      noticedBy: EXCHANGE,
    },
    {
      slip: 'what was gathered before a stream counts for ever',
      text: '    this.#release();',
      after: 'const answers = this.#answers.splice(0);',
      becomes: '',
      noticedBy: EXCHANGE,
    },
    {
      slip: 'what was answered before a stream is lost',
      text: 'for (const message of answers) if (message !== undefined) this.write(encodeEvent(message));',
      becomes: '',
      noticedBy: [...EXCHANGE, 'spec/batches'],
    },
    {
      slip: 'events that wait count nowhere',
      text: '    this.#keep(event.length);',
      becomes: '',
      noticedBy: EXCHANGE,
    },
    {
      slip: 'a caller that reads slowly is written to on and on',
      text: 'if (this.#exchange.write(event)) return true;',
      becomes: 'if (this.#exchange.write(event) || event.length > 0) return true;',
      noticedBy: EXCHANGE,
    },
    {
      slip: 'a cut batch does not tell its members',
      text: 'for (const part of this.#parts) part.tellAborted();',
      becomes: '',
      noticedBy: EXCHANGE,
    },
    {
      slip: 'what an aborted batch has kept still counts',
      text: '    this.#release();',
      after: 'this.#waiting.length = 0;',
      becomes: '',
      noticedBy: EXCHANGE,
    },
    {
      slip: 'what waited is written in the wrong order',
      text: 'for (const event of waiting) this.write(event);',
      becomes: 'for (const event of waiting.reverse()) this.write(event);',
      noticedBy: EXCHANGE,
    },
    {
      slip: 'a stream that drains at its end stays open',
      text: 'if (this.#leftCount === 0) this.#exchange.end();',
      after: "if (this.#state === 'blocked') return;",
      becomes: 'if (this.#leftCount === -1) this.#exchange.end();',
      noticedBy: EXCHANGE,
    },
    {
      slip: 'members are not told that there is room again',
      text: 'else for (const part of this.#parts) part.onDrain?.();',
      becomes: '',
      noticedBy: [...EXCHANGE, 'spec/batches'],
    },
    {
      slip: 'a stream that is blocked ends before what waits',
      text: "if (this.#state !== 'blocked' || this.isAborted) this.#exchange.end();",
      becomes: 'this.#exchange.end();',
      noticedBy: EXCHANGE,
    },
    {
      slip: 'a batch without requests is answered with an empty array',
      text: '} else if (messages.length === 0) {',
      becomes: '} else if (messages.length < 0) {',
    },
    {
      slip: 'who takes only events gets JSON',
      text: "if (messages.length > 0 && this.#exchange.request.answerForms === 'event-stream') this.openStream();",
      becomes: '',
      noticedBy: ['spec/batches'],
    },
    {
      slip: 'what was answered counts for ever',
      text: '      this.#release();',
      after: 'answer(this.#exchange, arrayOf(messages));',
      becomes: '',
    },
    {
      slip: 'members stand without commas',
      text: 'index === 0 ? [message] : [COMMA, message]',
      becomes: '[message]',
    },
  ]),
  ...mutantsOf(
    'src/relay/dispatch/batch-part.ts',
    [...EXCHANGE, 'spec/batches'],
    [
      {
        slip: 'who is refused goes on',
        text: 'return this.#isRefused || this.#batch.isAborted;',
        becomes: 'return this.#batch.isAborted;',
      },
      {
        slip: 'a refusal of HTTP is told as it is',
        text: 'status === 200 ? Buffer.from(body as Uint8Array) : this.#refusedMessage(String(body))',
        becomes: 'Buffer.from(body as Uint8Array)',
      },
      {
        slip: 'a body that is announced as too large is read',
        text: 'if (bodyBytes > limits.batchAnswerBytesMax) this.#refuse();',
        becomes: '',
      },
      {
        slip: 'what comes without a length has no bound',
        text: 'if (this.#pieceBytes > limits.batchAnswerBytesMax) {',
        becomes: 'if (this.#pieceBytes < 0) {',
      },
      {
        slip: 'pieces are kept in memory that is another’s',
        text: 'this.#pieces.push(Buffer.from(bytes));',
        becomes: 'this.#pieces.push(bytes as Buffer);',
      },
      {
        slip: 'half an event goes out',
        text: "if (this.#state === 'body' || !endsEvent(bytes)) return true;",
        becomes: "if (this.#state === 'body') return true;",
      },
      { slip: 'a member that breaks leaves its batch', text: '    this.#batch.reset();', becomes: '' },
      {
        slip: 'a member that is over is told of its caller’s end',
        text: "    if (this.#state === 'over') return;",
        after: 'tellAborted(): void {',
        becomes: '',
      },
      {
        slip: 'what has no room is put in all the same',
        text: 'this.#batch.onAnswer(this.#place, hasRoom ? message : this.#errorMessage(TOO_LARGE));',
        becomes: 'this.#batch.onAnswer(this.#place, message);',
      },
      {
        slip: 'who makes an answer that is refused is not told',
        text: '    this.onAbort?.();',
        after: "this.tellDone(this.#status, 0, 'cut');",
        becomes: '',
      },
      {
        slip: 'an error of a member has no id',
        text: 'if (id !== undefined) return errorMessage({ bytes: body, ...id }, error);',
        becomes: '',
      },
      {
        slip: 'the id of a large member is read for anew',
        text: 'if (this.#id !== undefined) return errorMessage(this.#id, error);',
        becomes: '',
      },
      {
        slip: 'an event ends with any line',
        text: 'return bytes.at(-1) === LINE_FEED && bytes.at(-2) === LINE_FEED;',
        becomes: 'return bytes.at(-1) === LINE_FEED;',
      },
    ],
  ),
];
