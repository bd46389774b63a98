// Slips in the knowledge of whether a backend can be reached.
import { mutantsOf, type Mutant } from '../mutant.js';

const CIRCUIT = ['upstream/reach/origin-circuit'];
const ENDPOINT = ['upstream/reach/endpoint', 'upstream/reach/origin-circuit'];

export const reachMutants: readonly Mutant[] = [
  ...mutantsOf('src/upstream/reach/origin-circuit.ts', CIRCUIT, [
    {
      slip: 'any failed request opens the circuit',
      text: 'if (!isReachFault(fault)) return;',
      becomes: '',
    },
    {
      slip: 'one refused connection shuts an origin that answers',
      text: 'if (nowMs - this.#answeredAtMs < limits.originAnsweredMs) return;',
      becomes: '',
    },
    {
      slip: 'the delay of probes never falls again',
      text: 'if (this.#answeredAtMs > this.#openedAtMs) this.#backoff.reset();',
      becomes: '',
    },
    {
      slip: 'the delay of probes falls with every opening',
      text: 'if (this.#answeredAtMs > this.#openedAtMs) this.#backoff.reset();',
      becomes: 'this.#backoff.reset();',
    },
    {
      slip: 'probes of many origins go out together',
      text: 'const delayMs = this.#backoff.nextSpread(this.#context.random());',
      becomes: 'const delayMs = this.#backoff.next();',
    },
    {
      slip: 'an origin that nobody needs is probed for ever',
      text: 'if (this.#context.nowMs() - this.#neededAtMs > limits.originForgottenMs) {',
      becomes: 'if (this.#context.nowMs() - this.#neededAtMs < 0) {',
    },
    {
      slip: 'a need is not noted',
      text: '  onNeeded(): void {',
      becomes: '  onNeeded(): void { if (this.#fault !== undefined) return;',
    },
    {
      slip: 'an origin that was just opened counts as unneeded',
      text: 'this.#neededAtMs = nowMs;',
      becomes: '',
    },
    {
      slip: 'probes at once have no bound',
      text: '} else if (!this.#context.tryBeginProbe()) {',
      becomes: '} else if (!this.#context.tryBeginProbe() && this.#fault === undefined) {',
    },
    {
      slip: 'who finds no room for a probe never tries again',
      text: '} else if (!this.#context.tryBeginProbe()) {',
      becomes: '} else if (!this.#context.tryBeginProbe()) { return;',
    },
    {
      slip: 'a probe that is answered says nothing',
      text: 'onHead: () => this.#onReached(),',
      becomes: 'onHead: () => {},',
    },
    {
      slip: 'a silent path keeps the circuit open',
      text: 'this.#deadline = deadlines.after(connectTimeoutMs + limits.probeAnswerMsMax, () => this.#onReached());',
      becomes: '',
    },
    {
      slip: 'a probe has the time to connect, and none to be answered',
      text: 'deadlines.after(connectTimeoutMs + limits.probeAnswerMsMax,',
      becomes: 'deadlines.after(connectTimeoutMs,',
    },
    {
      slip: 'a broken answer counts as out of reach',
      text: 'if (!isReach && !fault.isUnsent) {',
      becomes: 'if (!isReach && fault.isUnsent) {',
    },
    {
      slip: 'a probe that found no free connection is told as the reason',
      text: 'if (isReach) this.#fault = upstreamFault(fault.kind, true);',
      becomes: 'this.#fault = upstreamFault(fault.kind, true);',
    },
    {
      slip: 'after a failed probe there is no other',
      text: '// A probe for which there was no free connection says nothing about the origin.',
      becomes: 'return;',
    },
    { slip: 'a timer outlives its state', text: 'this.#deadline?.cancel();', becomes: '' },
    { slip: 'a probe outlives its state', text: 'this.#probe?.abort();', becomes: '' },
    { slip: 'a probe that is over goes on counting', text: 'this.#context.endProbe();', becomes: '' },
    {
      slip: 'a closed circuit keeps its fault',
      text: "if (next === 'closed') this.#fault = undefined;",
      becomes: '',
    },
    {
      slip: 'a fault of an open circuit counts as another opening',
      text: "if (!this.#advance('fault')) return;",
      becomes: "this.#advance('fault');",
    },
  ]),
  ...mutantsOf(
    'src/upstream/reach/circuit-state.ts',
    ['upstream/reach/circuit-state'],
    [
      {
        slip: 'an answer to somebody does not close an open circuit',
        text: "open: { answered: 'closed', probed: 'half-open', forgotten: 'closed' },",
        becomes: "open: { probed: 'half-open', forgotten: 'closed' },",
      },
      {
        slip: 'a failed probe closes',
        text: "'half-open': { answered: 'closed', failed: 'open', forgotten: 'closed' },",
        becomes: "'half-open': { answered: 'closed', failed: 'closed', forgotten: 'closed' },",
      },
    ],
  ),
  ...mutantsOf('src/upstream/reach/endpoint.ts', ENDPOINT, [
    {
      slip: 'an answer does not end the silence',
      text: 'this.#silence = undefined;',
      becomes: '',
    },
    { slip: "an answer is not the origin's", text: 'this.circuit.onAnswer(nowMs);', becomes: '' },
    {
      slip: 'a backend that answered others meanwhile counts as silent',
      text: "const isSilent = fault.kind === 'answer-timeout' && this.#answeredAtMs < startedAtMs;",
      becomes: "const isSilent = fault.kind === 'answer-timeout';",
    },
    {
      slip: 'a trial that failed otherwise is never over',
      text: '    } else {',
      becomes: '    } else if (isSilent) {',
    },
    {
      slip: 'of an origin out of reach it is not said when to try again',
      text: 'return isSilent || this.circuit.fault !== undefined;',
      becomes: 'return isSilent;',
    },
  ]),
  ...mutantsOf('src/upstream/reach/endpoints.ts', ENDPOINT, [
    {
      slip: 'one probe more at once than may be',
      text: 'if (this.#probeCount >= limits.originProbesMax) return false;',
      becomes: 'if (this.#probeCount > limits.originProbesMax) return false;',
    },
    { slip: 'probes that are over go on counting', text: 'this.#probeCount -= 1;', becomes: '' },
    {
      slip: 'two paths share what is known of one',
      text: 'const key = origin + path;',
      becomes: 'const key = origin;',
    },
    {
      slip: 'endpoints are kept without bound',
      text: 'dropOldest(this.#endpoints, limits.endpointsMax);',
      becomes: '',
    },
    {
      slip: 'a dropped circuit goes on probing',
      text: 'dropOldest(this.#circuits, limits.upstreamOriginsMax)?.forget();',
      becomes: 'dropOldest(this.#circuits, limits.upstreamOriginsMax);',
    },
    {
      slip: 'each endpoint has a circuit of its own',
      text: 'this.#circuits.set(origin, circuit);',
      becomes: '',
    },
    {
      slip: 'probes go on after the end',
      text: 'for (const circuit of this.#circuits.values()) circuit.forget();',
      becomes: '',
    },
    {
      slip: 'one more is kept than may be',
      text: 'if (map.size < sizeMax) return undefined;',
      becomes: 'if (map.size <= sizeMax) return undefined;',
    },
  ]),
  ...mutantsOf('src/upstream/reach/silence-ledger.ts', ENDPOINT, [
    {
      slip: "one subject's silence shuts an endpoint for others",
      text: 'const WITNESSES_MIN = 2;',
      becomes: 'const WITNESSES_MIN = 1;',
    },
    { slip: 'two witnesses are not enough', text: 'const WITNESSES_MIN = 2;', becomes: 'const WITNESSES_MIN = 3;' },
    {
      slip: 'two trials of a subject at once',
      text: 'if (own.isTrying || nowMs < own.retryAtMs)',
      becomes: 'if (nowMs < own.retryAtMs)',
    },
    {
      slip: 'a subject tries again at once',
      text: 'if (own.isTrying || nowMs < own.retryAtMs)',
      becomes: 'if (own.isTrying)',
    },
    { slip: 'a trial is not noted', text: '    own.isTrying = true;', becomes: '' },
    {
      slip: 'the delay never grows',
      text: 'Math.max(before * 2, limits.probeDelayMsMin)',
      becomes: 'Math.max(before, limits.probeDelayMsMin)',
    },
    {
      slip: 'the delay grows without bound',
      text: 'Math.min(Math.max(before * 2, limits.probeDelayMsMin), limits.probeDelayMsMax);',
      becomes: 'Math.max(before * 2, limits.probeDelayMsMin);',
    },
    { slip: 'a trial that is over still is under way', text: '    own.isTrying = false;', becomes: '' },
    {
      slip: 'who has waited in vain is forgotten after any other fault',
      text: 'if (own.delayMs === 0) this.#silences.delete(subject);',
      becomes: 'this.#silences.delete(subject);',
    },
    {
      slip: 'who only tried is a witness',
      text: 'if (own.delayMs === 0) this.#silences.delete(subject);',
      becomes: '',
    },
    {
      slip: 'subjects are kept without bound',
      text: 'if (this.#silences.size >= limits.silenceSubjectsMax) {',
      becomes: 'if (this.#silences.size < 0) {',
    },
    { slip: 'what was long ago still counts', text: 'this.#dropOld(nowMs);', becomes: '' },
    {
      slip: 'what is recent no longer counts',
      text: 'if (nowMs - retryAtMs > limits.originForgottenMs)',
      becomes: 'if (nowMs - retryAtMs > 0)',
    },
  ]),
];
