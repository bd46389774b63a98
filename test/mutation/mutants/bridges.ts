// Slips in the bridges between the eras of MCP, and in searched tools: whose state, lease or catalogue it is, and what edits of messages
// must not let through.
import { mutantsOf, type Mutant } from '../mutant.js';

const STATES = ['relay/modern/request-state', 'relay/modern/held-call'];
const LISTENING = ['relay/modern/listening'];
const SEARCHING = ['relay/message/wrapped-call'];

export const bridgeMutants: readonly Mutant[] = [
  ...mutantsOf('src/relay/modern/request-state.ts', STATES, [
    {
      slip: 'another subject’s state opens',
      text: 'JSON.stringify([FORM, subject, ',
      becomes: 'JSON.stringify([FORM, ',
    },
    {
      slip: 'a state of another virtual host opens',
      text: 'JSON.stringify([FORM, subject, virtualHostId, ',
      becomes: 'JSON.stringify([FORM, subject, ',
    },
    {
      slip: 'a state of another method opens',
      text: ' method, name, argsHash, headersHash])',
      becomes: ' name, argsHash, headersHash])',
    },
    {
      slip: 'a state of another tool opens',
      text: ' name, argsHash, headersHash])',
      becomes: ' argsHash, headersHash])',
    },
    { slip: 'a state of other arguments opens', text: ' argsHash, headersHash])', becomes: ' headersHash])' },
    { slip: 'a state of other credentials opens', text: ', headersHash])', becomes: '])' },
    { slip: 'a state is good for ever', text: ' * 1_000 <= this.#nowMs()', becomes: ' < 0' },
  ]),
  ...mutantsOf('src/relay/modern/held-calls.ts', STATES, [
    {
      slip: 'a retry goes on that another one was faster than',
      text: 'if (!call.isAt(place)) this.#fail(exchange, message);',
      becomes: 'if (false) this.#fail(exchange, message);',
    },
    {
      slip: 'one subject holds all calls',
      text: 'perKeyMax: limits.heldCallsPerSubjectMax',
      becomes: 'perKeyMax: limits.heldCallsMax',
    },
    {
      slip: 'a process that ends holds calls',
      text: 'if (this.#isClosed || !this.#counts',
      becomes: 'if (!this.#counts',
    },
    {
      slip: 'a state is used twice',
      text: 'if (call?.isAt(place) !== true) return',
      becomes: 'if (call === undefined) return',
    },
    {
      slip: 'a call that is over goes on counting',
      text: 'if (this.#calls.delete(call.key)) this.#counts.remove(call.subject);',
      becomes: 'this.#calls.delete(call.key);',
    },
    {
      slip: 'a retry that nobody waits for uses its state up',
      text: 'else if (!exchange.isAborted) call.goOn',
      becomes: 'else call.goOn',
    },
  ]),
  ...mutantsOf('src/relay/modern/held-calls.ts', STATES, [
    {
      slip: 'a retry gets what the config does not have any more',
      text: 'if (obstacle !== undefined) return this.#refuse(exchange, message, obstacle);',
      becomes: '',
    },
  ]),
  ...mutantsOf(
    'src/relay/modern/url-elicitations.ts',
    ['relay/modern/url-elicitations'],
    [
      {
        slip: 'who has not opened the address is taken for one who has',
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
        slip: 'of several calls any is asked what a backend asks on its own stream',
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
        slip: 'an answer is read in the era that its backend has now',
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
        slip: 'what is asked in a session that was lost is put to the client',
        text: ' && this.plan.upstream.record?.sessionId === this.#sentIn.sessionId',
        becomes: '',
      },
    ],
  ),
  ...mutantsOf('src/relay/modern/held-call.ts', STATES, [
    {
      slip: 'a process that is about to end holds one more call',
      text: 'if (this.#calls.isClosed) return ENDING;',
      becomes: '',
    },
    {
      slip: 'a call that is about to be held outlives its process',
      text: "const isOpen = this.#state === 'asking' || this.#state === 'held';",
      becomes: "const isOpen = this.#state === 'held';",
    },
    {
      slip: 'the state of an earlier round goes on',
      text: 'return round === this.#round && (',
      becomes: 'return (',
    },
    {
      slip: 'bytes of a held call are never given back',
      text: 'this.#plan.account.requestBytes.give(this.#keptBytes);',
      becomes: '',
    },
    {
      slip: 'the backend of a call that nobody comes back for is not told',
      text: 'if (isOpen) this.#plan.request.giveUp();',
      becomes: '',
    },
    {
      slip: 'a client is asked without end',
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
        slip: 'requests with other headers get the same lease',
        text: '\\n${hash}\\n',
        becomes: '\\n',
      },
      {
        slip: 'a lease ends that is busy',
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
        slip: 'a list that has changed while it was read is kept',
        text: 'this.isStale ? undefined : { key, value, bytes, ageMs }',
        becomes: '{ key, value, bytes, ageMs }',
      },
      {
        slip: 'a list that is read stays good when any may be another',
        after: 'clear(): void {',
        text: 'for (const read of reads) read.isStale = true;',
        becomes: '',
      },
      {
        slip: 'room that was given back stays taken',
        text: 'this.#bytes -= entry.bytes;',
        becomes: '',
      },
      {
        slip: 'a list that is made anew counts twice',
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
        slip: 'a catalogue is found by who shows something else',
        text: 'return `${this.#configs.of(virtualHost)} ${shown}`;',
        becomes: 'return `${this.#configs.of(virtualHost)} ${shown.length}`;',
      },
      {
        slip: 'a catalogue without a server’s tools is kept as long as others',
        text: 'isComplete ? limits.catalogueAgeMs : limits.partialCatalogueAgeMs',
        becomes: 'limits.catalogueAgeMs',
      },
    ],
  ),
  ...mutantsOf('src/relay/message/wrapped-call.ts', SEARCHING, [
    { slip: 'call_tool calls itself', text: 'if (nested) return NESTED;', becomes: '' },
    {
      slip: 'call_tool takes more than name and arguments',
      text: 'countMembers(tape, wrapped) > (values === ABSENT ? 1 : 2)',
      becomes: 'countMembers(tape, wrapped) > 9',
    },
    {
      slip: 'a retry in another process is about something else than its head',
      text: 'request.mirror = { ...mirror, name };',
      becomes: 'request.mirror = mirror.name === name ? { ...mirror, name } : mirror;',
    },
    { slip: 'a comma too many is left', text: 'end = body.indexOf(COMMA, end) + 1;', becomes: 'end += 0;' },
  ]),
  ...mutantsOf('src/relay/lists/find-tools.ts', SEARCHING, [
    {
      slip: 'find_tools takes what it does not know',
      text: 'if (!isCount || Object.keys(others).length > 0) return WRONG;',
      becomes: 'if (!isCount) return WRONG;',
    },
    {
      slip: 'find_tools gives as many tools as it is asked for',
      text: ' && limit >= 1 && limit <= limits.foundToolsMax;',
      becomes: ' && limit >= 1;',
    },
    {
      slip: 'what lacks a server’s tools is kept as if it were whole',
      text: 'unavailable.length === 0);',
      becomes: 'unavailable.length >= 0);',
    },
    {
      slip: 'a catalogue that is not kept stays in its thread',
      text: 'if (!isKept) merger.dropCatalogue(subject, made.key);',
      becomes: '',
    },
    {
      slip: 'one client is told what a backend lists for another',
      text: 'hashOfShown(introduction, [',
      becomes: "hashOfShown({ ...introduction, capabilities: '{}' }, [",
    },
    {
      slip: 'what is found after long is answered as if no stream had begun',
      text: 'answerInForm(exchange, message, undefined, work.isStreaming);',
      becomes: 'answerInForm(exchange, message, undefined, false);',
    },
    {
      slip: 'nobody is told of tools that nobody can call',
      text: 'plan.onUnreachable(made.unreachable);',
      becomes: '',
    },
  ]),
  ...mutantsOf('src/relay/list-merge/list-merger.ts', SEARCHING, [
    {
      slip: 'catalogues stay when any list may be another',
      text: 'this.catalogues.clear();',
      becomes: '',
    },
  ]),
  ...mutantsOf(
    'src/relay/message/mirrored-params.ts',
    ['relay/message/mirrored-params'],
    [
      {
        slip: 'a head says the beginning of a number',
        text: 'if (end - start > NUMBER_CHARS_MAX) return TOO_LONG;',
        becomes: 'end = Math.min(end, start + NUMBER_CHARS_MAX);',
      },
      {
        slip: 'long numbers are alike that differ in the last digit',
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
        slip: 'of an argument that is there twice the head says one',
        text: 'found.has(next) ? -1 : member',
        becomes: 'member',
      },
      {
        slip: 'members on the way to no parameter are written down',
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
        slip: 'what a client says of itself in an envelope stays beside the gateway’s',
        text: 'if (!ENVELOPE_KEYS.has(',
        becomes: 'if ("" === null || !new Set([""]).has(',
      },
      {
        slip: 'an envelope in escapes stays beside the gateway’s',
        text: 'if (!meta.includes(ENVELOPE_PREFIX) && !meta.includes(BACKSLASH))',
        becomes: 'if (!meta.includes(ENVELOPE_PREFIX))',
      },
      {
        slip: 'a client with a session brings a state in escapes',
        text: 'if (!isNamed && !params.includes(BACKSLASH)) return false;',
        becomes: 'if (!isNamed) return false;',
      },
      {
        slip: 'a client with a session brings a state',
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
        slip: 'a type in escapes is overlooked',
        text: 'return result.includes(key) || result.includes(ESCAPED);',
        becomes: 'return result.includes(key);',
      },
      {
        slip: 'a large result with an escape in it has no type',
        text: 'if (result.length > limits.readAtOnceBytesMax) return isNamed;',
        becomes: 'if (result.length > limits.readAtOnceBytesMax) return isNamed || result.includes(ESCAPED);',
      },
    ],
  ),
  ...mutantsOf('src/relay/modern/listening.ts', LISTENING, [
    {
      slip: 'a stream goes on under another config',
      text: "if (host === 'unknown' || host === this.#plan.caller.virtualHost) this",
      becomes: 'if (host !== undefined) this',
    },
    {
      slip: 'what a backend does not honour is acknowledged',
      noticedBy: ['relay/modern-backends'],
      text: 'this.#taken.has(uri) && !unhonoured.has(uri)',
      becomes: 'this.#taken.has(uri)',
    },
    {
      slip: 'what no backend has taken is acknowledged',
      text: 'this.#taken.has(uri) && !unhonoured.has(uri)',
      becomes: '!unhonoured.has(uri)',
    },
  ]),
  ...mutantsOf('src/relay/modern/listen-stream.ts', LISTENING, [
    {
      slip: 'changes are told that nobody has asked for',
      text: 'return changes.some((change) => change.method === method);',
      becomes: 'return changes.length >= 0;',
    },
    {
      slip: 'what is said before the acknowledgement is lost',
      text: 'this.#early.push(event);',
      becomes: '',
    },
    {
      slip: 'updates of other resources are told',
      text: 'uris.some((wanted) => uri.startsWith(wanted))',
      becomes: 'uris.length >= 0',
    },
  ]),
  ...mutantsOf('src/relay/modern/listening.ts', LISTENING, [
    {
      slip: 'a stream that there is no room for keeps its session',
      after: 'refusals.subjectSessionBytesFull : refusals.sessionBytesFull);',
      text: 'this.#letGo();',
      becomes: '',
    },
    {
      slip: 'a subject is told that all others are to blame',
      text: "bound === 'subjectMax' ? refusals",
      becomes: 'bound === undefined ? refusals',
    },
  ]),
  ...mutantsOf('src/relay/modern/listenings.ts', LISTENING, [
    {
      slip: 'a stream that has no session goes on counting',
      after: 'if (!(session instanceof Session)) {',
      text: 'this.#counts.remove(subject);',
      becomes: '',
    },
    {
      slip: 'a stream that is over goes on counting',
      after: 'const onOver = (): void => {',
      text: 'this.#counts.remove(subject);',
      becomes: '',
    },
    {
      slip: 'who declares no tasks listens to them',
      text: 'if (filter.wantsTasks === true && !declaresTasks(exchange.request.body, envelope))',
      becomes: 'if (filter.wantsTasks === true && !declaresTasks(exchange.request.body, envelope) && subject === "")',
    },
    {
      slip: 'one subject has all streams',
      text: 'perKeyMax: limits.listensPerSubjectMax',
      becomes: 'perKeyMax: limits.listensMax',
    },
  ]),
];
