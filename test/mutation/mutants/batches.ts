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
        slip: 'a batch with too many members looks as if it had the maximum',
        text: 'members.length <= limits.batchMembersMax;',
        becomes: 'members.length < limits.batchMembersMax;',
      },
      {
        slip: 'the offsets of any number of members are recorded',
        text: 'node < past && members.length <= limits.batchMembersMax;',
        becomes: 'node < past;',
      },
      { slip: 'values inside a member are taken for members', text: 'node = tape.next(node)', becomes: 'node += 1' },
    ],
  ),
  ...mutantsOf('src/relay/dispatch/batch.ts', WHOLE, [
    {
      slip: 'batches are accepted in protocol versions that do not have them',
      text: 'if (!BATCH_PROTOCOL_VERSIONS.has(session.identity.protocolVersion) || exchange.isPart)',
      becomes: 'if (exchange.isPart)',
      noticedBy: ['relay/dispatch/batch', 'spec/answers'],
    },
    { slip: 'a batch within a batch is accepted', text: ' || exchange.isPart) return', becomes: ') return' },
    {
      slip: 'an empty batch is accepted',
      text: 'if (members.length === 0) return refusals.notJsonRpc;',
      becomes: '',
    },
    {
      slip: 'a batch may have any number of members',
      text: 'members.length > limits.batchMembersMax || exchange',
      becomes: 'exchange',
    },
    {
      slip: 'a batch may be as large as any other body',
      text: ' || exchange.request.body.length > limits.batchBytesMax;',
      becomes: ';',
    },
    {
      slip: 'members of a batch are handled after their session has ended',
      text: 'if (this.#session.isEnded) refuseMessage(part, refusals.sessionUnknown);',
      becomes: 'if (members === undefined) refuseMessage(part, refusals.sessionUnknown);',
      after: 'this.#watcher?.onPart(part);',
    },
    {
      slip: 'all members of a large batch begin in one turn of the event loop',
      text: 'if (bytesLeft < 0 && index > 0) {',
      becomes: 'if (index < 0) {',
    },
    {
      slip: 'members share the memory of the batch body, which is given back',
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
      slip: 'a single answer may have any size',
      text: 'if (bytes > limits.batchAnswerBytesMax) return false;',
      becomes: '',
      noticedBy: EXCHANGE,
    },
    {
      slip: 'a batch does not become a stream when its answers are too large to be gathered',
      text: "if (this.#keptBytes + bytes > limits.batchAnswerBytesMax && this.#exchange.request.answerForms !== 'json')",
      becomes: 'if (this.#keptBytes < 0)',
      noticedBy: EXCHANGE,
    },
    {
      slip: 'a caller that accepts only JSON gets a stream',
      text: " && this.#exchange.request.answerForms !== 'json')",
      becomes: ')',
      noticedBy: [...EXCHANGE, 'spec/batches'],
    },
    {
      slip: 'answers that wait in a blocked stream have no size limit',
      text: 'if (this.#isStreaming) return !isMuch || this.#hold.hasRoomFor(bytes);',
      becomes: 'if (this.#isStreaming) return true;',
      noticedBy: EXCHANGE,
    },
    {
      slip: 'gathered answers are not counted',
      text: '    if (!isMuch) this.#keep(bytes);',
      becomes: '',
      noticedBy: EXCHANGE,
    },
    {
      slip: 'answers gathered before the stream was opened still count after that',
      text: '    this.#release();',
      after: 'const answers = this.#answers.splice(0);',
      becomes: '',
      noticedBy: EXCHANGE,
    },
    {
      slip: 'answers gathered before the stream was opened are lost',
      text: 'for (const message of answers) if (message !== undefined) this.write(encodeEvent(message));',
      becomes: '',
      noticedBy: [...EXCHANGE, 'spec/batches'],
    },
    {
      slip: 'waiting events are not counted',
      text: '    this.#keep(event.length);',
      becomes: '',
      noticedBy: EXCHANGE,
    },
    {
      slip: 'a caller that reads too slowly is still written to',
      text: 'if (this.#exchange.write(event)) return true;',
      becomes: 'if (this.#exchange.write(event) || event.length > 0) return true;',
      noticedBy: EXCHANGE,
    },
    {
      slip: 'members are not told that their batch was cut',
      text: 'for (const part of this.#parts) part.tellAborted();',
      becomes: '',
      noticedBy: EXCHANGE,
    },
    {
      slip: 'the answers and events that an aborted batch has dropped still count',
      text: '    this.#release();',
      after: 'this.#waiting.length = 0;',
      becomes: '',
      noticedBy: EXCHANGE,
    },
    {
      slip: 'waiting events are written in reverse order',
      text: 'for (const event of waiting) this.write(event);',
      becomes: 'for (const event of waiting.reverse()) this.write(event);',
      noticedBy: EXCHANGE,
    },
    {
      slip: 'a stream that was blocked when its last member was over is never ended',
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
      slip: 'a blocked stream ends before its waiting events are written',
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
      slip: 'a caller that accepts only event streams gets JSON',
      text: "if (messages.length > 0 && this.#exchange.request.answerForms === 'event-stream') this.openStream();",
      becomes: '',
      noticedBy: ['spec/batches'],
    },
    {
      slip: 'the answers of a finished batch still count',
      text: '      this.#release();',
      after: 'answer(this.#exchange, arrayOf(messages));',
      becomes: '',
    },
    {
      slip: 'the answers in the array are not separated by commas',
      text: 'index === 0 ? [message] : [COMMA, message]',
      becomes: '[message]',
    },
  ]),
  ...mutantsOf(
    'src/relay/dispatch/batch-part.ts',
    [...EXCHANGE, 'spec/batches'],
    [
      {
        slip: 'a member whose answer was refused as too large does not look aborted',
        text: 'return this.#isRefused || this.#batch.isAborted;',
        becomes: 'return this.#batch.isAborted;',
      },
      {
        slip: 'the body of an HTTP refusal goes into the batch instead of a JSON-RPC error',
        text: 'status === 200 ? Buffer.from(body as Uint8Array) : this.#refusedMessage(String(body))',
        becomes: 'Buffer.from(body as Uint8Array)',
      },
      {
        slip: 'an answer is accepted although its announced length is too large',
        text: 'if (bodyBytes > limits.batchAnswerBytesMax) this.#refuse();',
        becomes: '',
      },
      {
        slip: 'an answer that comes in pieces may have any size',
        text: 'if (this.#pieceBytes > limits.batchAnswerBytesMax) {',
        becomes: 'if (this.#pieceBytes < 0) {',
      },
      {
        slip: 'the kept pieces of an answer share memory that their writer may reuse',
        text: 'this.#pieces.push(Buffer.from(bytes));',
        becomes: 'this.#pieces.push(bytes as Buffer);',
      },
      {
        slip: 'incomplete events are passed on to the batch',
        text: "if (this.#state === 'body' || !endsEvent(bytes)) return true;",
        becomes: "if (this.#state === 'body') return true;",
      },
      {
        slip: 'a member whose answer breaks off does not cut its batch',
        text: '    this.#batch.reset();',
        becomes: '',
      },
      {
        slip: 'a member that is over is told that the caller is gone',
        text: "    if (this.#state === 'over') return;",
        after: 'tellAborted(): void {',
        becomes: '',
      },
      {
        slip: 'an answer that has no room is put into the batch',
        text: 'this.#batch.onAnswer(this.#place, hasRoom ? message : this.#errorMessage(rpcErrors.answerTooLargeForBatch));',
        becomes: 'this.#batch.onAnswer(this.#place, message);',
      },
      {
        slip: 'onAbort is not called when an answer is refused as too large',
        text: '    this.onAbort?.();',
        after: "this.tellDone(this.#status, 0, 'cut');",
        becomes: '',
      },
      {
        slip: 'an error for a member lacks the id of its request',
        text: 'if (id !== undefined) return errorMessage({ bytes: body, ...id }, error);',
        becomes: '',
      },
      {
        slip: 'a large member is parsed again to find its id',
        text: 'if (this.#id !== undefined) return errorMessage(this.#id, error);',
        becomes: '',
      },
      {
        slip: 'a single line feed counts as the end of an event',
        text: 'return bytes.at(-1) === LINE_FEED && bytes.at(-2) === LINE_FEED;',
        becomes: 'return bytes.at(-1) === LINE_FEED;',
      },
    ],
  ),
];
