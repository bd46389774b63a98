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
        slip: 'a comma is left behind what was cut out',
        text: 'end: behind + 1, putIn',
        becomes: 'end: behind, putIn',
      },
      {
        slip: 'the last member leaves its comma',
        text: 'start: body[before] === COMMA ? before : start',
        becomes: 'start',
      },
      {
        slip: 'what was changed already is changed over',
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
        slip: 'two items with more than a comma between them are written in one piece',
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
        slip: 'a list is found by who shows something else',
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
        slip: 'nobody waits for what is on its way back',
        text: 'bound === undefined || !this.#isEnoughReturning(subject, bytes)',
        becomes: 'bound === undefined || bytes >= 0',
      },
      {
        slip: 'more wait than what is on its way back is enough for',
        text: 'const all = this.#returningBytes - this.#waitingBytes;',
        becomes: 'const all = this.#returningBytes;',
      },
      {
        slip: 'who waits hears nothing when there will be no room',
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
        slip: 'a reading that is dropped takes memory that it waited for',
        after: 'drop(): void {',
        text: 'this.#leaveWait();',
        becomes: '',
      },
      {
        slip: 'the last part overtakes one that waits',
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
        slip: 'a page goes while somebody uses it',
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
        slip: 'a list is found by another subject',
        after: 'find(subject: string, key: string): Value | undefined {',
        text: 'this.#bySubject.get(subject)?.entries.get(key)',
        becomes: '[...this.#bySubject.values()][0]?.entries.get(key)',
      },
      {
        slip: 'a list is kept that has changed while it was read',
        text: 'this.isStale ? undefined : { key',
        becomes: 'false ? undefined : { key',
      },
      {
        slip: 'one subject has all of the memory',
        text: 'while (own.bytes + bytes > this.#rules.bytesPerSubjectMax && this.#dropOldest(own));',
        becomes: '',
      },
      {
        slip: 'whoever needs room loses what is its own',
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
        slip: 'lists from memory are given to callers whose headers differ',
        text: 'protocolVersion, this.shownHeaders(metadata)]',
        becomes: 'protocolVersion]',
      },
      {
        slip: 'a changed list is answered from memory',
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
        slip: 'two requests with one id of two backends are one',
        text: '`${this.#count}${asksForTask',
        becomes: '`0${asksForTask',
      },
      {
        slip: 'an answer to what was asked here and is settled is passed on',
        text: ' || origin === this.#origin',
        becomes: '',
      },
      {
        slip: 'an answer goes to the successor of the upstream session that asked',
        text: "[record?.sessionId ?? '', '']",
        becomes: "['', '']",
      },
      {
        slip: 'a client answers what it was never asked',
        text: 'if (!isSame(this.#sealOf(upstream, head, rest), seal)) continue;',
        becomes: '',
      },
      {
        slip: 'another id of the backend has the same seal',
        text: '${place}${head}${rest}`)',
        becomes: '${place}${head}`)',
      },
      {
        slip: 'another number, or another process, has the same seal',
        text: '${place}${head}${rest}`)',
        becomes: '${place}${rest}`)',
      },
      {
        slip: 'a backend without sessions is answered what it may have asked somebody else',
        text: ' <= this.#answerTimeoutMs',
        becomes: ' >= 0',
      },
      {
        slip: 'a client seals for a backend without sessions what it was never asked',
        text: " || this.secret === ''",
        becomes: '',
      },
      {
        slip: 'an answer to a backend without sessions goes to where it is now',
        text: '[this.secret, `${origin}${path} `]',
        becomes: "[this.secret, '']",
      },
      {
        slip: 'a client is not told that its answer was lost',
        text: "return 'lost';",
        becomes: 'return undefined;',
      },
      {
        slip: 'an answer is passed on as often as it comes',
        text: 'if (this.#answered.has(seal)) return false;',
        becomes: '',
      },
      {
        slip: 'whatever a client makes up goes into a message',
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
        slip: 'a name is found in other letters although it could be another',
        text: 'if (isLike && !candidate.hasTwin) return candidate;',
        becomes: 'if (isLike) return candidate;',
      },
      {
        slip: 'a URI with the name in capitals is not found',
        text: 'if (isLike && !candidate.hasTwin) return candidate;',
        becomes: '',
      },
      {
        slip: 'a URI with `ui:` gets a prefix like others',
        text: '  return behindUi === -1 ? { at',
        becomes: '  return behindUi !== -2 ? { at',
      },
      { slip: 'the prefix goes before the quote', text: '{ at: start + 1, putIn', becomes: '{ at: start, putIn' },
      {
        slip: 'the prefix of a `ui:` URI has no slash',
        text: 'ui: Buffer.from(`${uriName}/`)',
        becomes: 'ui: Buffer.from(`${uriName}`)',
      },
      {
        slip: 'what is cut keeps its separator',
        text: 'const cutEnd = nameEnd + 1;',
        becomes: 'const cutEnd = nameEnd;',
      },
      {
        slip: 'letters beyond ASCII are made small',
        text: 'if (Buffer.byteLength(name) !== name.length) return undefined;',
        becomes: '',
      },
      {
        slip: "the caller's form of a `ui:` URI is the plain one",
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
        slip: 'URIs are rewritten at places of other methods',
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
        slip: 'edits are not in the order of the bytes',
        text: 'before !== undefined && before.start > added.start;',
        becomes: 'false;',
      },
      { slip: 'what an edit replaces stays', text: '    at = end;', becomes: '    at = start;' },
      { slip: 'the rest of the message is lost', text: '  parts.push(bytes.subarray(at));', becomes: '' },
    ],
  ),
  ...mutantsOf(
    'src/protocol/uri-places.ts',
    ['relay/message/rewriting'],
    [
      {
        slip: 'links to the web are rewritten',
        text: 'if (this.#tape.kind(uri) !== jsonKind.string || (isLink && isOnTheWeb(this.#bytes, start, end))) return;',
        becomes: 'if (this.#tape.kind(uri) !== jsonKind.string) return;',
      },
      {
        slip: 'embedded resources of the web are not',
        text: "this.#eachNamed(block, 'resource', (resource) => this.#visitOwner(resource, place));",
        becomes: "this.#eachNamed(block, 'resource', (resource) => this.#visitOwner(resource, place, true));",
      },
      {
        slip: 'https: is not the web',
        text: "prefixEnd(bytes, start, end, 'https:', 'caseless') !== -1",
        becomes: 'false',
      },
      {
        slip: 'a prompt message with one block is passed over',
        text: '      else this.#visitBlock(content, uriPlace.messages);',
        becomes: '',
      },
      {
        slip: 'a prompt message with several blocks is passed over',
        text: 'if (this.#tape.kind(content) === jsonKind.array)',
        becomes: 'if (this.#tape.kind(content) === -9)',
      },
      {
        slip: 'the URI in the data of an error is passed over',
        text: "else if (this.#isNamed(node, 'error'))",
        becomes: "else if (this.#isNamed(node, 'fault'))",
      },
      {
        slip: 'a member written with an escape is passed over',
        text: 'return ESCAPED_LETTERS.some((letter) => bytes.includes(letter));',
        becomes: 'return false;',
      },
      {
        slip: 'resource links are passed over',
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
        slip: 'arguments that are there twice are let through',
        text: 'if (values === AMBIGUOUS) return invalidArguments(method);',
        becomes: '',
      },
      {
        slip: 'a fixed argument is let through in capitals',
        text: 'if (closed.has(folded(name))) return name;',
        becomes: 'if (closed.has(name)) return name;',
      },
      {
        slip: 'a completion tells of a fixed argument',
        text: 'return closedArguments.has(folded(text)) ? argumentClosed(text) : undefined;',
        becomes: 'return undefined;',
      },
      {
        slip: 'a completion goes by a fixed argument of the client’s',
        text: ' ?? curatedContext(tape, body, params, message, item);',
        becomes: ';',
      },
      {
        slip: 'what is fixed goes to the far end of large arguments',
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
        slip: 'a renamed tool keeps its old name too',
        text: 'return byBareName.has(name) || isGuarded(items, name) ? undefined : name;',
        becomes: 'return isGuarded(items, name) ? undefined : name;',
      },
      {
        slip: 'a hidden tool is reached in capitals',
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
        slip: 'the comma before the last members stays',
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
        slip: 'the URI in an error of a tool stays bare',
        text: 'uriPlaces: uriPlace.content | uriPlace.error,',
        after: "  'tools/call': {",
        becomes: 'uriPlaces: uriPlace.content,',
      },
      {
        slip: 'prompts are held against the allow-list of tools',
        text: ': routeName(virtualHost, names, text);',
        becomes: ": routeName(virtualHost, 'tools', text);",
      },
      {
        slip: "the caller's form of the URI goes to the backend",
        text: 'withBareTask(bareUriBody(body, message, route),',
        becomes: 'withBareTask({ body },',
      },
      {
        slip: 'a read needs no capability',
        text: '    capability: capability.resources,',
        after: "'resources/read': {",
        becomes: '    capability: 0,',
      },
      {
        slip: 'a subscription needs no capability',
        text: 'capability: capability.resources,',
        after: "'resources/subscribe': {",
        becomes: 'capability: 0,',
      },
      {
        slip: 'a read that is not found says otherwise',
        text: 'unknownUri: resourceNotFound,',
        after: "'resources/read': {",
        becomes: 'unknownUri: unknownResource,',
      },
      {
        slip: 'the URIs of what was read stay bare',
        text: 'uriPlaces: uriPlace.contents | uriPlace.error,',
        becomes: 'uriPlaces: uriPlace.error,',
      },
      {
        slip: 'the URIs of prompts stay bare',
        text: 'uriPlaces: uriPlace.messages | uriPlace.error,',
        becomes: 'uriPlaces: uriPlace.error,',
      },
      {
        slip: 'the allow-list of resources is not asked',
        text: 'gate: { method, capability: needed, uri: route.bareUri, unknown },',
        becomes: 'gate: { method, capability: needed, uri: undefined, unknown },',
      },
      {
        slip: 'a URI has the bound of a name',
        text: 'isUri ? limits.uriBytesMax',
        becomes: 'isUri ? limits.toolNameBytesMax',
      },
      {
        slip: 'a URI that is too long is looked for',
        text: 'if (route === undefined || route.bareUri.length > limits.uriBytesMax) return undefined;',
        becomes: 'if (route === undefined) return undefined;',
      },
    ],
  ),
  ...mutantsOf('src/relay/asking/backend-requests.ts', ASKING, [
    {
      slip: 'what is not offered is asked',
      text: '      this.#notOffered(message.method, upstream, detail) ??',
      becomes: '',
    },
    { slip: 'somebody is asked on a stream that nobody has', text: '      stream.askingObstacle ??', becomes: '' },
    {
      slip: "a cancellation keeps the backend's id",
      text: 'partsOf(bytes, [{ ...span, putIn: request.id }, ...',
      becomes: 'partsOf(bytes, [...',
    },
    {
      slip: 'progress with a token of two requests goes to the first',
      text: 'if (others.length > 0) return;',
      becomes: '',
    },
    {
      slip: "another's task can be asked for",
      text: 'return this.#clientTasks.isOf(upstream, taskId) ? undefined : unknownTask(taskId);',
      becomes: 'return undefined;',
    },
    {
      slip: 'the answer goes to the session that has come after',
      text: 'if (open.upstream.record === open.askedIn) this.#pass(',
      becomes: 'this.#pass(',
    },
    { slip: 'the answer keeps our id', text: 'putIn: backendId };', becomes: 'putIn: body.subarray(start, end) };' },
    {
      slip: 'a ping goes to the client',
      text: "if (message.method === 'ping') {",
      becomes: "if (message.method === 'pong') {",
    },
    {
      slip: 'elicitation by URL is a form',
      text: "(mode === 'url' ? offers.elicitationUrl : offers.elicitationForm)",
      becomes: '(offers.elicitationUrl || offers.elicitationForm)',
    },
  ]),
  ...mutantsOf('src/relay/asking/awaited-answers.ts', ASKING, [
    {
      slip: 'an answer settles nothing: it may be given twice',
      text: 'if (request !== undefined) this.#settle(request);',
      becomes: '',
    },
    {
      slip: 'open requests have no bound',
      text: 'return openCount < limits.backendRequestsOpenMax ? undefined : TOO_MANY;',
      becomes: 'return undefined;',
    },
    {
      slip: "another backend's open requests count",
      text: 'if (request.upstream === upstream) openCount += 1;',
      becomes: 'openCount += 1;',
    },
    {
      slip: 'an id has no bound',
      text: 'if (idBytes > limits.backendRequestIdBytesMax) return ID_TOO_LONG;',
      becomes: '',
    },
    {
      slip: 'a cancellation of one backend withdraws what another has asked',
      text: 'if (request.upstream !== upstream || request.backendIdKey !== backendIdKey) continue;',
      becomes: 'if (request.backendIdKey !== backendIdKey) continue;',
    },
    {
      slip: 'what was asked outlives its stream',
      text: "      tellCancelled(request, 'The request that it belongs to has ended');",
      becomes: '',
    },
    {
      slip: 'the end of one stream withdraws what was asked on others',
      text: 'if (request.stream !== stream) continue;',
      becomes: '',
    },
    {
      slip: 'what a client never sees is waited for',
      text: '    tellAsker(request, error);',
      becomes: '',
    },
    {
      slip: 'what is not answered in time is not told to the backend',
      text: '    tellAsker(request, NOT_ANSWERED);',
      becomes: '',
    },
    {
      slip: 'the call goes on to wait after the last answer',
      text: 'if (!this.isAsking(stream, upstream)) stream.onAsking(false, upstream);',
      becomes: '',
    },
    { slip: 'the call does not wait for the client', text: 'stream.onAsking(true, upstream);', becomes: '' },
  ]),
  ...mutantsOf(
    'src/user-config/list-rules.ts',
    ['upstream/session/upstream-session'],
    [
      {
        slip: 'a method of its own reaches what the allow-list of a backend keeps out',
        text: 'return tools !== undefined || prompts !== undefined || resources !== undefined || isGuarding(curation);',
        becomes: 'return isGuarding(curation);',
      },
      {
        slip: 'a method of its own reaches what of a backend is hidden',
        text: ' || isGuarding(curation);',
        becomes: ';',
      },
    ],
  ),
  ...mutantsOf('src/relay/stream/session-stream.ts', STREAMS, [
    {
      slip: 'a client that is not ready is asked',
      text: 'if (onLost !== undefined && !this.#isReady()) this.#awaitReadiness();',
      becomes: '',
    },
    {
      slip: 'what asks for nothing waits for the client to be ready',
      text: 'if (onLost !== undefined && !this.#isReady())',
      becomes: 'if (!this.#isReady())',
    },
    {
      slip: 'a client that is never ready is asked in the end',
      text: 'this.#waiting.filter(({ onLost }) => onLost !== undefined)',
      becomes: 'this.#waiting.slice(0, 0)',
    },
    {
      slip: 'a newer GET leaves the older open',
      text: '    this.#letGo();',
      after: 'open(exchange: Exchange, position?: number): void {',
      becomes: '',
    },
    {
      slip: 'what waits has no bound in bytes',
      text: 'if (this.#waitingBytes + bytes > limits.sessionStreamWaitingBytesMax) return false;',
      becomes: '',
    },
    {
      slip: 'what waits has no bound in number',
      text: 'if (this.#waiting.length >= limits.sessionStreamWaitingMax) return false;',
      becomes: '',
    },
    {
      slip: 'what waits is in no share',
      text: 'return this.#account.sessionBytes.boundAgainst(bytes) === undefined;',
      becomes: 'return true;',
    },
    { slip: 'a loss is not told', text: '    this.#lostCount += 1;', after: '#dropOldest(): void {', becomes: '' },
    {
      slip: 'a loss is told for ever',
      text: '        this.#lostCount = 0;',
      after: 'lossNotification(this.#lostCount))',
      becomes: '        this.#lostCount -= 0;',
    },
    {
      slip: 'the newest goes first',
      text: 'const event = this.#waiting.shift();',
      becomes: 'const event = this.#waiting.pop();',
    },
    {
      slip: 'what is given out still counts',
      text: '    this.#account.sessionBytes.give(event.bytes.length);',
      becomes: '',
    },
    {
      slip: 'what is told while others wait overtakes them',
      text: 'if (this.isOpen && !this.#isHeldBack && this.#waiting.length === 0) {',
      becomes: 'if (this.isOpen && !this.#isHeldBack) {',
    },
    {
      slip: 'who asks on a closed stream is not told',
      text: 'if (!this.isHeard) {',
      becomes: 'if (this.#lostCount < 0) {',
    },
    {
      slip: 'changes of several lists are one',
      text: 'this.#changes.set(method, ',
      becomes: "this.#changes.set('one', ",
    },
    {
      slip: 'a change that came twice keeps the bytes of one',
      text: 'const isPlain = this.#changes.has(method) ||',
      becomes: 'const isPlain =',
    },
    { slip: 'a stream lasts for ever', text: '() => this.#onOld(exchange));', becomes: '() => undefined);' },
    {
      slip: 'a stream that is blocked is ended in order, which never comes',
      text: 'if (wasBlocked) exchange.reset();',
      becomes: 'if (wasBlocked) exchange.end();',
    },
    {
      slip: 'what waits outlives the client',
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
        slip: 'what a name may allow is not told again in a new session',
        text: "if (grantByEntries(upstream.backend, uri) === 'refused') return;",
        becomes: "if (grantByEntries(upstream.backend, uri) !== 'granted') return;",
      },
      { slip: 'subscriptions have no bound', text: 'this.#count < limits.subscriptionsMax && ', becomes: '' },
      { slip: 'subscriptions are in no share', text: ' && this.#memory.hasRoomFor(bytesOf(uri));', becomes: ';' },
      {
        slip: 'one made twice weighs twice',
        text: 'if (uris.has(uri) || !this.hasRoomFor(uri)) return;',
        becomes: 'if (!this.hasRoomFor(uri)) return;',
      },
      {
        slip: 'what is ended still weighs',
        text: '    this.#memory.drop(bytesOf(uri));',
        after: 'delete(backendName: string',
        becomes: '',
      },
      {
        slip: 'what is ended still counts',
        text: '    this.#count -= 1;',
        after: 'delete(backendName: string',
        becomes: '',
      },
      { slip: 'what is asked for takes no room', text: '    this.#count += 1;', after: 'tryReserve(', becomes: '' },
      {
        slip: 'one that is held already needs room again',
        text: 'if (this.has(backendName, uri)) return () => undefined;',
        becomes: '',
      },
      {
        slip: 'what was never there is ended',
        text: 'if (this.#uris.get(backendName)?.delete(uri) !== true) return;',
        becomes: 'this.#uris.get(backendName)?.delete(uri);',
      },
      {
        slip: 'a backend that has gone keeps its subscriptions',
        text: 'for (const uri of this.#uris.get(backendName) ?? []) this.delete(backendName, uri);',
        becomes: '',
      },
      {
        slip: 'what is no longer allowed is subscribed to again',
        text: "if (grantByEntries(upstream.backend, uri) === 'refused') return;",
        becomes: '',
      },
      {
        slip: 'a backend without resources is asked for subscriptions',
        text: '!upstream.declares(capability.resources) || upstream.isModern',
        becomes: 'upstream.isModern',
      },
      {
        slip: 'nothing is subscribed to again',
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
        slip: 'a stream goes on whose virtual host is gone',
        text: 'session.endStream(false);',
        becomes: '{}',
      },
      {
        slip: 'all configs are read at once',
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
        slip: 'an allow-list with another entry in the place of one counts as the same',
        text: '[...resources].sort()',
        becomes: 'resources.size',
      },
      {
        slip: 'an allow-list in another order counts as another',
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
        slip: 'the delay grows without end',
        text: 'this.#delayMs = Math.min(delayMs * 2, this.#delayMsMax);',
        becomes: 'this.#delayMs = delayMs * 2;',
      },
      {
        slip: 'the delay never falls again',
        text: '    this.#delayMs = this.#delayMsMin;',
        becomes: '',
      },
      {
        slip: 'those who failed together come back together',
        text: 'return spread(this.next(), random);',
        becomes: 'return this.next();',
      },
    ],
  ),
  ...mutantsOf('src/upstream/rpc/reconnection.ts', RECONNECTING, [
    {
      slip: 'the delay stays long when all is well',
      text: '    this.#backoff.reset();',
      after: 'noteProgress(): void {',
      becomes: '',
    },
    {
      slip: "a backend's `retry` is not obeyed",
      text: 'if (this.#retryMs === undefined) return delayMs;',
      becomes: 'if (this.#retryMs !== -1) return delayMs;',
    },
    {
      slip: "a backend's `retry` has no bound",
      text: 'Math.min(Math.max(this.#retryMs, limits.backendRetryMsMin), limits.backendRetryMsMax)',
      becomes: 'this.#retryMs',
    },
    {
      slip: 'a short `retry` goes before the growing delay',
      text: 'return hasEnded ? retryMs : Math.max(retryMs, delayMs);',
      becomes: 'return retryMs;',
    },
    {
      slip: 'the `retry` of a stream before is forgotten',
      text: 'this.#retryMs = retryMs ?? this.#retryMs;',
      becomes: 'this.#retryMs = retryMs;',
    },
    {
      slip: 'the place of a stream that said nothing is forgotten',
      text: "if (lastEventId !== '') this",
      becomes: 'this',
    },
    {
      slip: 'an id that fits no header goes into one',
      text: "isHeaderText(lastEventId) ? lastEventId : ''",
      becomes: 'lastEventId',
    },
  ]),
  ...mutantsOf('src/upstream/session/backend-stream.ts', RECONNECTING, [
    {
      slip: 'a stream begins anew where it left off',
      text: 'this.#call = this.#plan.ask(this.#reconnection.lastEventId, this);',
      becomes: "this.#call = this.#plan.ask('', this);",
    },
    {
      slip: 'a stream that is refused is asked for again',
      text: '    } else if (status >= 500 || status === 429 || status === 409) {',
      becomes: '    } else if (status >= 400) {',
    },
    {
      slip: 'a failing backend has no stream for good',
      text: '    } else if (status >= 500 || status === 429 || status === 409) {',
      becomes: '    } else if (status === 429) {',
    },
    {
      slip: 'a session that is lost is not told of',
      text: 'if (status === 404 || ',
      becomes: 'if (',
    },
    {
      slip: 'what is no event stream is read',
      text: "const isStream = status === 200 && contentType === 'text/event-stream';",
      becomes: 'const isStream = status === 200;',
    },
    {
      slip: 'answers are taken for messages',
      text: "if (message !== undefined && message.kind !== 'response')",
      becomes: 'if (message !== undefined)',
    },
    { slip: 'a stream that is closed is opened again', text: '    this.#delay?.cancel();', becomes: '' },
    {
      slip: 'a stream that is closed goes on at the backend',
      text: '    this.#call?.abort();',
      after: 'this.#delay?.cancel();',
      becomes: '',
    },
    {
      slip: 'a stream that has ended counts as one that could not be had',
      text: "const hasEnded = this.#transition('streaming', 'waiting');",
      becomes: 'const hasEnded = false;',
    },
    { slip: 'what a stream has said is no progress', text: 'if (!isFrame) this', becomes: 'if (isFrame) this' },
    {
      slip: 'an end is waited for twice',
      text: "if (!hasEnded && !this.#transition('asking', 'waiting')) return;",
      becomes: "this.#transition('asking', 'waiting');",
    },
    {
      slip: 'a stream is read on with a parser that has given up',
      text: "      if (this.#transition('asking', 'streaming'))",
      becomes: "      if (this.#transition('asking', 'streaming') && this.#parser === undefined)",
    },
  ]),
  ...mutantsOf(
    'src/relay/message/uri-template.ts',
    ['relay/message/uri-template'],
    [
      {
        slip: 'a variable stands for anything',
        text: 'if (found === -1 || !EXPANDED.test(uri.slice(at, found))) return false;',
        becomes: 'if (found === -1) return false;',
      },
      {
        slip: 'the last variable stands for anything',
        text: 'uri.endsWith(last) && EXPANDED.test(uri.slice(at, end));',
        becomes: 'uri.endsWith(last);',
      },
      { slip: 'dot segments pass', text: 'if (DOT_SEGMENT.test(uri)) return false;', becomes: '' },
      { slip: 'the beginning may be anything', text: 'if (!uri.startsWith(first)) return false;', becomes: '' },
      {
        slip: 'a template of a higher level matches',
        text: '} else if (!VARIABLE.test(part)) {',
        becomes: '} else if (part === undefined) {',
      },
      { slip: 'the end may overlap what came before', text: 'return end >= at && uri', becomes: 'return uri' },
      {
        slip: 'a text between variables has no bound',
        text: 'if (literal.length > limits.templateTextCharsMax) return false;',
        becomes: '',
      },
    ],
  ),
];

