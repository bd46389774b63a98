// Slips in resuming responses of backends after their stream has ended.
import { mutantsOf, type Mutant } from '../mutant.js';

const RESUMING = ['upstream/rpc/resumption'];

export const resumptionMutants: readonly Mutant[] = [
  ...mutantsOf('src/upstream/rpc/resumption.ts', RESUMING, [
    {
      slip: 'a stream without an id is asked for from its beginning',
      text: "if (this.#reconnection.lastEventId === '') return false;",
      becomes: '',
    },
    {
      slip: 'a stream that gets further is waited for ever longer',
      text: '      this.#reconnection.noteProgress();',
      becomes: '',
    },
    {
      slip: 'the longest stream is that before the last',
      text: 'this.#longestBytes = Math.max(this.#longestBytes, this.#streamBytes);',
      becomes: '',
    },
    {
      slip: 'a new event does not begin the count anew',
      text: '      this.#longestBytes = 0;',
      after: 'this.#reconnection.noteProgress();',
      becomes: '',
    },
    { slip: 'bytes of all streams are counted together', text: '    this.#streamBytes = 0;', becomes: '' },
    {
      slip: 'whatever comes is a sign of life',
      text: 'if (this.#streamBytes > this.#longestBytes) return true;',
      becomes: 'if (this.#streamBytes > 0) return true;',
    },
    {
      slip: 'another event is no sign of life',
      text: "return lastEventId !== '' && lastEventId !== this.#reconnection.lastEventId;",
      becomes: 'return false;',
    },
    {
      slip: 'a stream that is not wanted any more is asked for',
      text: '    this.#delay?.cancel();',
      becomes: '',
    },
    {
      slip: 'an abort leaves the request under way',
      text: '    this.#call?.abort();',
      after: 'this.#delay?.cancel();',
      becomes: '',
    },
    {
      slip: 'a pause while it waits is forgotten',
      text: 'if (this.#isPaused) this.#call.pause();',
      becomes: '',
    },
    {
      slip: 'what is no event stream is read',
      text: "if (status === 200 && contentType === 'text/event-stream') {",
      becomes: 'if (status === 200) {',
    },
    {
      slip: 'a failing backend is given up',
      text: '} else if (status >= 500 || status === 429) {',
      becomes: '} else if (status === 429) {',
    },
    {
      slip: 'a busy backend is given up',
      text: '} else if (status >= 500 || status === 429) {',
      becomes: '} else if (status >= 500) {',
    },
    {
      slip: 'the rest of a failing answer is read',
      text: '      this.#call?.abort();',
      after: '} else if (status >= 500 || status === 429) {',
      becomes: '',
    },
    {
      slip: 'a connection that breaks before its head is the end',
      text: "else if (this.#state === 'asking') this.#wait(false);",
      after: 'this.#reader.onFault(fault);',
      becomes: '',
    },
    {
      slip: 'every fault is gone on with',
      text: "if (streams === undefined || (ending !== 'end' && ending.kind !== 'connection-lost')) return undefined;",
      becomes: 'if (streams === undefined) return undefined;',
    },
    {
      slip: 'a stream is gone on with as one that was never before',
      text: 'const resumption = isResumed ? call : new Resumption(',
      becomes: 'const resumption = isResumed && !isResumed ? call : new Resumption(',
    },
    {
      slip: 'a GET says what its body is',
      text: "if (name !== 'accept' && name !== 'content-type') resuming",
      becomes: "if (name !== 'accept') resuming",
    },
    {
      slip: 'success without a stream is told as a refusal',
      text: 'return status < 300',
      becomes: 'return status < 0',
    },
  ]),
];
