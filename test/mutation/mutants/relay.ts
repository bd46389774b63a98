// Slips in what is relayed besides tools: URIs and names, gates, requests by backends, unsolicited streams.
import { mutantsOf, type Mutant } from '../mutant.js';

const ROWS = 'spec/prompts-resources';
const ASKING = ['relay/asking/backend-requests'];
const RECONNECTING = ['upstream/session/backend-stream', 'upstream/rpc/resumption'];
const STREAMS = ['relay/stream/session-stream'];

export const relayMutants: readonly Mutant[] = [
  ...mutantsOf(
    'src/relay/modern/legacy-message.ts',
    ['relay/modern/legacy-message'],
    [
      {
        slip: 'the comma behind a removed member stays',
        text: 'end: behind + 1, putIn',
        becomes: 'end: behind, putIn',
      },
      {
        slip: 'the comma before a removed last member stays',
        text: 'start: body[before] === COMMA ? before : start',
        becomes: 'start',
      },
      {
        slip: 'an edit is applied although it overlaps with an earlier one',
        text: 'if (!overlaps(outgoing, edits))',
        becomes: 'if (!overlaps(outgoing, edits) || edits.length > 0)',
      },
    ],
  ),
  ...mutantsOf(
    'src/relay/list-merge/item-writer.ts',
    ['relay/list-merge/merge'],
    [
      {
        slip: 'two items with more than a comma between them are copied in one piece',
        text: 'if (bytes === this.#source && start === this.#end + 1) this.#end = start;',
        becomes: 'if (bytes === this.#source) this.#end = start;',
      },
      {
        slip: 'pieces of two sources are taken for one',
        text: 'if (source === this.#source && start === this.#end) {',
        becomes: 'if (start === this.#end) {',
      },
      {
        slip: 'the last byte of a short piece is lost',
        text: 'from < end; from += 1',
        becomes: 'from < end - 1; from += 1',
      },
    ],
  ),
  ...mutantsOf(
    'src/relay/list-merge/list-cache.ts',
    ['relay/list-merge/list-cache'],
    [
      {
        slip: 'a cached list is given to callers that show the backend something else',
        text: '`${this.#configs.of(backend)} ${kind} ${shown}`',
        becomes: '`${this.#configs.of(backend)} ${kind}`',
      },
    ],
  ),
  ...mutantsOf(
    'src/relay/list-merge/list-memory.ts',
    ['relay/list-merge/list-memory', 'relay/list-merge/list-merger'],
    [
      {
        slip: 'a list never waits for memory that is about to be given back',
        text: 'bound === undefined || !this.#isEnoughReturning(subject, bytes)',
        becomes: 'bound === undefined || bytes >= 0',
      },
      {
        slip: 'more lists wait than the memory about to be given back is enough for',
        text: 'const all = this.#returningBytes - this.#waitingBytes;',
        becomes: 'const all = this.#returningBytes;',
      },
      {
        slip: 'a list that waits is not told when there will be no room',
        text: 'if (bound !== undefined && isToWait) continue;',
        becomes: 'if (bound !== undefined) continue;',
      },
    ],
  ),
  ...mutantsOf(
    'src/relay/list-merge/answer-reading.ts',
    ['relay/list-merge/list-merger'],
    [
      {
        slip: 'a reading that is dropped still takes the memory that it waited for',
        after: 'drop(): void {',
        text: 'this.#leaveWait();',
        becomes: '',
      },
      {
        slip: 'the last part of an answer overtakes a part that waits for memory',
        text: ' && this.#untaken.length === 0;',
        becomes: ';',
      },
    ],
  ),
  ...mutantsOf(
    'src/relay/list-merge/lent-page.ts',
    ['relay/list-merge/list-cache'],
    [
      {
        slip: 'a page is freed while somebody uses it',
        text: 'if (this.#userCount === 0) this.#owner.onFree(this.key, 0);',
        becomes: 'if (this.#userCount >= 0) this.#owner.onFree(this.key, 0);',
      },
    ],
  ),
  ...mutantsOf(
    'src/relay/list-merge/kept-lists.ts',
    ['relay/list-merge/list-cache'],
    [
      {
        slip: 'a list that is kept for another subject is found',
        after: 'find(subject: string, key: string): Value | undefined {',
        text: 'this.#bySubject.get(subject)?.entries.get(key)',
        becomes: '[...this.#bySubject.values()][0]?.entries.get(key)',
      },
      {
        slip: 'a list that has changed while it was read is kept',
        text: 'this.isStale ? undefined : { key',
        becomes: 'false ? undefined : { key',
      },
      {
        slip: 'one subject may fill all of the memory for lists',
        text: 'while (own.bytes + bytes > this.#rules.bytesPerSubjectMax && this.#dropOldest(own));',
        becomes: '',
      },
      {
        slip: 'a subject that needs room loses its own lists instead of those of the largest holder',
        text: 'if (held.bytes > most.bytes) most = held;',
        becomes: '',
      },
    ],
  ),
  ...mutantsOf(
    'src/upstream/session/upstream-session.ts',
    ['relay/lists/listing'],
    [
      {
        slip: 'cached lists are given to callers with other headers',
        text: 'protocolVersion, this.shownHeaders(metadata)]',
        becomes: 'protocolVersion]',
      },
      {
        slip: 'a list that has changed is still answered from the cache',
        text: "method.endsWith('/list_changed')) onChanged",
        becomes: "method.endsWith('/never')) onChanged",
      },
    ],
  ),
  ...mutantsOf(
    'src/relay/asking/asked-ids.ts',
    ['relay/asking/asked-ids'],
    [
      {
        slip: 'requests that a backend repeats with one id get the same id at the client',
        text: '`${this.#count}${asksForTask',
        becomes: '`0${asksForTask',
      },
      {
        slip: 'an answer to a request of this process that is already settled is passed on',
        text: ' || origin === this.#origin',
        becomes: '',
      },
      {
        slip: 'an answer is passed to a later upstream session than the one that asked',
        text: "[record?.sessionId ?? '', '']",
        becomes: "['', '']",
      },
      {
        slip: 'an id with a wrong seal is accepted',
        text: 'if (!isSame(this.#sealOf(upstream, head, rest), seal)) continue;',
        becomes: '',
      },
      {
        slip: "the seal does not cover the id of the backend's request",
        text: '${place}${head}${rest}`)',
        becomes: '${place}${head}`)',
      },
      {
        slip: 'the seal does not cover the number and the process in an id',
        text: '${place}${head}${rest}`)',
        becomes: '${place}${rest}`)',
      },
      {
        slip: 'an id for a backend without sessions never expires',
        text: ' <= this.#answerTimeoutMs',
        becomes: ' >= 0',
      },
      {
        slip: 'an id for a backend without sessions is accepted where there is no secret',
        text: " || this.secret === ''",
        becomes: '',
      },
      {
        slip: 'the seal does not cover the address of a backend without sessions',
        text: '[this.secret, `${origin}${path} `]',
        becomes: "[this.secret, '']",
      },
      {
        slip: 'a client is not told that its answer was lost',
        text: "return 'lost';",
        becomes: 'return undefined;',
      },
      {
        slip: 'an answer is passed on each time the client sends it',
        text: 'if (this.#answered.has(seal)) return false;',
        becomes: '',
      },
      {
        slip: "any value that a client makes up is passed on as a backend's id",
        text: "return typeof value === 'string' || typeof value === 'number';",
        becomes: 'return true;',
      },
    ],
  ),
  ...mutantsOf(
    'src/relay/message/uris.ts',
    ['relay/message/uris', 'relay/message/rewriting'],
    [
      {
        slip: "a name in other letter case is found although it could be another backend's",
        text: 'if (isLike && !candidate.hasTwin) return candidate;',
        becomes: 'if (isLike) return candidate;',
      },
      {
        slip: 'a URI whose name is in other letter case is not found',
        text: 'if (isLike && !candidate.hasTwin) return candidate;',
        becomes: '',
      },
      {
        slip: 'a `ui:` URI gets the prefix of other URIs',
        text: '  return behindUi === -1 ? { at',
        becomes: '  return behindUi !== -2 ? { at',
      },
      {
        slip: 'the prefix is inserted before the opening quote',
        text: '{ at: start + 1, putIn',
        becomes: '{ at: start, putIn',
      },
      {
        slip: 'the prefix of a `ui:` URI has no slash',
        text: 'ui: Buffer.from(`${uriName}/`)',
        becomes: 'ui: Buffer.from(`${uriName}`)',
      },
      {
        slip: 'the separator stays when a prefix is cut',
        text: 'const cutEnd = nameEnd + 1;',
        becomes: 'const cutEnd = nameEnd;',
      },
      {
        slip: 'a name with letters outside ASCII is lower-cased and compared',
        text: 'if (Buffer.byteLength(name) !== name.length) return undefined;',
        becomes: '',
      },
      {
        slip: "the caller's form of a `ui:` URI has the prefix of other URIs",
        text: 'return uri.startsWith(UI) ? `${UI}',
        becomes: 'return uri.startsWith(`${UI}/`) ? `${UI}',
      },
    ],
  ),
  ...mutantsOf(
    'src/relay/message/rewriting.ts',
    ['relay/message/rewriting'],
    [
      {
        slip: 'URIs are rewritten at places that belong to other methods',
        text: 'if ((places & uris[row + 2]!) === 0) continue;',
        becomes: '',
      },
      {
        slip: "the id of an answer with URIs stays the backend's",
        text: 'if (idEdit !== undefined) edits.push(idEdit);',
        becomes: '',
      },
      {
        slip: "the id of an answer without URIs stays the backend's",
        text: 'return idEdit && partsOf(bytes, [idEdit]);',
        becomes: 'return undefined;',
      },
      { slip: 'only the first URI is rewritten', text: 'row += URI_SPAN_LENGTH', becomes: 'row += uris.length' },
    ],
  ),
  ...mutantsOf(
    'src/relay/message/edits.ts',
    ['relay/message/rewriting', 'relay/message/task-ids'],
    [
      {
        slip: 'edits are not brought into the order of the bytes',
        text: 'before !== undefined && before.start > added.start;',
        becomes: 'false;',
      },
      { slip: 'the bytes that an edit replaces stay', text: '    at = end;', becomes: '    at = start;' },
      { slip: 'the bytes behind the last edit are lost', text: '  parts.push(bytes.subarray(at));', becomes: '' },
    ],
  ),
  ...mutantsOf(
    'src/protocol/uri-places.ts',
    ['relay/message/rewriting'],
    [
      {
        slip: 'resource links to the web are rewritten',
        text: 'if (this.#tape.kind(uri) !== jsonKind.string || (isLink && isOnTheWeb(this.#bytes, start, end))) return;',
        becomes: 'if (this.#tape.kind(uri) !== jsonKind.string) return;',
      },
      {
        slip: 'web URIs of embedded resources are not rewritten',
        text: "this.#eachNamed(block, 'resource', (resource) => this.#visitOwner(resource, place));",
        becomes: "this.#eachNamed(block, 'resource', (resource) => this.#visitOwner(resource, place, true));",
      },
      {
        slip: '`https:` does not count as the web',
        text: "prefixEnd(bytes, start, end, 'https:', 'caseless') !== -1",
        becomes: 'false',
      },
      {
        slip: 'the URI in a prompt message with one block is not found',
        text: '      else this.#visitBlock(content, uriPlace.messages);',
        becomes: '',
      },
      {
        slip: 'URIs in a prompt message with several blocks are not found',
        text: 'if (this.#tape.kind(content) === jsonKind.array)',
        becomes: 'if (this.#tape.kind(content) === -9)',
      },
      {
        slip: 'the URI in the data of an error is not found',
        text: "else if (this.#isNamed(node, 'error'))",
        becomes: "else if (this.#isNamed(node, 'fault'))",
      },
      {
        slip: 'a `uri` key that is written with escapes is not found',
        text: 'return ESCAPED_LETTERS.some((letter) => bytes.includes(letter));',
        becomes: 'return false;',
      },
      {
        slip: 'resource links are not found',
        text: "else if (this.#isOfType(block, 'resource_link'))",
        becomes: "else if (this.#isOfType(block, 'link'))",
      },
    ],
  ),
  ...mutantsOf(
    'src/relay/message/curated-call.ts',
    ['relay/curation'],
    [
      {
        slip: 'a call that has `arguments` twice is let through',
        text: 'if (values === AMBIGUOUS) return rpcErrors.argumentsInvalid(method);',
        becomes: '',
      },
      {
        slip: 'a fixed argument is let through in capitals',
        text: 'if (closed.has(folded(name))) return name;',
        becomes: 'if (closed.has(name)) return name;',
      },
      {
        slip: 'a completion reveals values of a fixed argument',
        text: 'return closedArguments.has(folded(text)) ? rpcErrors.argumentNotAccepted(text) : undefined;',
        becomes: 'return undefined;',
      },
      {
        slip: 'a completion uses the client’s value of a fixed argument',
        text: ' ?? curatedContext(tape, body, params, message, item);',
        becomes: ';',
      },
      {
        slip: 'fixed arguments are inserted at the end of the object that is farther from the name',
        text: 'const isNameBehind = nameAt > tape.start(object);',
        becomes: 'const isNameBehind = nameAt < 0;',
      },
    ],
  ),
  ...mutantsOf(
    'src/user-config/curation.ts',
    ['relay/curation', 'user-config/curation'],
    [
      {
        slip: 'a tool that was renamed can still be called by its old name',
        text: 'return byBareName.has(name) || isGuarded(items, name) ? undefined : name;',
        becomes: 'return isGuarded(items, name) ? undefined : name;',
      },
      {
        slip: 'a hidden tool can be called by its name in capitals',
        text: 'return byBareName.has(name) || isGuarded(items, name) ? undefined : name;',
        becomes: 'return byBareName.has(name) ? undefined : name;',
      },
      {
        slip: 'two tools are listed under one name',
        text: "return byName.has(bareName) || isGuarded(items, bareName) ? 'taken' : { name: bareName };",
        becomes: 'return { name: bareName };',
      },
    ],
  ),
  ...mutantsOf(
    'src/protocol/json-cuts.ts',
    ['relay/curation'],
    [
      {
        slip: 'the comma before removed last members stays',
        text: 'start: keptEnd === -1 ? unwantedStart : keptEnd, end',
        becomes: 'start: unwantedStart, end',
      },
    ],
  ),
  ...mutantsOf(
    'src/relay/request/targets.ts',
    ['relay/request/targets'],
    [
      {
        slip: 'the URI in an error of `tools/call` is not rewritten',
        text: 'uriPlaces: uriPlace.content | uriPlace.error,',
        after: "  'tools/call': {",
        becomes: 'uriPlaces: uriPlace.content,',
      },
      {
        slip: 'prompts are checked against the allow-list of tools',
        text: ': routeName(virtualHost, names, text);',
        becomes: ": routeName(virtualHost, 'tools', text);",
      },
      {
        slip: "a URI goes to the backend in the caller's form",
        text: 'withBareTask(bareUriBody(body, message, route),',
        becomes: 'withBareTask({ body },',
      },
      {
        slip: '`resources/read` needs no capability',
        text: '    capability: capability.resources,',
        after: "'resources/read': {",
        becomes: '    capability: 0,',
      },
      {
        slip: '`resources/subscribe` needs no capability',
        text: 'capability: capability.resources,',
        after: "'resources/subscribe': {",
        becomes: 'capability: 0,',
      },
      {
        slip: 'a read of an unknown URI gets the wrong error',
        text: 'unknownUri: rpcErrors.resourceNotFound,',
        after: "'resources/read': {",
        becomes: 'unknownUri: rpcErrors.unknownResource,',
      },
      {
        slip: 'the URIs in the contents of a read are not rewritten',
        text: 'uriPlaces: uriPlace.contents | uriPlace.error,',
        becomes: 'uriPlaces: uriPlace.error,',
      },
      {
        slip: 'the URIs in the messages of a prompt are not rewritten',
        text: 'uriPlaces: uriPlace.messages | uriPlace.error,',
        becomes: 'uriPlaces: uriPlace.error,',
      },
      {
        slip: 'the allow-list of resources is not checked',
        text: 'gate: { method, capability: needed, uri: route.bareUri, unknown },',
        becomes: 'gate: { method, capability: needed, uri: undefined, unknown },',
      },
      {
        slip: 'a URI may be no longer than a name',
        text: 'isUri ? limits.uriBytesMax',
        becomes: 'isUri ? limits.toolNameBytesMax',
      },
      {
        slip: 'a URI that is too long is looked up',
        text: 'if (route === undefined || route.bareUri.length > limits.uriBytesMax) return undefined;',
        becomes: 'if (route === undefined) return undefined;',
      },
    ],
  ),
  ...mutantsOf('src/relay/asking/backend-requests.ts', ASKING, [
    {
      slip: 'a client is asked for something that it does not offer',
      text: '      this.#notOffered(message.method, upstream, detail) ??',
      becomes: '',
    },
    {
      slip: 'a client is asked on a stream that cannot carry a request to it',
      text: '      stream.askingObstacle ??',
      becomes: '',
    },
    {
      slip: 'a cancellation reaches the client with the id that the backend uses',
      text: 'partsOf(bytes, [{ ...span, putIn: request.id }, ...',
      becomes: 'partsOf(bytes, [...',
    },
    {
      slip: 'progress with a token that two requests share goes to the first',
      text: 'if (others.length > 0) return;',
      becomes: '',
    },
    {
      slip: 'a backend can ask for a task that belongs to another backend',
      text: 'return this.#clientTasks.isOf(upstream, taskId) ? undefined : rpcErrors.unknownTask(taskId);',
      becomes: 'return undefined;',
    },
    {
      slip: 'an answer is passed to the upstream session that has replaced the one that asked',
      text: 'if (open.upstream.record === open.askedIn) this.#pass(',
      becomes: 'this.#pass(',
    },
    {
      slip: "an answer reaches the backend with the gateway's id",
      text: 'putIn: backendId };',
      becomes: 'putIn: body.subarray(start, end) };',
    },
    {
      slip: 'the ping of a backend goes to the client',
      text: "if (message.method === 'ping') {",
      becomes: "if (message.method === 'pong') {",
    },
    {
      slip: 'a client that offers one mode of elicitation is asked in the other',
      text: "(mode === 'url' ? offers.elicitationUrl : offers.elicitationForm)",
      becomes: '(offers.elicitationUrl || offers.elicitationForm)',
    },
  ]),
  ...mutantsOf('src/relay/asking/awaited-answers.ts', ASKING, [
    {
      slip: 'an answer does not settle its request, so it may be given twice',
      text: 'if (request !== undefined) this.#settle(request);',
      becomes: '',
    },
    {
      slip: 'the number of open requests of a backend has no bound',
      text: 'return openCount < limits.backendRequestsOpenMax ? undefined : errorsToBackends.tooManyPending;',
      becomes: 'return undefined;',
    },
    {
      slip: "open requests of other backends count against a backend's limit",
      text: 'if (request.upstream === upstream) openCount += 1;',
      becomes: 'openCount += 1;',
    },
    {
      slip: "the id of a backend's request has no bound",
      text: 'if (idBytes > limits.backendRequestIdBytesMax) return errorsToBackends.idTooLong;',
      becomes: '',
    },
    {
      slip: 'a cancellation by one backend withdraws the request of another',
      text: 'if (request.upstream !== upstream || request.backendIdKey !== backendIdKey) continue;',
      becomes: 'if (request.backendIdKey !== backendIdKey) continue;',
    },
    {
      slip: 'a request stays with the client when its stream has ended',
      text: "      tellCancelled(request, 'The request that it belongs to has ended');",
      becomes: '',
    },
    {
      slip: 'the end of one stream withdraws requests that were sent on others',
      text: 'if (request.stream !== stream) continue;',
      becomes: '',
    },
    {
      slip: 'a backend is not told that its request never reached the client',
      text: '    tellAsker(request, error);',
      becomes: '',
    },
    {
      slip: 'a backend is not told that its request was not answered in time',
      text: '    tellAsker(request, errorsToBackends.clientTimedOut);',
      becomes: '',
    },
    {
      slip: 'a call still counts as waiting for the client after the last answer',
      text: 'if (!this.isAsking(stream, upstream)) stream.onAsking(false, upstream);',
      becomes: '',
    },
    {
      slip: 'a call does not count as waiting for the client while the client is asked',
      text: 'stream.onAsking(true, upstream);',
      becomes: '',
    },
  ]),
  ...mutantsOf(
    'src/user-config/list-rules.ts',
    ['upstream/session/upstream-session'],
    [
      {
        slip: 'experimental methods of a backend are let through although its allow-list keeps something out',
        text: 'return tools !== undefined || prompts !== undefined || resources !== undefined || isGuarding(curation);',
        becomes: 'return isGuarding(curation);',
      },
      {
        slip: 'experimental methods of a backend are let through although something of it is hidden',
        text: ' || isGuarding(curation);',
        becomes: ';',
      },
    ],
  ),
  ...mutantsOf('src/relay/stream/session-stream.ts', STREAMS, [
    {
      slip: 'a request is sent to a client that is not ready',
      text: 'if (onLost !== undefined && !this.#isReady()) this.#awaitReadiness();',
      becomes: '',
    },
    {
      slip: 'a notification waits for the client to be ready',
      text: 'if (onLost !== undefined && !this.#isReady())',
      becomes: 'if (!this.#isReady())',
    },
    {
      slip: 'a request to a client that never becomes ready is sent in the end',
      text: 'this.#waiting.filter(({ onLost }) => onLost !== undefined)',
      becomes: 'this.#waiting.slice(0, 0)',
    },
    {
      slip: 'a newer GET leaves the older one open',
      text: '    this.#letGo();',
      after: 'open(exchange: Exchange, position?: number): void {',
      becomes: '',
    },
    {
      slip: 'the bytes of waiting events have no bound',
      text: 'if (this.#waitingBytes + bytes > limits.sessionStreamWaitingBytesMax) return false;',
      becomes: '',
    },
    {
      slip: 'the number of waiting events has no bound',
      text: 'if (this.#waiting.length >= limits.sessionStreamWaitingMax) return false;',
      becomes: '',
    },
    {
      slip: 'events wait although the share has no room for them',
      text: 'return this.#account.sessionBytes.boundAgainst(bytes) === undefined;',
      becomes: 'return true;',
    },
    {
      slip: 'an event that is dropped is not reported as lost',
      text: '    this.#lostCount += 1;',
      after: '#dropOldest(): void {',
      becomes: '',
    },
    {
      slip: 'a loss is reported without end',
      text: '        this.#lostCount = 0;',
      after: 'lossNotification(this.#lostCount))',
      becomes: '        this.#lostCount -= 0;',
    },
    {
      slip: 'the newest waiting event is sent first',
      text: 'const event = this.#waiting.shift();',
      becomes: 'const event = this.#waiting.pop();',
    },
    {
      slip: 'an event that no longer waits still counts in the share',
      text: '    this.#account.sessionBytes.give(event.bytes.length);',
      becomes: '',
    },
    {
      slip: 'a new event overtakes those that wait',
      text: 'if (this.isOpen && !this.#isHeldBack && this.#waiting.length === 0) {',
      becomes: 'if (this.isOpen && !this.#isHeldBack) {',
    },
    {
      slip: 'a request on a closed stream is not reported as lost',
      text: 'if (!this.isHeard) {',
      becomes: 'if (this.#lostCount < 0) {',
    },
    {
      slip: 'changes of several lists become one notification',
      text: 'this.#changes.set(method, ',
      becomes: "this.#changes.set('one', ",
    },
    {
      slip: 'a change that several backends report is passed on with the bytes of one',
      text: 'const isPlain = this.#changes.has(method) ||',
      becomes: 'const isPlain =',
    },
    {
      slip: 'the duration of a stream has no bound',
      text: '() => this.#onOld(exchange));',
      becomes: '() => undefined);',
    },
    {
      slip: 'a stream that is blocked is ended in order, which never completes',
      text: 'if (wasBlocked) exchange.reset();',
      becomes: 'if (wasBlocked) exchange.end();',
    },
    {
      slip: 'events wait on after a client that cannot resume has gone',
      text: '    this.#dropAll();',
      after: '#onAbort(exchange: Exchange): void {',
      becomes: '',
    },
  ]),
  ...mutantsOf(
    'src/relay/session/subscriptions.ts',
    ['relay/session/subscriptions'],
    [
      {
        slip: 'subscriptions that the config alone cannot judge are not renewed in a new upstream session',
        text: "if (grantByEntries(upstream.backend, uri) === 'refused') return;",
        becomes: "if (grantByEntries(upstream.backend, uri) !== 'granted') return;",
      },
      {
        slip: 'the number of subscriptions has no bound',
        text: 'this.#count < limits.subscriptionsMax && ',
        becomes: '',
      },
      {
        slip: 'a subscription is made although the share has no room',
        text: ' && this.#memory.hasRoomFor(bytesOf(uri));',
        becomes: ';',
      },
      {
        slip: 'a subscription that is made twice counts twice',
        text: 'if (uris.has(uri) || !this.hasRoomFor(uri)) return;',
        becomes: 'if (!this.hasRoomFor(uri)) return;',
      },
      {
        slip: 'the bytes of a subscription that has ended still count',
        text: '    this.#memory.drop(bytesOf(uri));',
        after: 'delete(backendName: string',
        becomes: '',
      },
      {
        slip: 'a subscription that has ended still counts in the number',
        text: '    this.#count -= 1;',
        after: 'delete(backendName: string',
        becomes: '',
      },
      {
        slip: 'a subscription that the backend is being asked for is not counted',
        text: '    this.#count += 1;',
        after: 'tryReserve(',
        becomes: '',
      },
      {
        slip: 'a subscription that is already held needs room again',
        text: 'if (this.has(backendName, uri)) return () => undefined;',
        becomes: '',
      },
      {
        slip: 'ending a subscription that does not exist is counted',
        text: 'if (this.#uris.get(backendName)?.delete(uri) !== true) return;',
        becomes: 'this.#uris.get(backendName)?.delete(uri);',
      },
      {
        slip: 'a backend that is gone keeps its subscriptions',
        text: 'for (const uri of this.#uris.get(backendName) ?? []) this.delete(backendName, uri);',
        becomes: '',
      },
      {
        slip: 'a subscription that is no longer allowed is renewed',
        text: "if (grantByEntries(upstream.backend, uri) === 'refused') return;",
        becomes: '',
      },
      {
        slip: 'subscriptions are renewed at a backend without resources',
        text: '!upstream.declares(capability.resources) || upstream.isModern',
        becomes: 'upstream.isModern',
      },
      {
        slip: 'subscriptions are not renewed in a new upstream session',
        text: '() => upstream.record === record,',
        becomes: '() => false,',
      },
    ],
  ),
  ...mutantsOf(
    'src/relay/session/config-rounds.ts',
    ['relay/session/config-rounds'],
    [
      {
        slip: 'a stream stays open although its virtual host is gone',
        text: 'session.endStream(false);',
        becomes: '{}',
      },
      {
        slip: 'the configs of all streams are read at once',
        text: '{ length: limits.listenConfigsAtOnceMax }',
        becomes: '{ length: this.#listening.size }',
      },
    ],
  ),
  ...mutantsOf(
    'src/relay/session/allow-list-hash.ts',
    ['relay/session/subscriptions'],
    [
      {
        slip: 'a different allow-list of the same size counts as the same',
        text: '[...resources].sort()',
        becomes: 'resources.size',
      },
      {
        slip: 'an allow-list in another order counts as a different one',
        text: '[...resources].sort()',
        becomes: '[...resources]',
      },
    ],
  ),
  ...mutantsOf(
    'src/shared/backoff.ts',
    ['shared/backoff'],
    [
      {
        slip: 'the delay does not grow',
        text: 'this.#delayMs = Math.min(delayMs * 2, this.#delayMsMax);',
        becomes: '',
      },
      {
        slip: 'the delay grows without bound',
        text: 'this.#delayMs = Math.min(delayMs * 2, this.#delayMsMax);',
        becomes: 'this.#delayMs = delayMs * 2;',
      },
      {
        slip: 'the delay is never reset',
        text: '    this.#delayMs = this.#delayMsMin;',
        becomes: '',
      },
      {
        slip: 'those that failed together try again at the same moment',
        text: 'return spread(this.next(), random);',
        becomes: 'return this.next();',
      },
    ],
  ),
  ...mutantsOf('src/upstream/rpc/reconnection.ts', RECONNECTING, [
    {
      slip: 'the delay is not reset after progress',
      text: '    this.#backoff.reset();',
      after: 'noteProgress(): void {',
      becomes: '',
    },
    {
      slip: "a backend's `retry` is ignored",
      text: 'if (this.#retryMs === undefined) return delayMs;',
      becomes: 'if (this.#retryMs !== -1) return delayMs;',
    },
    {
      slip: "a backend's `retry` has no bound",
      text: 'Math.min(Math.max(this.#retryMs, limits.backendRetryMsMin), limits.backendRetryMsMax)',
      becomes: 'this.#retryMs',
    },
    {
      slip: 'a short `retry` overrides the growing delay after a failed attempt',
      text: 'return hasEnded ? retryMs : Math.max(retryMs, delayMs);',
      becomes: 'return retryMs;',
    },
    {
      slip: 'the `retry` of an earlier stream is forgotten',
      text: 'this.#retryMs = retryMs ?? this.#retryMs;',
      becomes: 'this.#retryMs = retryMs;',
    },
    {
      slip: 'the last event id is forgotten when a stream brings none',
      text: "if (lastEventId !== '') this",
      becomes: 'this',
    },
    {
      slip: 'an event id that is not a valid header value is sent in a header',
      text: "isHeaderText(lastEventId) ? lastEventId : ''",
      becomes: 'lastEventId',
    },
  ]),
  ...mutantsOf('src/upstream/session/backend-stream.ts', RECONNECTING, [
    {
      slip: 'a stream is requested again without the last event id',
      text: 'this.#call = this.#plan.ask(this.#reconnection.lastEventId, this);',
      becomes: "this.#call = this.#plan.ask('', this);",
    },
    {
      slip: 'a stream that the backend refuses is requested again',
      text: '    } else if (status >= 500 || status === 429 || status === 409) {',
      becomes: '    } else if (status >= 400) {',
    },
    {
      slip: 'a stream is never requested again after a 409 or 5xx response',
      text: '    } else if (status >= 500 || status === 429 || status === 409) {',
      becomes: '    } else if (status === 429) {',
    },
    {
      slip: 'a lost session is not reported',
      text: 'if (status === 404 || ',
      becomes: 'if (',
    },
    {
      slip: 'a response that is not an event stream is read as one',
      text: "const isStream = status === 200 && contentType === 'text/event-stream';",
      becomes: 'const isStream = status === 200;',
    },
    {
      slip: 'answers are passed on as if they were messages',
      text: "if (message !== undefined && message.kind !== 'response')",
      becomes: 'if (message !== undefined)',
    },
    { slip: 'a stream that was closed is requested again', text: '    this.#delay?.cancel();', becomes: '' },
    {
      slip: 'a stream that was closed stays open at the backend',
      text: '    this.#call?.abort();',
      after: 'this.#delay?.cancel();',
      becomes: '',
    },
    {
      slip: 'a stream that has ended counts as a failed attempt',
      text: "const hasEnded = this.#transition('streaming', 'waiting');",
      becomes: 'const hasEnded = false;',
    },
    { slip: 'messages on a stream do not count as progress', text: 'if (!isFrame) this', becomes: 'if (isFrame) this' },
    {
      slip: 'the end of a stream is handled twice',
      text: "if (!hasEnded && !this.#transition('asking', 'waiting')) return;",
      becomes: "this.#transition('asking', 'waiting');",
    },
    {
      slip: 'a new stream is read with a parser that has given up',
      text: "      if (this.#transition('asking', 'streaming'))",
      becomes: "      if (this.#transition('asking', 'streaming') && this.#parser === undefined)",
    },
  ]),
  ...mutantsOf(
    'src/relay/message/uri-template.ts',
    ['relay/message/uri-template'],
    [
      {
        slip: 'a template variable matches anything',
        text: 'if (found === -1 || !EXPANDED.test(uri.slice(at, found))) return false;',
        becomes: 'if (found === -1) return false;',
      },
      {
        slip: 'the last template variable matches anything',
        text: 'uri.endsWith(last) && EXPANDED.test(uri.slice(at, end));',
        becomes: 'uri.endsWith(last);',
      },
      {
        slip: 'a URI with dot segments matches a template',
        text: 'if (DOT_SEGMENT.test(uri)) return false;',
        becomes: '',
      },
      {
        slip: 'the beginning of a URI may differ from that of its template',
        text: 'if (!uri.startsWith(first)) return false;',
        becomes: '',
      },
      {
        slip: 'a template with expressions of a higher level matches',
        text: '} else if (!VARIABLE.test(part)) {',
        becomes: '} else if (part === undefined) {',
      },
      {
        slip: 'the end of a template may overlap with what was matched before it',
        text: 'return end >= at && uri',
        becomes: 'return uri',
      },
      {
        slip: 'the text between two template variables has no bound',
        text: 'if (literal.length > limits.templateTextCharsMax) return false;',
        becomes: '',
      },
    ],
  ),
];