/** Those that show only with a gateway and its backends. */
export const relayedMutants: readonly Mutant[] = [
  ...mutantsOf(
    'src/relay/session/experimental.ts',
    ['spec/experimental'],
    [
      {
        slip: 'of two backends that declare a method the first is asked',
        text: 'if (found !== undefined) return undefined;',
        becomes: 'if (found !== undefined) return found;',
      },
      {
        slip: 'a client is told of a method for which nobody is asked',
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
        slip: 'a backend that has no such methods is opened for one',
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
        slip: 'the first that has the method is asked, though another may have it, too',
        text: 'if (this.#pending.size === 0) this.#onSearchOver();',
        becomes: 'this.#onSearchOver();',
      },
      {
        slip: 'what was cancelled goes to its backend all the same',
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
        slip: 'where nobody declares it the thing is missing, not the method',
        text: "=== 'no' ? methodNotFound(method) : unknown);",
        becomes: "=== 'no' ? unknown : unknown);",
      },
      {
        slip: 'what is refused by its entries is read',
        text: "} else if (grant === 'refused') {",
        becomes: "} else if (grant === 'never') {",
      },
      {
        slip: 'what is granted by a name needs the lists all the same, and is refused',
        text: "uri === undefined || grant === 'granted'",
        becomes: 'uri === undefined',
      },
      {
        slip: 'templates are not looked at',
        text: 'if (outcome === unknown && !this.#isAborted)',
        becomes: 'if (outcome === method && !this.#isAborted)',
      },
      {
        slip: 'what no list has is granted',
        text: 'else done(outcome ? undefined : this.#rules.unknown);',
        becomes: 'else done(undefined);',
      },
      {
        slip: 'a list that cannot be read grants',
        text: 'if (fault !== undefined) done(fault);',
        becomes: 'if (fault !== undefined) done(undefined);',
      },
    ],
  ),
  ...mutantsOf(
    'src/relay/session/unsolicited-messages.ts',
    ['spec/streams'],
    [
      {
        slip: 'backends that have nothing to say are listened to',
        text: '!this.#maySpeak(upstream)',
        becomes: 'false',
      },
      {
        slip: 'nobody is listened to for what a client can be asked',
        text: ' || this.#session.offersAnything || ',
        becomes: ' || ',
      },
      {
        slip: 'a backend is listened to twice',
        text: 'if (before?.stream.isOver === false) {',
        becomes: 'if (before?.stream.isOver === true) {',
      },
      {
        slip: "a backend's stream outlives its session",
        text: '    heard.stream.close();',
        becomes: '',
      },
      {
        slip: "the backends' streams outlive the client",
        text: 'if (!this.stream.isOpen) this.#closeAll();',
        becomes: '',
      },
      {
        slip: "the backends' streams end although the client is back",
        text: '    this.#lingering?.cancel();',
        after: 'if (exchange.isAborted) return exchange.reset();',
        becomes: '',
      },
      {
        slip: 'a lost session is not noticed',
        text: '    if (this.hasSession) this.markLost();',
        becomes: '',
      },
      {
        slip: 'changes of lists are told one by one',
        text: 'else if (CHANGES.has(message.method)) this.stream',
        becomes: "else if (message.method === '') this.stream",
      },
      {
        slip: 'what is asked is told like a notification',
        text: "if (message.kind === 'request') backendRequests",
        becomes: "if (message.method === '') backendRequests",
      },
      {
        slip: 'what is withdrawn is told like a notification',
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
        slip: 'templates are asked for like resources',
        text: "method: 'resources/templates/list',",
        becomes: "method: 'resources/list',",
      },
      { slip: 'templates are known by their names', text: "key: 'uriTemplate',", becomes: "key: 'name'," },
      { slip: 'resources are known by their names', text: "key: 'uri',", becomes: "key: 'name'," },
      { slip: 'prompts have the allow-list of tools', text: "allowedAs: 'prompts',", becomes: "allowedAs: 'tools'," },
      {
        slip: 'prompts are asked of who has resources',
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
        slip: 'a call that was answered goes out once more',
        text: 'return status === REFUSED && this.#tryRefresh(bytes, message);',
        becomes: 'return this.#tryRefresh(bytes, message);',
      },
      {
        slip: 'it goes out once more as it was',
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
        slip: 'a large call goes out without its headers',
        text: 'return upstream.isModern || message.envelope !== undefined ? upstream.mirrorsOf(bareName) : undefined;',
        becomes: 'return undefined;',
      },
      {
        slip: 'what the config fixes is taken for the caller’s',
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
        slip: 'a missing header agrees',
        text: 'if (said === undefined) return `${header} is missing`;',
        becomes: 'if (said === undefined) continue;',
      },
      {
        slip: 'a header without its argument agrees',
        text: "if (typeof value !== 'string' || !isSame(value, decoded))",
        becomes: "if (typeof value === 'string' && !isSame(value, decoded))",
      },
      {
        slip: 'what the tool does not name is kept back',
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
        slip: 'requests with headers of their own get the lease of those without',
        text: 'const last = isBare ? leases?.last : undefined;',
        becomes: 'const last = leases?.last;',
      },
      {
        slip: 'a lease with headers is kept for requests without',
        text: 'if (leases !== undefined && isBare) leases.last = lease;',
        becomes: 'if (leases !== undefined) leases.last = lease;',
      },
      {
        slip: 'requests with other capabilities get the same lease',
        text: ' && identity.introduction.capabilities.equals(capabilities);',
        becomes: ' && capabilities.length > 0;',
      },
      {
        slip: 'a lease that is over is given out',
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
        slip: 'a type within something deeper is taken for the result’s own',
        text: 'return scanner.scan(Buffer.concat([OPEN, tail.subarray(at)]), 1);',
        becomes: 'return true;',
      },
      {
        slip: 'in a large result the scope stays',
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
        slip: 'what asks for more is asked of a client that is asked by the answer itself',
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
        slip: 'a wrapped call of a client without a session has no headers of its own',
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
        slip: 'a longer name that ends so is taken for the member',
        text: "if (tool.charCodeAt(at - 1) === BACKSLASH) return 'unsure';",
        becomes: '',
      },
      {
        slip: 'a title within the schema is taken for the tool’s',
        text: "if (at === -1 || at > before) return 'none';",
        becomes: "if (at === -1) return 'none';",
      },
      {
        slip: 'a description that is cut passes as it is',
        text: 'return end === -1 || (escape',
        becomes: 'return (escape',
      },
    ],
  ),
];
