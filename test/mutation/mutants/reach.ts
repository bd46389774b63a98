// Slips in the knowledge of whether a backend can be reached.
import { mutantsOf, type Mutant } from '../mutant.js';

const CIRCUIT = ['upstream/reach/origin-circuit'];
const ENDPOINT = ['upstream/reach/backend-endpoint', 'upstream/reach/origin-circuit'];

export const reachMutants: readonly Mutant[] = [
  ...mutantsOf('src/upstream/reach/origin-circuit.ts', CIRCUIT, [
    {
      slip: 'any failed request opens the circuit',
      text: 'if (!isReachFault(fault)) return;',
      becomes: '',
    },
    {
      slip: 'one refused connection opens the circuit of an origin that has just answered',
      text: 'if (nowMs - this.#answeredAtMs < limits.originAnsweredMs) return;',
      becomes: '',
    },
    {
      slip: 'the delay between probes is never reset',
      text: 'if (this.#answeredAtMs > this.#openedAtMs) this.#backoff.reset();',
      becomes: '',
    },
    {
      slip: 'the delay between probes is reset at every opening, even without an answer in between',
      text: 'if (this.#answeredAtMs > this.#openedAtMs) this.#backoff.reset();',
      becomes: 'this.#backoff.reset();',
    },
    {
      slip: 'probes of many origins go out at the same moment',
      text: 'const delayMs = this.#backoff.nextSpread(this.#context.random());',
      becomes: 'const delayMs = this.#backoff.next();',
    },
    {
      slip: 'an origin that nobody needs is probed for ever',
      text: 'if (this.#context.nowMs() - this.#neededAtMs > limits.originForgottenMs) {',
      becomes: 'if (this.#context.nowMs() - this.#neededAtMs < 0) {',
    },
    {
      slip: 'a refused request does not count as a need for its origin',
      text: '  onNeeded(): void {',
      becomes: '  onNeeded(): void { if (this.#fault !== undefined) return;',
    },
    {
      slip: 'an origin whose circuit has just opened counts as unneeded',
      text: 'this.#neededAtMs = nowMs;',
      becomes: '',
    },
    {
      slip: 'the number of simultaneous probes has no bound',
      text: '} else if (!this.#context.tryBeginProbe()) {',
      becomes: '} else if (!this.#context.tryBeginProbe() && this.#fault === undefined) {',
    },
    {
      slip: 'an origin that finds no room for a probe is never probed again',
      text: '} else if (!this.#context.tryBeginProbe()) {',
      becomes: '} else if (!this.#context.tryBeginProbe()) { return;',
    },
    {
      slip: 'an answered probe does not close the circuit',
      text: 'onHead: () => this.#onReached(),',
      becomes: 'onHead: () => {},',
    },
    {
      slip: 'a probe that connects but gets no answer keeps the circuit open',
      text: 'this.#deadline = deadlines.after(connectTimeoutMs + limits.probeAnswerMsMax, () => this.#onReached());',
      becomes: '',
    },
    {
      slip: 'a probe has only the time to connect, and none to be answered',
      text: 'deadlines.after(connectTimeoutMs + limits.probeAnswerMsMax,',
      becomes: 'deadlines.after(connectTimeoutMs,',
    },
    {
      slip: 'a broken answer to a probe counts as an unreachable origin',
      text: 'if (!isReach && !fault.isUnsent) {',
      becomes: 'if (!isReach && fault.isUnsent) {',
    },
    {
      slip: 'a probe that found no free connection replaces the reason of the open circuit',
      text: 'if (isReach) this.#fault = upstreamFault(fault.kind, true);',
      becomes: 'this.#fault = upstreamFault(fault.kind, true);',
    },
    {
      slip: 'no other probe follows a failed one',
      text: '// A probe for which there was no free connection says nothing about the origin.',
      becomes: 'return;',
    },
    { slip: 'the timer of a circuit outlives the state that set it', text: 'this.#deadline?.cancel();', becomes: '' },
    { slip: 'a probe outlives the half-open state', text: 'this.#probe?.abort();', becomes: '' },
    { slip: 'a finished probe still counts', text: 'this.#context.endProbe();', becomes: '' },
    {
      slip: 'a closed circuit keeps its fault',
      text: "if (next === 'closed') this.#fault = undefined;",
      becomes: '',
    },
    {
      slip: 'a fault while the circuit is open counts as another opening',
      text: "if (!this.#advance('fault')) return;",
      becomes: "this.#advance('fault');",
    },
  ]),
  ...mutantsOf(
    'src/upstream/reach/circuit-state.ts',
    ['upstream/reach/circuit-state'],
    [
      {
        slip: 'an answer to any other request does not close an open circuit',
        text: "open: { answered: 'closed', probed: 'half-open', forgotten: 'closed' },",
        becomes: "open: { probed: 'half-open', forgotten: 'closed' },",
      },
      {
        slip: 'a failed probe closes the circuit',
        text: "'half-open': { answered: 'closed', failed: 'open', forgotten: 'closed' },",
        becomes: "'half-open': { answered: 'closed', failed: 'closed', forgotten: 'closed' },",
      },
    ],
  ),
  ...mutantsOf('src/upstream/reach/backend-endpoint.ts', ENDPOINT, [
    {
      slip: 'an answer does not end the silence of its endpoint',
      text: 'this.#silence = undefined;',
      becomes: '',
    },
    {
      slip: 'an answer at an endpoint is not reported to the circuit of its origin',
      text: 'this.circuit.onAnswer(nowMs);',
      becomes: '',
    },
    {
      slip: 'a backend that answered others meanwhile counts as silent',
      text: "const isSilent = fault.kind === 'answer-timeout' && this.#answeredAtMs < startedAtMs;",
      becomes: "const isSilent = fault.kind === 'answer-timeout';",
    },
    {
      slip: 'a trial that failed for another reason than silence is never over',
      text: '    } else {',
      becomes: '    } else if (isSilent) {',
    },
    {
      slip: 'an open circuit does not determine when a failed opening is tried again',
      text: 'return isSilent || this.circuit.fault !== undefined;',
      becomes: 'return isSilent;',
    },
  ]),
  ...mutantsOf('src/upstream/reach/backend-endpoints.ts', ENDPOINT, [
    {
      slip: 'one probe more than the limit is sent at once',
      text: 'if (this.#probeCount >= limits.originProbesMax) return false;',
      becomes: 'if (this.#probeCount > limits.originProbesMax) return false;',
    },
    {
      slip: 'finished probes still count in the number of simultaneous probes',
      text: 'this.#probeCount -= 1;',
      becomes: '',
    },
    {
      slip: 'two paths of one origin share what is known of one of them',
      text: 'const key = origin + path;',
      becomes: 'const key = origin;',
    },
    {
      slip: 'the number of endpoints has no bound',
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
      slip: 'probes go on after `stop`',
      text: 'for (const circuit of this.#circuits.values()) circuit.forget();',
      becomes: '',
    },
    {
      slip: 'one entry more than the limit is kept',
      text: 'if (map.size < sizeMax) return undefined;',
      becomes: 'if (map.size <= sizeMax) return undefined;',
    },
  ]),
  ...mutantsOf('src/upstream/reach/silence-ledger.ts', ENDPOINT, [
    {
      slip: 'the silence that one subject has met shuts an endpoint for others',
      text: 'const WITNESSES_MIN = 2;',
      becomes: 'const WITNESSES_MIN = 1;',
    },
    {
      slip: 'the silence that two subjects have met does not shut an endpoint for others',
      text: 'const WITNESSES_MIN = 2;',
      becomes: 'const WITNESSES_MIN = 3;',
    },
    {
      slip: 'a subject may make two trials at once',
      text: 'if (own.isTrying || nowMs < own.retryAtMs)',
      becomes: 'if (nowMs < own.retryAtMs)',
    },
    {
      slip: 'a subject may try again before its delay is over',
      text: 'if (own.isTrying || nowMs < own.retryAtMs)',
      becomes: 'if (own.isTrying)',
    },
    { slip: 'a trial is not marked as under way', text: '    own.isTrying = true;', becomes: '' },
    {
      slip: 'the delay between the trials of a subject never grows',
      text: 'Math.max(before * 2, limits.probeDelayMsMin)',
      becomes: 'Math.max(before, limits.probeDelayMsMin)',
    },
    {
      slip: 'the delay between the trials of a subject grows without bound',
      text: 'Math.min(Math.max(before * 2, limits.probeDelayMsMin), limits.probeDelayMsMax);',
      becomes: 'Math.max(before * 2, limits.probeDelayMsMin);',
    },
    { slip: 'a finished trial still counts as under way', text: '    own.isTrying = false;', becomes: '' },
    {
      slip: 'a subject that has met silence is forgotten when its trial ends with another fault',
      text: 'if (own.delayMs === 0) this.#silences.delete(subject);',
      becomes: 'this.#silences.delete(subject);',
    },
    {
      slip: 'a subject that only made a trial counts as one that has met silence',
      text: 'if (own.delayMs === 0) this.#silences.delete(subject);',
      becomes: '',
    },
    {
      slip: 'the number of remembered subjects has no bound',
      text: 'if (this.#silences.size >= limits.silenceSubjectsMax) {',
      becomes: 'if (this.#silences.size < 0) {',
    },
    { slip: 'silence of long ago still counts', text: 'this.#dropOld(nowMs);', becomes: '' },
    {
      slip: 'recent silence no longer counts',
      text: 'if (nowMs - retryAtMs > limits.originForgottenMs)',
      becomes: 'if (nowMs - retryAtMs > 0)',
    },
  ]),
];
