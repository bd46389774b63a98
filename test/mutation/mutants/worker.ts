// Slips in a worker: admission, the order of checks, overload, the access log.
import { mutantsOf, type Mutant } from '../mutant.js';

export const workerMutants: readonly Mutant[] = [
  ...mutantsOf(
    'src/process/overload.ts',
    ['process/overload'],
    [
      {
        slip: 'a mark that is reached does not count',
        text: 'return value >= (wasPast ? until : at);',
        becomes: 'return value > (wasPast ? until : at);',
      },
      {
        slip: 'the worker wavers at its marks',
        text: 'return value >= (wasPast ? until : at);',
        becomes: 'return value >= at;',
      },
      { slip: 'one reading leads over two states', text: "calm: 'refusing-sessions',", becomes: "calm: 'serving'," },
      {
        slip: 'a DELETE is refused',
        text: " && method !== 'DELETE' ? refusals.overloaded",
        becomes: ' ? refusals.overloaded',
      },
      {
        slip: 'the health check sends callers away too early',
        text: "return this.#state === 'refusing-requests' ? refusals.overloaded : undefined;",
        becomes: "return this.#state !== 'serving' ? refusals.overloaded : undefined;",
      },
      {
        slip: 'the event loop is not looked at',
        text: "const GAUGES = ['residentPercent', 'heapPercent', 'loopDelayMs'] as const;",
        becomes: "const GAUGES = ['residentPercent', 'heapPercent'] as const;",
      },
      {
        slip: 'each reading is told',
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
        slip: 'a DELETE is refused',
        text: "=== 'serving' || method === 'DELETE') return",
        becomes: "=== 'serving') return",
      },
      {
        slip: 'a request of an open session is refused with the new sessions',
        text: "if (this.#overload.state !== 'refusing-requests') return undefined;",
        becomes: '',
      },
      {
        slip: 'who is over a share of its own is told of the overload',
        text: 'if (ownShare !== undefined) return ownShare;',
        after: '#sessionRefusal(subject: string): Refusal | undefined {',
        becomes: '',
      },
      {
        slip: 'what all of them hold passes for what one does',
        text: 'return refusal?.status === 429 ? refusal : undefined;',
        becomes: 'return refusal;',
      },
      {
        slip: 'sessions are opened however close the second mark is',
        text: 'limits.pressedSessionsPerSecond * this.#overload.leisure',
        becomes: 'limits.pressedSessionsPerSecond',
      },
      {
        slip: 'requests are taken though memory is short',
        text: 'this.#overload.isShortOfMemory || this',
        becomes: 'this',
      },
      { slip: 'one is held against all others together', text: 'held * others >', becomes: 'held >' },
      {
        slip: 'who holds a little is refused',
        text: 'if (held === 0 || held * 100 <= roomWhenEmpty * limits.pressedHarmlessPercent) return false;',
        becomes: 'if (held === 0) return false;',
      },
      {
        slip: 'all sessions are thought to be small',
        text: 'sessions.held === 0 ? 0 : Math.ceil(sessionBytes.held / sessions.held)',
        becomes: '0',
      },
    ],
  ),
  ...mutantsOf(
    'src/process/few-a-second.ts',
    ['process/few-a-second'],
    [
      { slip: 'one may take all', text: ' || count >= this.#perKeyMax) return', becomes: ') return' },
      { slip: 'each has its own, without end', text: 'this.#count >= totalMax || ', becomes: '' },
      { slip: 'what was let through once counts for ever', text: '      this.#counts.clear();', becomes: '' },
      { slip: 'the sum of once counts for ever', text: '      this.#count = 0;', becomes: '' },
    ],
  ),
  ...mutantsOf(
    'src/process/overload-watch.ts',
    ['process/overload'],
    [
      {
        slip: 'the longest delay counts',
        text: 'isDelayKnown ? Math.min(...this.#delaysMs) : 0,',
        becomes: 'isDelayKnown ? Math.max(...this.#delaysMs) : 0,',
      },
      {
        slip: 'the first delay counts',
        text: 'isDelayKnown ? Math.min(...this.#delaysMs) : 0,',
        becomes: 'Math.min(...this.#delaysMs),',
      },
      {
        slip: 'delays are kept for ever',
        text: 'if (this.#delaysMs.length > DELAYS_KEPT) this.#delaysMs.shift();',
        becomes: '',
      },
      {
        slip: 'garbage is collected at each reading',
        text: 'if (lacksMemory && nowMs - this.#collectedAtMs >= limits.overloadCollectionMs) {',
        becomes: 'if (lacksMemory) {',
      },
      { slip: 'garbage counts as memory in use', text: '      reading = this.#reading();', becomes: '' },
      {
        slip: 'the pause of a collection counts as a delay',
        text: '      this.#dueMs = this.#gauges.nowMs() + limits.overloadReadingMs;',
        becomes: '',
      },
      { slip: 'one gauge of memory is enough not to lack it', text: '      ) >= 0;', becomes: '      ) > 0;' },
      {
        slip: 'what others take of the processor counts as its own',
        text: 'Math.max(0, delayMs - (waitedMs - this.#waitedMs))',
        becomes: 'delayMs',
      },
      {
        slip: 'what others have ever taken counts',
        text: '    this.#waitedMs = waitedMs;',
        becomes: '',
      },
      { slip: 'only its own lateness is published', text: 'this.#onDelay(delayMs);', becomes: 'this.#onDelay(0);' },
      { slip: 'readings end after the first', text: '      this.start();', becomes: '' },
      { slip: 'readings go on after the end', text: 'clearTimeout(this.#timer);', becomes: '' },
    ],
  ),
  ...mutantsOf(
    'src/observation/access-log.ts',
    ['observation/access-log', 'spec/access-log'],
    [
      {
        slip: 'a subject is told',
        text: 'subject: subjectHash(caller.subject),',
        becomes: 'subject: caller.subject,',
      },
      {
        slip: 'a name of any length is told',
        text: "...(tool !== '' && { tool: bounded(tool) }),",
        becomes: "...(tool !== '' && { tool }),",
      },
      { slip: 'a method of any length is told', text: 'method: bounded(method),', becomes: 'method,' },
      {
        slip: 'a virtual host of any length is told',
        text: 'virtualHost: bounded(virtualHost),',
        becomes: 'virtualHost,',
      },
      {
        slip: 'an answer that was cut off looks whole',
        text: "...(ending === 'cut' && { cut: true }),",
        becomes: '',
      },
      {
        slip: 'what nobody heard looks cut',
        text: "...(ending === 'cut' && { cut: true }),",
        becomes: "...(ending !== 'whole' && { cut: true }),",
      },
      {
        slip: 'an answer that never began has a status',
        text: '...(status !== 0 && { status }),',
        becomes: 'status,',
      },
      {
        slip: 'a refused request has no line',
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
        slip: 'a batch has one line for all of its messages',
        text: 'this.#watch.watch(this.caller, part);',
        becomes: '',
      },
      {
        slip: 'strangers push out what became of the requests of others',
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
        slip: 'a refused token is asked for its config',
        text: "if (verified.kind === 'refused') return { kind: 'refused', ...refusedToken(verified) };",
        becomes:
          "if (verified.kind === 'refused' && verified.reason === 'missing') return { kind: 'refused', ...refusedToken(verified) };",
      },
      {
        slip: 'a missing config passes for an unknown virtual host',
        text: "if (read.kind === 'missing') return refused(refusals.configMissing, subject);",
        becomes: "if (read.kind === 'missing') return refused(refusals.virtualHostUnknown, subject);",
      },
      {
        slip: 'a broken config is told at each request',
        text: 'this.#repeated.error(this.#logger, `${subject} ${reason}`, fields,',
        becomes: 'this.#logger.error(fields,',
        noticedBy: ['worker/admission/admission', 'spec/user-config'],
      },
      {
        slip: 'the identity is told',
        text: 'subject: subjectHash(subject), reason };',
        becomes: 'subject, reason };',
      },
      {
        slip: 'without a token any method is 405',
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
        slip: 'what a connection names goes on',
        text: ' || connectionNames?.has(name) === true) continue;',
        becomes: ') continue;',
      },
      {
        slip: 'a name of a connection in capitals goes on',
        text: 'names.add(name.trim().toLowerCase());',
        becomes: 'names.add(name.trim());',
      },
      { slip: 'the last connection header counts', text: 'names ??= new Set();', becomes: 'names = new Set();' },
      { slip: 'bytes that are lost go on', text: "if (value.includes('\\ufffd')) return name;", becomes: '' },
      {
        slip: 'bytes outside ASCII go on as UTF-8',
        text: "return ASCII.test(value) ? value : Buffer.from(value).toString('latin1');",
        becomes: 'return value;',
      },
      { slip: 'every header goes on', text: '!names.has(name) || ', becomes: '' },
    ],
  ),
  ...mutantsOf(
    'src/worker/request-turns.ts',
    ['worker/request-turns'],
    [
      { slip: 'what waits is in no share', text: '    counted?.requests.take(1);', becomes: '' },
      { slip: 'who has gone is served', text: '      place.leave();', becomes: '' },
      {
        slip: 'who has gone holds his share',
        after: 'place.leave();',
        text: 'this.#leave(exchange, counted);',
        becomes: '',
      },
      {
        slip: 'a DELETE whose caller has gone is dropped',
        text: "    if (exchange.request.method === 'DELETE') return undefined;",
        becomes: '',
      },
      { slip: 'who has gone is never told of', text: '      exchange.reset();', becomes: '' },
      {
        slip: 'what found no room gives some back',
        text: '    counted?.requests.give(1);',
        becomes: '    this.#accounts.of("alice").requests.give(counted === undefined ? 1 : 1);',
      },
      {
        slip: 'whoever goes away later is dropped',
        text: '    exchange.onAbort = undefined;',
        becomes: '',
      },
    ],
  ),
  ...mutantsOf(
    'src/worker/forget-announcer.ts',
    ['spec/bootstrap', 'integration/config-change'],
    [
      { slip: 'two writes have one number', text: 'this.#lastTicket += 1;', becomes: '' },
      {
        slip: 'a write is answered before all have forgotten',
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
        slip: 'the TLS listener lets in what the plain one does',
        text: 'return isTls ? this.#parts.tlsHosts : this.#parts.hosts;',
        becomes: 'return isTls ? this.#parts.hosts : this.#parts.hosts;',
        noticedBy: ['spec/tls-listener'],
      },
      {
        slip: 'the overload is not looked at',
        text: 'const refusal = this.#parts.door.refusalOf(request.method, wantedBy(request), subject);',
        becomes: 'const refusal = undefined as ReturnType<OverloadDoor["refusalOf"]>;',
        noticedBy: ['worker/pipeline'],
      },
      {
        slip: 'an overloaded worker reads a body to refuse it',
        text: " || this.#parts.overload.state !== 'serving')",
        becomes: ')',
        noticedBy: ['worker/pipeline'],
      },
      {
        slip: 'who is refused for the head is told another reason when the body is too large',
        text: "body === 'complete' ? withRequestId(refusal, exchange.request.body) : refusal",
        becomes: "body === 'complete' ? withRequestId(refusal, exchange.request.body) : refusals.bodyTooLarge",
        noticedBy: ['worker/pipeline'],
      },
      {
        slip: 'the overload is not looked at behind a hop',
        text: ': this.#parts.door.refusalOf(request.method, wantedBy(request), identity.subject);',
        becomes: ': undefined;',
        noticedBy: ['worker/pipeline'],
      },
      {
        slip: 'requests have no turns',
        text: 'else if (this.#parts.turns.tryPass()) this.#toOwner(caller, exchange);',
        becomes: 'else if (this.#parts !== undefined) this.#toOwner(caller, exchange);',
        noticedBy: ['worker/pipeline'],
      },
      {
        slip: 'requests of other workers have no turns',
        text: 'if (this.#parts.turns.tryPass()) this.#onHopTurn(caller, exchange);',
        becomes: 'if (this.#parts !== undefined) this.#onHopTurn(caller, exchange);',
        noticedBy: ['worker/pipeline'],
      },
      {
        slip: 'a request that was refused behind a hop has no line',
        text: 'this.#parts.watch?.refused(exchange.request, virtualHostId, { refusal: answer, subject });',
        becomes: '',
        noticedBy: ['worker/pipeline'],
      },
      {
        slip: 'a caller that went away during its admission is admitted',
        text: 'if (exchange.isAborted) return;',
        becomes: '',
        noticedBy: ['worker/pipeline', 'spec/malformed-http'],
      },
      {
        slip: 'the body of an unknown caller is read on',
        after: 'onRequest(exchange: EdgeExchange): void {',
        text: 'exchange.incoming.hold();',
        becomes: '',
        noticedBy: ['worker/pipeline'],
      },
      {
        slip: 'a header that cannot be read goes on empty',
        text: 'else if (unreadable !== undefined)',
        becomes: 'else if (unreadable !== undefined && unreadable.status === 0)',
        noticedBy: ['spec/passthrough-headers'],
      },
      {
        slip: 'a page may not read a refusal',
        text: "if (origin !== '') exchange.allowOrigin(hosts.corsHeaders(origin));",
        becomes: '',
        noticedBy: ['spec/answers', 'spec/methods', 'spec/order-of-checks'],
      },
      {
        slip: 'the hop is for another virtual host',
        text: 'const identity = { subject: caller.subject, virtualHostId: caller.virtualHost.id };',
        becomes: "const identity = { subject: caller.subject, virtualHostId: '' };",
        noticedBy: ['spec/sessions'],
      },
      {
        slip: 'a session of another worker is unknown here',
        text: 'if (owner === slot && !this.#isRetired) return',
        becomes: 'if (owner === slot || this.#parts.slotCount > 0) return',
        noticedBy: ['spec/sessions'],
      },
      {
        slip: 'an owner that was lost passes for a lost session',
        text: "'owner-lost': refusals.ownerLost,",
        becomes: "'owner-lost': refusals.sessionUnknown,",
        noticedBy: ['integration/worker-death', 'worker/pipeline'],
      },
      {
        slip: 'a lost session passes for an owner that was lost',
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
        slip: 'who is refused for the head is asked for a body whose end nobody can tell',
        text: ' || isAmbiguous',
        becomes: '',
      },
    ],
  ),
];
