// Slips in the bridges between the eras of MCP, and in the search for tools: states, leases and catalogues that are given to the wrong
// caller, and edits of messages that let through what they must not.
import { mutantsOf, type Mutant } from '../mutant.js';

const STATES = ['relay/modern/request-state', 'relay/modern/held-call'];
const LISTENING = ['relay/modern/listening'];
const SEARCHING = ['relay/message/wrapped-call'];

export const bridgeMutants: readonly Mutant[] = [
  ...mutantsOf('src/relay/modern/request-state.ts', STATES, [
    {
      slip: 'a requestState of another subject is accepted',
      text: 'JSON.stringify([FORM, subject, ',
      becomes: 'JSON.stringify([FORM, ',
    },
    {
      slip: 'a requestState of another virtual host is accepted',
      text: 'JSON.stringify([FORM, subject, virtualHostId, ',
      becomes: 'JSON.stringify([FORM, subject, ',
    },
    {
      slip: 'a requestState of another method is accepted',
      text: ' method, name, argsHash, headersHash])',
      becomes: ' name, argsHash, headersHash])',
    },
    {
      slip: 'a requestState of another tool is accepted',
      text: ' name, argsHash, headersHash])',
      becomes: ' argsHash, headersHash])',
    },
    {
      slip: 'a requestState of a call with other arguments is accepted',
      text: ' argsHash, headersHash])',
      becomes: ' headersHash])',
    },
    {
      slip: 'a requestState of a call with other passthrough headers is accepted',
      text: ', headersHash])',
      becomes: '])',
    },
    { slip: 'a requestState never expires', text: ' * 1_000 <= this.#nowMs()', becomes: ' < 0' },
  ]),
  ...mutantsOf('src/relay/modern/held-calls.ts', STATES, [
    {
      slip: 'a retry continues a call that a faster retry has already continued',
      text: 'if (!call.isAt(place)) this.#fail(exchange, message);',
      becomes: 'if (false) this.#fail(exchange, message);',
    },
    {
      slip: 'one subject may have all of the held calls',
      text: 'perKeyMax: limits.heldCallsPerSubjectMax',
      becomes: 'perKeyMax: limits.heldCallsMax',
    },
    {
      slip: 'a new held call is accepted in a process that is about to end',
      text: 'if (this.#isClosed || !this.#counts',
      becomes: 'if (!this.#counts',
    },
    {
      slip: 'a requestState can be used twice',
      text: 'if (call?.isAt(place) !== true) return',
      becomes: 'if (call === undefined) return',
    },
    {
      slip: 'a held call that is over still counts',
      text: 'if (this.#calls.delete(call.key)) this.#counts.remove(call.subject);',
      becomes: 'this.#calls.delete(call.key);',
    },
    {
      slip: 'a retry whose caller is gone uses up its requestState',
      text: 'else if (!exchange.isAborted) call.goOn',
      becomes: 'else call.goOn',
    },
  ]),
  ...mutantsOf('src/relay/modern/held-calls.ts', STATES, [
    {
      slip: 'a retry continues a call that the config no longer allows',
      text: 'if (obstacle !== undefined) return this.#refuse(exchange, message, obstacle);',
      becomes: '',
    },
  ]),
  ...mutantsOf(
    'src/relay/modern/url-elicitations.ts',
    ['relay/modern/url-elicitations'],
    [
      {
        slip: 'a user who has not opened the URL passes for one who has',
        text: 'return given.length > 0 && given.every(',
        becomes: 'return given.length >= 0 || given.every(',
      },
    ],
  ),
  ...mutantsOf(
    'src/relay/in-flight/requests-in-flight.ts',
    ['relay/modern/held-request'],
    [
      {
        slip: 'what a backend asks on its own stream goes to one of several calls that could be meant',
        text: 'if (askable !== undefined && sole !== undefined) return undefined;',
        becomes: '',
      },
    ],
  ),
  ...mutantsOf(
    'src/relay/request/relayed-request.ts',
    ['relay/era-change'],
    [
      {
        slip: 'an answer is read in the present era of its backend instead of that of its request',
        text: "const era = this.#sentIn?.era ?? 'legacy';",
        becomes: "const era = this.plan.upstream.isModern ? 'modern' : 'legacy';",
      },
    ],
  ),
  ...mutantsOf(
    'src/relay/request/relayed-request.ts',
    ['relay/modern/held-request'],
    [
      {
        slip: 'the client is asked what a backend has asked in an upstream session that was lost',
        text: ' && this.plan.upstream.record?.sessionId === this.#sentIn.sessionId',
        becomes: '',
      },
    ],
  ),
  ...mutantsOf('src/relay/modern/held-call.ts', STATES, [
    {
      slip: 'a held call takes a question in a process that is about to end',
      text: 'if (this.#calls.isClosed) return errorsToBackends.processEnding;',
      becomes: '',
    },
    {
      slip: 'the backend is not told that a call was given up while its questions were gathered',
      text: "const isOpen = this.#state === 'asking' || this.#state === 'held';",
      becomes: "const isOpen = this.#state === 'held';",
    },
    {
      slip: 'a requestState of an earlier round continues the call',
      text: 'return round === this.#round && (',
      becomes: 'return (',
    },
    {
      slip: 'the bytes of a held call count forever',
      text: 'this.#plan.account.requestBytes.give(this.#keptBytes);',
      becomes: '',
    },
    {
      slip: 'the backend is not told that a held call was given up',
      text: 'if (isOpen) this.#plan.request.giveUp();',
      becomes: '',
    },
    {
      slip: 'a client is asked in any number of rounds',
      text: ' || this.#round >= limits.heldCallRoundsMax) return',
      becomes: ') return',
    },
    {
      slip: 'questions of any size are kept',
      text: 'this.#questionBytes + message.length > limits.heldQuestionBytesMax',
      becomes: 'false',
    },
  ]),
  ...mutantsOf(
    'src/relay/modern/leases.ts',
    ['relay/modern/leases'],
    [
      {
        slip: 'requests of another virtual host get the same lease',
        text: 'return identity.virtualHostId === virtualHostId && ',
        becomes: 'return virtualHostId !== "" && ',
      },
      {
        slip: 'requests with other passthrough headers get the same lease',
        text: '\\n${hash}\\n',
        becomes: '\\n',
      },
      {
        slip: 'a busy lease is ended to make room',
        text: 'if (lease.isBusy || (keys.size',
        becomes: 'if ((keys.size',
      },
    ],
  ),
  ...mutantsOf(
    'src/relay/list-merge/kept-lists.ts',
    ['relay/list-merge/list-cache'],
    [
      {
        slip: 'a list that changed while it was being read is kept',
        text: 'this.isStale ? undefined : { key, value, bytes, ageMs }',
        becomes: '{ key, value, bytes, ageMs }',
      },
      {
        slip: 'a list that was being read is kept although any list may have changed',
        after: 'clear(): void {',
        text: 'for (const read of reads) read.isStale = true;',
        becomes: '',
      },
      {
        slip: 'the bytes of a dropped list still count',
        text: 'this.#bytes -= entry.bytes;',
        becomes: '',
      },
      {
        slip: 'a list that was replaced still counts',
        after: 'if (bytes > this.#rules.bytesPerSubjectMax) return false;',
        text: 'this.remove(subject, key);',
        becomes: '',
      },
    ],
  ),
  ...mutantsOf(
    'src/relay/list-merge/catalogues.ts',
    ['relay/list-merge/list-cache'],
    [
      {
        slip: 'requests that show something else to the backends find the same catalogue',
        text: 'return `${this.#configs.of(virtualHost)} ${shown}`;',
        becomes: 'return `${this.#configs.of(virtualHost)} ${shown.length}`;',
      },
      {
        slip: 'a catalogue that lacks the tools of a backend is kept as long as a complete one',
        text: 'isComplete ? limits.catalogueAgeMs : limits.partialCatalogueAgeMs',
        becomes: 'limits.catalogueAgeMs',
      },
    ],
  ),
  ...mutantsOf('src/relay/message/wrapped-call.ts', SEARCHING, [
    { slip: 'call_tool can call itself', text: 'if (nested) return NESTED;', becomes: '' },
    {
      slip: 'call_tool accepts other members than name and arguments',
      text: 'countMembers(tape, wrapped) > (values === ABSENT ? 1 : 2)',
      becomes: 'countMembers(tape, wrapped) > 9',
    },
    {
      slip: 'the mirror still names call_tool after the call is unwrapped',
      text: 'request.mirror = { ...mirror, name };',
      becomes: 'request.mirror = mirror.name === name ? { ...mirror, name } : mirror;',
    },
    {
      slip: 'the comma after the removed member is left',
      text: 'end = body.indexOf(COMMA, end) + 1;',
      becomes: 'end += 0;',
    },
  ]),
  ...mutantsOf('src/relay/lists/find-tools.ts', SEARCHING, [
    {
      slip: 'find_tools accepts unknown arguments',
      text: 'if (!isCount || Object.keys(others).length > 0) return WRONG;',
      becomes: 'if (!isCount) return WRONG;',
    },
    {
      slip: 'find_tools accepts a limit above the maximum',
      text: ' && limit >= 1 && limit <= limits.foundToolsMax;',
      becomes: ' && limit >= 1;',
    },
    {
      slip: 'a catalogue that lacks the tools of a backend is kept as if it were complete',
      text: 'unavailable.length === 0);',
      becomes: 'unavailable.length >= 0);',
    },
    {
      slip: 'a catalogue that is not kept stays in the list thread',
      text: 'if (!isKept) merger.dropCatalogue(subject, made.key);',
      becomes: '',
    },
    {
      slip: 'clients with different capabilities share a catalogue',
      text: 'hashOfShown(introduction, [',
      becomes: "hashOfShown({ ...introduction, capabilities: '{}' }, [",
    },
    {
      slip: 'the result of a slow search is answered as if no stream had begun',
      text: 'answerInForm(exchange, message, undefined, work.isStreaming);',
      becomes: 'answerInForm(exchange, message, undefined, false);',
    },
    {
      slip: 'unreachable tools are not reported',
      text: 'plan.onUnreachable(made.unreachable);',
      becomes: '',
    },
  ]),
  ...mutantsOf('src/relay/list-merge/list-merger.ts', SEARCHING, [
    {
      slip: 'catalogues are kept although any list may have changed',
      text: 'this.catalogues.clear();',
      becomes: '',
    },
  ]),
  ...mutantsOf(
    'src/relay/message/mirrored-params.ts',
    ['relay/message/mirrored-params'],
    [
      {
        slip: 'a header has only the first digits of a long number',
        text: 'if (end - start > limits.mirroredNumberCharsMax) return TOO_LONG;',
        becomes: 'end = Math.min(end, start + limits.mirroredNumberCharsMax);',
      },
      {
        slip: 'large numbers that differ only in the last digit count as equal',
        text: 'BigInt(value) === BigInt(whole)',
        becomes: 'Number(value) === Number(whole)',
      },
    ],
  ),
  ...mutantsOf(
    'src/relay/message/mirrored-nodes.ts',
    ['relay/message/mirrored-params'],
    [
      {
        slip: 'a header has one of the values of an argument that is given twice',
        text: 'found.has(next) ? -1 : member',
        becomes: 'member',
      },
      {
        slip: 'the members of objects that lead to no parameter are recorded',
        text: 'this.#containers.has(keyText(keyStart, keyEnd))',
        becomes: 'true',
      },
    ],
  ),
  ...mutantsOf(
    'src/relay/message/modern-message.ts',
    ['relay/modern-backends', 'relay/message/rewriting'],
    [
      {
        slip: 'the client’s own envelope stays beside the gateway’s',
        text: 'if (!ENVELOPE_KEYS.has(',
        becomes: 'if ("" === null || !new Set([""]).has(',
      },
      {
        slip: 'a client’s envelope written with escapes stays beside the gateway’s',
        text: 'if (!meta.includes(ENVELOPE_PREFIX) && !meta.includes(BACKSLASH))',
        becomes: 'if (!meta.includes(ENVELOPE_PREFIX))',
      },
      {
        slip: 'a client with a session can send a requestState written with escapes',
        text: 'if (!isNamed && !params.includes(BACKSLASH)) return false;',
        becomes: 'if (!isNamed) return false;',
      },
      {
        slip: 'a client with a session can send a requestState',
        text: 'if (bringsRound(body.subarray(paramsStart, paramsEnd))) return undefined;',
        becomes: '',
      },
    ],
  ),
  ...mutantsOf(
    'src/relay/modern/modern-results.ts',
    ['relay/modern/modern-results'],
    [
      {
        slip: 'a resultType written with escapes is overlooked',
        text: 'return result.includes(key) || result.includes(ESCAPED);',
        becomes: 'return result.includes(key);',
      },
      {
        slip: 'a large result that contains an escape gets no resultType',
        text: 'if (result.length > limits.readAtOnceBytesMax) return isNamed;',
        becomes: 'if (result.length > limits.readAtOnceBytesMax) return isNamed || result.includes(ESCAPED);',
      },
    ],
  ),
  ...mutantsOf('src/relay/modern/listening.ts', LISTENING, [
    {
      slip: 'a listen stream goes on after the config has changed',
      text: "if (host === 'unknown' || host === this.#plan.caller.virtualHost) this",
      becomes: 'if (host !== undefined) this',
    },
    {
      slip: 'a subscription that a backend has declined is acknowledged',
      noticedBy: ['relay/modern-backends'],
      text: 'this.#taken.has(uri) && !unhonoured.has(uri)',
      becomes: 'this.#taken.has(uri)',
    },
    {
      slip: 'a subscription that no backend has accepted is acknowledged',
      text: 'this.#taken.has(uri) && !unhonoured.has(uri)',
      becomes: '!unhonoured.has(uri)',
    },
  ]),
  ...mutantsOf('src/relay/modern/listen-stream.ts', LISTENING, [
    {
      slip: 'list changes that the caller did not ask for are passed on',
      text: 'return changes.some((change) => change.method === method);',
      becomes: 'return changes.length >= 0;',
    },
    {
      slip: 'notifications that come before the acknowledgement are lost',
      text: 'this.#early.push(event);',
      becomes: '',
    },
    {
      slip: 'updates of resources that the caller did not ask for are passed on',
      text: 'uris.some((wanted) => uri.startsWith(wanted))',
      becomes: 'uris.length >= 0',
    },
  ]),
  ...mutantsOf('src/relay/modern/listening.ts', LISTENING, [
    {
      slip: 'a listen stream refused for lack of room keeps its session',
      after: 'refusals.subjectSessionBytesFull : refusals.sessionBytesFull);',
      text: 'this.#letGo();',
      becomes: '',
    },
    {
      slip: 'a subject that has used up its own share is told that the total is used up',
      text: "bound === 'subjectMax' ? refusals",
      becomes: 'bound === undefined ? refusals',
    },
  ]),
  ...mutantsOf('src/relay/modern/listenings.ts', LISTENING, [
    {
      slip: 'a listen stream that got no session still counts',
      after: 'if (!(session instanceof Session)) {',
      text: 'this.#counts.remove(subject);',
      becomes: '',
    },
    {
      slip: 'a listen stream that is over still counts',
      after: 'const onOver = (): void => {',
      text: 'this.#counts.remove(subject);',
      becomes: '',
    },
    {
      slip: 'a client that does not declare tasks can listen to them',
      text: 'if (filter.wantsTasks === true && !declaresTasks(exchange.request.body, envelope))',
      becomes: 'if (filter.wantsTasks === true && !declaresTasks(exchange.request.body, envelope) && subject === "")',
    },
    {
      slip: 'one subject may have all of the listen streams',
      text: 'perKeyMax: limits.listensPerSubjectMax',
      becomes: 'perKeyMax: limits.listensMax',
    },
  ]),
];
