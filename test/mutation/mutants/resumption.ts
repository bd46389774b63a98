// Slips in resuming responses of backends after their stream has ended.
import { mutantsOf, type Mutant } from '../mutant.js';

const RESUMING = ['upstream/rpc/resumption'];

export const resumptionMutants: readonly Mutant[] = [
  ...mutantsOf('src/upstream/rpc/resumption.ts', RESUMING, [
    {
      slip: 'a stream without an event id is requested again from its beginning',
      text: "if (this.#reconnection.lastEventId === '') return false;",
      becomes: '',
    },
    {
      slip: 'the retry delay keeps growing although each stream gets further',
      text: '      this.#reconnection.noteProgress();',
      becomes: '',
    },
    {
      slip: 'the size of the longest stream so far is not updated',
      text: 'this.#longestBytes = Math.max(this.#longestBytes, this.#streamBytes);',
      becomes: '',
    },
    {
      slip: 'a new event id does not reset the size of the longest stream',
      text: '      this.#longestBytes = 0;',
      after: 'this.#reconnection.noteProgress();',
      becomes: '',
    },
    { slip: 'the bytes of earlier streams count in the current one', text: '    this.#streamBytes = 0;', becomes: '' },
    {
      slip: 'any bytes count as progress, even if an earlier stream brought more',
      text: 'if (this.#streamBytes > this.#longestBytes) return true;',
      becomes: 'if (this.#streamBytes > 0) return true;',
    },
    {
      slip: 'a new event id does not count as progress',
      text: "return lastEventId !== '' && lastEventId !== this.#reconnection.lastEventId;",
      becomes: 'return false;',
    },
    {
      slip: 'a stream is requested again after the call was aborted',
      text: '    this.#delay?.cancel();',
      becomes: '',
    },
    {
      slip: 'an abort leaves the resuming request open',
      text: '    this.#call?.abort();',
      after: 'this.#delay?.cancel();',
      becomes: '',
    },
    {
      slip: 'a pause between two streams does not apply to the next one',
      text: 'if (this.#isPaused) this.#call.pause();',
      becomes: '',
    },
    {
      slip: 'a response that is not an event stream is read as one',
      text: "if (status === 200 && contentType === 'text/event-stream') {",
      becomes: 'if (status === 200) {',
    },
    {
      slip: 'a 5xx response ends the resumption instead of delaying it',
      text: '} else if (status >= 500 || status === 429) {',
      becomes: '} else if (status === 429) {',
    },
    {
      slip: 'a 429 response ends the resumption instead of delaying it',
      text: '} else if (status >= 500 || status === 429) {',
      becomes: '} else if (status >= 500) {',
    },
    {
      slip: 'the rest of a 5xx or 429 response is still read',
      text: '      this.#call?.abort();',
      after: '} else if (status >= 500 || status === 429) {',
      becomes: '',
    },
    {
      slip: 'the resumption is not retried when the connection breaks before the response head',
      text: "else if (this.#state === 'asking') this.#wait(false);",
      after: 'this.#reader.onFault(fault);',
      becomes: '',
    },
    {
      slip: 'a response is resumed after any fault, not only after a lost connection',
      text: "if (streams === undefined || (ending !== 'end' && ending.kind !== 'connection-lost')) return undefined;",
      becomes: 'if (streams === undefined) return undefined;',
    },
    {
      slip: 'a response that is resumed again forgets its earlier streams',
      text: 'const resumption = isResumed ? call : new Resumption(',
      becomes: 'const resumption = isResumed && !isResumed ? call : new Resumption(',
    },
    {
      slip: 'a resuming GET has the `content-type` of the original request',
      text: "if (name !== 'accept' && name !== 'content-type') resuming",
      becomes: "if (name !== 'accept') resuming",
    },
    {
      slip: 'a success status without a stream is reported as a refused resumption',
      text: 'return status < 300',
      becomes: 'return status < 0',
    },
  ]),
];