/** Mutants that show only with a running gateway and its backends. */
export const relayedMutants: readonly Mutant[] = [
  ...mutantsOf(
    'src/relay/session/experimental.ts',
    ['spec/experimental'],
    [
      {
        slip: 'of two backends that declare a method, the first is asked',
        text: 'if (found !== undefined) return undefined;',
        becomes: 'if (found !== undefined) return found;',
      },
      {
        slip: 'a client is told of a method that two backends declare, so that neither is asked',
        text: 'byName.has(name) ? undefined : value',
        becomes: 'value',
      },
    ],
  ),
  ...mutantsOf(
    'src/relay/session/experimental.ts',
    ['relay/request/method-search'],
    [
      {
        slip: 'a backend that is limited by its config is opened in search of a method',
        text: '!isLimited(backend) && upstreams',
        becomes: 'upstreams',
      },
    ],
  ),
  ...mutantsOf(
    'src/relay/request/method-search.ts',
    ['relay/request/method-search'],
    [
      {
        slip: 'the search for a method ends with the first backend that is opened',
        text: 'if (this.#pending.size === 0) this.#onSearchOver();',
        becomes: 'this.#onSearchOver();',
      },
      {
        slip: 'a request that was cancelled during the search is sent all the same',
        text: 'if (this.#isDone) return false;',
        becomes: '',
      },
    ],
  ),
  ...mutantsOf(
    'src/relay/request/gate.ts',
    ['relay/request/gate', ROWS],
    [
      {
        slip: 'a backend is asked for what it has not declared',
        text: 'if (((upstream.record?.capabilities ?? 0) & capability) === 0) {',
        becomes: 'if (capability === -1) {',
      },
      {
        slip: 'where no backend declares the capability, the resource is reported missing instead of the method',
        text: "=== 'no' ? rpcErrors.methodNotFound(method) : unknown);",
        becomes: "=== 'no' ? unknown : unknown);",
      },
      {
        slip: 'a URI that the entries of the allow-list refuse is read',
        text: "} else if (grant === 'refused') {",
        becomes: "} else if (grant === 'never') {",
      },
      {
        slip: 'a URI that the entries of the allow-list grant is refused if it is in no list',
        text: "uri === undefined || grant === 'granted'",
        becomes: 'uri === undefined',
      },
      {
        slip: 'resource templates are not considered',
        text: 'if (outcome === unknown && !this.#isAborted)',
        becomes: 'if (outcome === method && !this.#isAborted)',
      },
      {
        slip: 'a URI that is in no list is granted',
        text: 'else done(outcome ? undefined : this.#rules.unknown);',
        becomes: 'else done(undefined);',
      },
      {
        slip: 'a URI is granted when the lists cannot be read',
        text: 'if (fault !== undefined) done(fault);',
        becomes: 'if (fault !== undefined) done(undefined);',
      },
    ],
  ),
  ...mutantsOf(
    'src/relay/session/unsolicited-messages.ts',
    ['relay/session/unsolicited-messages', 'spec/streams'],
    [
      {
        slip: 'backends that have nothing to say are listened to',
        text: '!this.#maySpeak(upstream)',
        becomes: 'false',
      },
      {
        slip: 'a backend is not listened to although the client can be asked',
        text: ' || this.#session.offersAnything || ',
        becomes: ' || ',
      },
      {
        slip: 'a backend that is already listened to gets a second stream',
        text: 'if (before?.stream.isOver === false) {',
        becomes: 'if (before?.stream.isOver === true) {',
      },
      {
        slip: 'the stream of a backend outlives its upstream session',
        text: '    heard.stream.close();',
        becomes: '',
      },
      {
        slip: "the backends' streams stay open when the client does not come back",
        text: 'if (!this.stream.isOpen) this.#closeAll();',
        becomes: '',
      },
      {
        slip: "the backends' streams end although the client has come back",
        text: '    this.#lingering?.cancel();',
        after: 'if (exchange.isAborted) return exchange.reset();',
        becomes: '',
      },
      {
        slip: 'the loss of an upstream session goes unnoticed',
        text: '    if (this.hasSession) this.markLost();',
        becomes: '',
      },
      {
        slip: 'changes of lists are passed on one by one',
        text: 'else if (CHANGES.has(message.method)) this.stream',
        becomes: "else if (message.method === '') this.stream",
      },
      {
        slip: "a backend's request is passed on like a notification",
        text: "if (message.kind === 'request') backendRequests",
        becomes: "if (message.method === '') backendRequests",
      },
      {
        slip: "a backend's cancellation is passed on like a notification",
        text: "else if (message.method === 'notifications/cancelled')",
        becomes: "else if (message.method === '')",
      },
      {
        slip: "the backends' streams outlive the session",
        text: '    this.#closeAll();',
        after: '    this.#isOver ||= isForGood;',
        becomes: '',
      },
    ],
  ),
  ...mutantsOf(
    'src/protocol/list-kinds.ts',
    [ROWS],
    [
      {
        slip: 'templates are requested with the method for resources',
        text: "method: 'resources/templates/list',",
        becomes: "method: 'resources/list',",
      },
      { slip: 'templates are identified by their names', text: "key: 'uriTemplate',", becomes: "key: 'name'," },
      { slip: 'resources are identified by their names', text: "key: 'uri',", becomes: "key: 'name'," },
      {
        slip: 'prompts in lists are checked against the allow-list of tools',
        text: "allowedAs: 'prompts',",
        becomes: "allowedAs: 'tools',",
      },
      {
        slip: 'prompts are requested from backends that have resources',
        text: 'capability: capability.prompts,',
        becomes: 'capability: capability.resources,',
      },
    ],
  ),
  ...mutantsOf(
    'src/relay/request/modern-leg.ts',
    ['relay/message/mirrored-params'],
    [
      {
        slip: 'a call that ended in an error of its own is sent again',
        text: 'return status === REFUSED && this.#tryRefresh(bytes, message);',
        becomes: 'return this.#tryRefresh(bytes, message);',
      },
      {
        slip: 'a refused call is sent again although its headers stay the same',
        text: "return params.join('\\n') !== this.#sentParams.join('\\n');",
        becomes: 'return true;',
      },
    ],
  ),
  ...mutantsOf(
    'src/relay/request/large-arguments.ts',
    ['relay/message/mirrored-params'],
    [
      {
        slip: 'a large call is sent without its mirror headers',
        text: 'return upstream.isModern || message.envelope !== undefined ? upstream.mirrorsOf(bareName) : undefined;',
        becomes: 'return undefined;',
      },
      {
        slip: 'an argument that the config fixes is taken for the caller’s',
        text: 'return start >= leftOut.start && start < leftOut.start + length;',
        becomes: 'return false;',
      },
    ],
  ),
  ...mutantsOf(
    'src/relay/message/mirrored-params.ts',
    ['relay/message/mirrored-params'],
    [
      {
        slip: 'a missing mirror header passes as correct',
        text: 'if (said === undefined) return `${header} is missing`;',
        becomes: 'if (said === undefined) continue;',
      },
      {
        slip: 'a mirror header passes although the call has no such argument',
        text: "if (typeof value !== 'string' || !isSame(value, decoded))",
        becomes: "if (typeof value === 'string' && !isSame(value, decoded))",
      },
      {
        slip: 'a mirror header that the tool does not name is not passed on',
        text: 'headers.push(passed[at]!, passed[at + 1]!);',
        becomes: 'continue;',
      },
    ],
  ),
  ...mutantsOf(
    'src/relay/modern/leases.ts',
    ['relay/modern/leases'],
    [
      {
        slip: 'requests with passthrough headers get the lease of those without',
        text: 'const last = isBare ? leases?.last : undefined;',
        becomes: 'const last = leases?.last;',
      },
      {
        slip: 'a lease with passthrough headers is used for requests without',
        text: 'if (leases !== undefined && isBare) leases.last = lease;',
        becomes: 'if (leases !== undefined) leases.last = lease;',
      },
      {
        slip: 'requests with other capabilities get the same lease',
        text: ' && identity.introduction.capabilities.equals(capabilities);',
        becomes: ' && capabilities.length > 0;',
      },
      {
        slip: 'a lease that has ended is given out',
        text: '      if (leases.last === lease) leases.last = undefined;',
        becomes: '',
      },
    ],
  ),
  ...mutantsOf(
    'src/relay/modern/modern-results.ts',
    ['relay/modern/modern-results'],
    [
      {
        slip: 'a result type in a nested object is taken for the result’s own',
        text: 'return scanner.scan(Buffer.concat([OPEN, tail.subarray(at)]), 1);',
        becomes: 'return true;',
      },
      {
        slip: 'the scope of a large result is not changed',
        text: 'if (written !== undefined) put(',
        becomes: 'if (written === undefined) put(',
      },
    ],
  ),
  ...mutantsOf(
    'src/relay/request/modern-leg.ts',
    ['relay/message/wrapped-call'],
    [
      {
        slip: 'the gateway itself asks for the input that a result requests from a modern client',
        text: 'if (this.#hasEnvelope) return false;',
        becomes: '',
      },
    ],
  ),
  ...mutantsOf(
    'src/relay/request/relayed-request.ts',
    ['relay/message/wrapped-call'],
    [
      {
        slip: 'a wrapped call of a modern client is sent without its mirror headers',
        text: '(message.envelope !== undefined && !form.isWrapped)',
        becomes: 'message.envelope !== undefined',
      },
    ],
  ),
  ...mutantsOf(
    'src/relay/list-merge/joined-texts.ts',
    ['relay/list-merge/tool-catalogue'],
    [
      {
        slip: 'a text that has a word twice is visited twice',
        text: 'this.#all.indexOf(word, ends[index])',
        becomes: 'this.#all.indexOf(word, at + 1)',
      },
    ],
  ),
  ...mutantsOf(
    'src/relay/list-merge/tool-text.ts',
    ['relay/list-merge/tool-catalogue'],
    [
      {
        slip: 'a longer member name with the same ending is taken for the member',
        text: "if (tool.charCodeAt(at - 1) === BACKSLASH) return 'unsure';",
        becomes: '',
      },
      {
        slip: 'a title within the schema is taken for the tool’s own',
        text: "if (at === -1 || at > before) return 'none';",
        becomes: "if (at === -1) return 'none';",
      },
      {
        slip: 'a description that is cut off is used as it is',
        text: 'return end === -1 || (escape',
        becomes: 'return (escape',
      },
    ],
  ),
];
