// Slips in a worker: admission, the order of checks, overload, the access log.
import { mutantsOf, type Mutant } from '../mutant.js';

export const workerMutants: readonly Mutant[] = [
  ...mutantsOf(
    'src/process/overload.ts',
    ['process/overload'],
    [
      {
        slip: 'a reading exactly at a mark does not count as past it',
        text: 'return value >= (wasPast ? until : at);',
        becomes: 'return value > (wasPast ? until : at);',
      },
      {
        slip: 'the lower mark for leaving a state is ignored, so the state wavers',
        text: 'return value >= (wasPast ? until : at);',
        becomes: 'return value >= at;',
      },
      {
        slip: 'one calm reading leads from refusing requests straight to serving',
        text: "calm: 'refusing-sessions',",
        becomes: "calm: 'serving',",
      },
      {
        slip: 'a DELETE is refused under overload',
        text: " && method !== 'DELETE' ? refusals.overloaded",
        becomes: ' ? refusals.overloaded',
      },
      {
        slip: 'the health check fails while only new sessions are refused',
        text: "return this.#state === 'refusing-requests' ? refusals.overloaded : undefined;",
        becomes: "return this.#state !== 'serving' ? refusals.overloaded : undefined;",
      },
      {
        slip: 'the delay of the event loop is ignored',
        text: "const GAUGES = ['residentPercent', 'heapPercent', 'loopDelayMs'] as const;",
        becomes: "const GAUGES = ['residentPercent', 'heapPercent'] as const;",
      },
      {
        slip: 'every reading is logged, even if the state stays the same',
        text: 'if (next !== this.#state) {',
        becomes: '{',
      },
    ],
  ),
  ...mutantsOf(
    'src/process/overload-door.ts',
    ['process/overload-door'],
    [
      {
        slip: 'the overload door refuses a DELETE',
        text: "=== 'serving' || method === 'DELETE') return",
        becomes: "=== 'serving') return",
      },
      {
        slip: 'a request of an open session is refused when only new sessions should be',
        text: "if (this.#overload.state !== 'refusing-requests') return undefined;",
        becomes: '',
      },
      {
        slip: 'a subject over its own share is told of the overload instead',
        text: 'if (ownShare !== undefined) return ownShare;',
        after: '#sessionRefusal(subject: string): Refusal | undefined {',
        becomes: '',
      },
      {
        slip: "a share that all subjects have filled is reported as the subject's own",
        text: 'return refusal?.status === 429 ? refusal : undefined;',
        becomes: 'return refusal;',
      },
      {
        slip: 'the rate of new sessions does not fall as the second mark gets closer',
        text: 'limits.pressedSessionsPerSecond * this.#overload.leisure',
        becomes: 'limits.pressedSessionsPerSecond',
      },
      {
        slip: 'requests are accepted although memory is short',
        text: 'this.#overload.isShortOfMemory || this',
        becomes: 'this',
      },
      {
        slip: 'a subject is compared with all others together instead of with their average',
        text: 'held * others >',
        becomes: 'held >',
      },
      {
        slip: 'a subject that holds only a little is refused',
        text: 'if (held === 0 || held * 100 <= roomWhenEmpty * limits.pressedHarmlessPercent) return false;',
        becomes: 'if (held === 0) return false;',
      },
      {
        slip: "the size of a subject's sessions is not considered for its next session",
        text: 'sessions.held === 0 ? 0 : Math.ceil(sessionBytes.held / sessions.held)',
        becomes: '0',
      },
    ],
  ),
  ...mutantsOf(
    'src/process/few-a-second.ts',
    ['process/few-a-second'],
    [
      {
        slip: 'one key may take all of the total in a second',
        text: ' || count >= this.#perKeyMax) return',
        becomes: ') return',
      },
      { slip: 'the total of all keys in a second has no bound', text: 'this.#count >= totalMax || ', becomes: '' },
      { slip: 'what a key took in earlier seconds counts for ever', text: '      this.#counts.clear();', becomes: '' },
      { slip: 'the total of earlier seconds counts for ever', text: '      this.#count = 0;', becomes: '' },
    ],
  ),
  ...mutantsOf(
    'src/process/overload-watch.ts',
    ['process/overload'],
    [
      {
        slip: 'the longest of the last delays counts instead of the shortest',
        text: 'isDelayKnown ? Math.min(...this.#delaysMs) : 0,',
        becomes: 'isDelayKnown ? Math.max(...this.#delaysMs) : 0,',
      },
      {
        slip: 'delays count before there are enough of them',
        text: 'isDelayKnown ? Math.min(...this.#delaysMs) : 0,',
        becomes: 'Math.min(...this.#delaysMs),',
      },
      {
        slip: 'old delays are never dropped',
        text: 'if (this.#delaysMs.length > DELAYS_KEPT) this.#delaysMs.shift();',
        becomes: '',
      },
      {
        slip: 'garbage is collected at every reading that finds memory short',
        text: 'if (lacksMemory && nowMs - this.#collectedAtMs >= limits.overloadCollectionMs) {',
        becomes: 'if (lacksMemory) {',
      },
      {
        slip: 'garbage still counts as memory in use after it was collected',
        text: '      reading = this.#reading();',
        becomes: '',
      },
      {
        slip: 'the pause of a garbage collection counts as a delay',
        text: '      this.#dueMs = this.#gauges.nowMs() + limits.overloadReadingMs;',
        becomes: '',
      },
      { slip: 'memory exactly at its mark does not count as short', text: '      ) >= 0;', becomes: '      ) > 0;' },
      {
        slip: "the time for which other processes had the processor counts as the worker's own delay",
        text: 'Math.max(0, delayMs - (waitedMs - this.#waitedMs))',
        becomes: 'delayMs',
      },
      {
        slip: 'all the time that other processes have ever had the processor is subtracted',
        text: '    this.#waitedMs = waitedMs;',
        becomes: '',
      },
      {
        slip: 'the delay of the event loop is published as 0',
        text: 'this.#onDelay(delayMs);',
        becomes: 'this.#onDelay(0);',
      },
      { slip: 'no reading follows the first', text: '      this.start();', becomes: '' },
      { slip: 'readings go on after `stop`', text: 'clearTimeout(this.#timer);', becomes: '' },
    ],
  ),
  ...mutantsOf(
    'src/observation/access-log.ts',
    ['observation/access-log', 'spec/access-log'],
    [
      {
        slip: 'the subject is logged in plain text',
        text: 'subject: subjectHash(caller.subject),',
        becomes: 'subject: caller.subject,',
      },
      {
        slip: 'the name of a tool is logged at any length',
        text: "...(tool !== '' && { tool: bounded(tool) }),",
        becomes: "...(tool !== '' && { tool }),",
      },
      { slip: 'a method is logged at any length', text: 'method: bounded(method),', becomes: 'method,' },
      {
        slip: 'the id of a virtual host is logged at any length',
        text: 'virtualHost: bounded(virtualHost),',
        becomes: 'virtualHost,',
      },
      {
        slip: 'an answer that was cut off is logged as if it were whole',
        text: "...(ending === 'cut' && { cut: true }),",
        becomes: '',
      },
      {
        slip: 'an answer that nobody heard is logged as cut off',
        text: "...(ending === 'cut' && { cut: true }),",
        becomes: "...(ending !== 'whole' && { cut: true }),",
      },
      {
        slip: 'an answer that never began is logged with a status',
        text: '...(status !== 0 && { status }),',
        becomes: 'status,',
      },
      {
        slip: 'a refused request is logged without the code of its refusal',
        text: '      refusal: code,',
        becomes: '',
      },
    ],
  ),
  ...mutantsOf(
    'src/observation/request-watch.ts',
    ['observation/access-log', 'spec/access-log'],
    [
      {
        slip: 'the messages of a batch are not logged one by one',
        text: 'this.#watch.watch(this.caller, part);',
        becomes: '',
      },
      {
        slip: 'refused requests without a valid token push the requests of others out of the recent ones',
        text: "if (subject !== '')",
        becomes: '',
        noticedBy: ['observation/recent-requests'],
      },
    ],
  ),
  ...mutantsOf(
    'src/shared/refusals.ts',
    ['worker/admission/admission'],
    [
      {
        slip: 'an expired token counts as invalid',
        text: 'expired: refusals.tokenExpired,',
        becomes: 'expired: refusals.tokenInvalid,',
      },
    ],
  ),
  ...mutantsOf(
    'src/worker/admission/admission.ts',
    ['worker/admission/admission'],
    [
      {
        slip: 'a refused token does not end the admission',
        text: "if (verified.kind === 'refused') return { kind: 'refused', ...refusedToken(verified) };",
        becomes:
          "if (verified.kind === 'refused' && verified.reason === 'missing') return { kind: 'refused', ...refusedToken(verified) };",
      },
      {
        slip: 'a missing config is reported as an unknown virtual host',
        text: "if (read.kind === 'missing') return refused(refusals.configMissing, subject);",
        becomes: "if (read.kind === 'missing') return refused(refusals.virtualHostUnknown, subject);",
      },
      {
        slip: 'a broken config is logged at each request',
        text: 'this.#repeated.error(this.#logger, `${subject} ${reason}`, fields,',
        becomes: 'this.#logger.error(fields,',
        noticedBy: ['worker/admission/admission', 'spec/user-config'],
      },
      {
        slip: 'the subject of a broken config is logged in plain text',
        text: 'subject: subjectHash(subject), reason };',
        becomes: 'subject, reason };',
      },
      {
        slip: 'a method that is not allowed gets 405 although the token is missing or invalid',
        text: "return verified.kind === 'refused' ? refusedToken(verified) : undefined;",
        becomes:
          'return verified.kind === "refused" && verified.reason === "expired" ? refusedToken(verified) : undefined;',
        noticedBy: ['worker/admission/admission', 'spec/order-of-checks', 'spec/methods'],
      },
    ],
  ),
  ...mutantsOf(
    'src/worker/passthrough.ts',
    ['relay/exchange/passthrough', 'spec/passthrough-headers'],
    [
      {
        slip: 'a header that `connection` names is forwarded',
        text: ' || connectionNames?.has(name) === true) continue;',
        becomes: ') continue;',
      },
      {
        slip: 'a header that `connection` names in capitals is forwarded',
        text: 'names.add(name.trim().toLowerCase());',
        becomes: 'names.add(name.trim());',
      },
      { slip: 'only the last `connection` header counts', text: 'names ??= new Set();', becomes: 'names = new Set();' },
      {
        slip: 'a header whose original bytes are lost is forwarded',
        text: "if (value.includes('\\ufffd')) return name;",
        becomes: '',
      },
      {
        slip: 'characters outside ASCII are not sent as the bytes that were received',
        text: "return ASCII.test(value) ? value : Buffer.from(value).toString('latin1');",
        becomes: 'return value;',
      },
      { slip: 'every header is forwarded, not only passthrough headers', text: '!names.has(name) || ', becomes: '' },
    ],
  ),
  ...mutantsOf(
    'src/worker/request-turns.ts',
    ['worker/request-turns'],
    [
      {
        slip: 'a request that waits for its turn counts in no share',
        text: '    counted?.requests.take(1);',
        becomes: '',
      },
      { slip: 'a request whose caller has gone is served', text: '      place.leave();', becomes: '' },
      {
        slip: "a request whose caller has gone still counts in the subject's share",
        after: 'place.leave();',
        text: 'this.#leave(exchange, counted);',
        becomes: '',
      },
      {
        slip: 'a DELETE whose caller has gone is dropped',
        text: "    if (exchange.request.method === 'DELETE') return undefined;",
        becomes: '',
      },
      {
        slip: 'the end of a request whose caller has gone is not reported',
        text: '      exchange.reset();',
        becomes: '',
      },
      {
        slip: 'a request that did not count in a share is given back all the same',
        text: '    counted?.requests.give(1);',
        becomes: '    this.#accounts.of("alice").requests.give(counted === undefined ? 1 : 1);',
      },
      {
        slip: 'a caller that goes away after its turn is handled as if it still waited',
        text: '    exchange.onAbort = undefined;',
        becomes: '',
      },
    ],
  ),
  ...mutantsOf(
    'src/worker/forget-announcer.ts',
    ['spec/bootstrap', 'integration/config-change'],
    [
      { slip: 'two writes have the same ticket', text: 'this.#lastTicket += 1;', becomes: '' },
      {
        slip: 'a write is answered before all workers have forgotten the old config',
        text: 'this.#pending.set(ticket, resolve);',
        becomes: 'resolve();',
      },
    ],
  ),
  ...mutantsOf(
    'src/worker/pipeline.ts',
    ['spec/order-of-checks', 'spec/answers'],
    [
      {
        slip: 'the TLS listener accepts the hosts of the plain-text one',
        text: 'return isTls ? this.#parts.tlsHosts : this.#parts.hosts;',
        becomes: 'return isTls ? this.#parts.hosts : this.#parts.hosts;',
        noticedBy: ['spec/tls-listener'],
      },
      {
        slip: 'requests are not checked by the overload door',
        text: 'const refusal = this.#parts.door.refusalOf(request.method, wantedBy(request), subject);',
        becomes: 'const refusal = undefined as ReturnType<OverloadDoor["refusalOf"]>;',
        noticedBy: ['worker/pipeline'],
      },
      {
        slip: 'an overloaded worker receives a body only to refuse it',
        text: " || this.#parts.overload.state !== 'serving')",
        becomes: ')',
        noticedBy: ['worker/pipeline'],
      },
      {
        slip: 'a request that is refused because of its head is told that its body is too large',
        text: "body === 'complete' ? withRequestId(refusal, exchange.request.body) : refusal",
        becomes: "body === 'complete' ? withRequestId(refusal, exchange.request.body) : refusals.bodyTooLarge",
        noticedBy: ['worker/pipeline'],
      },
      {
        slip: 'requests that arrive over a hop are not checked by the overload door',
        text: ': this.#parts.door.refusalOf(request.method, wantedBy(request), identity.subject);',
        becomes: ': undefined;',
        noticedBy: ['worker/pipeline'],
      },
      {
        slip: 'requests do not wait for their turn',
        text: 'else if (this.#parts.turns.tryPass()) this.#toOwner(caller, exchange);',
        becomes: 'else if (this.#parts !== undefined) this.#toOwner(caller, exchange);',
        noticedBy: ['worker/pipeline'],
      },
      {
        slip: 'requests that arrive over a hop do not wait for their turn',
        text: 'if (this.#parts.turns.tryPass()) this.#onHopTurn(caller, exchange);',
        becomes: 'if (this.#parts !== undefined) this.#onHopTurn(caller, exchange);',
        noticedBy: ['worker/pipeline'],
      },
      {
        slip: 'a request that is refused because its hop failed is not logged',
        text: 'this.#parts.watch?.refused(exchange.request, virtualHostId, { refusal: answer, subject });',
        becomes: '',
        noticedBy: ['worker/pipeline'],
      },
      {
        slip: 'a request whose caller went away during admission is admitted',
        text: 'if (exchange.isAborted) return;',
        becomes: '',
        noticedBy: ['worker/pipeline', 'spec/malformed-http'],
      },
      {
        slip: 'a body is read on while the admission of its caller is pending',
        after: 'onRequest(exchange: EdgeExchange): void {',
        text: 'exchange.incoming.hold();',
        becomes: '',
        noticedBy: ['worker/pipeline'],
      },
      {
        slip: 'a request with an unreadable header goes on without passthrough headers',
        text: 'else if (unreadable !== undefined)',
        becomes: 'else if (unreadable !== undefined && unreadable.status === 0)',
        noticedBy: ['spec/passthrough-headers'],
      },
      {
        slip: 'a web page cannot read a refusal, for lack of CORS headers',
        text: "if (origin !== '') exchange.allowOrigin(hosts.corsHeaders(origin));",
        becomes: '',
        noticedBy: ['spec/answers', 'spec/methods', 'spec/order-of-checks'],
      },
      {
        slip: 'a hop names no virtual host',
        text: 'const identity = { subject: caller.subject, virtualHostId: caller.virtualHost.id };',
        becomes: "const identity = { subject: caller.subject, virtualHostId: '' };",
        noticedBy: ['spec/sessions'],
      },
      {
        slip: 'a request is served here although another worker owns its session',
        text: 'if (owner === slot && !this.#isRetired) return',
        becomes: 'if (owner === slot || this.#parts.slotCount > 0) return',
        noticedBy: ['spec/sessions'],
      },
      {
        slip: 'a lost owner is reported as an unknown session',
        text: "'owner-lost': refusals.ownerLost,",
        becomes: "'owner-lost': refusals.sessionUnknown,",
        noticedBy: ['integration/worker-death', 'worker/pipeline'],
      },
      {
        slip: 'an absent owner is reported as a lost one',
        text: "'owner-absent': refusals.sessionUnknown,",
        becomes: "'owner-absent': refusals.ownerLost,",
        noticedBy: ['integration/worker-death', 'worker/pipeline'],
      },
    ],
  ),
  ...mutantsOf(
    'src/relay/exchange/refused-message.ts',
    ['worker/pipeline'],
    [
      {
        slip: 'a body is received for its request id although its length is ambiguous',
        text: ' || isAmbiguous',
        becomes: '',
      },
    ],
  ),
];
