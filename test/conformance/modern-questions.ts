// The fixture's tools and prompt that ask before they answer (`input_required`): their questions round by round, as the suite's
// scenarios expect them. The state that passes through the client is signed, because one scenario changes it.
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { Failure } from '../support/mcp-backend.js';
import { isJson, type Json } from '../support/modern-ladder.js';
import type { ModernRequest } from '../support/modern-backend.js';
import { RefusedWith } from '../support/modern-backend.js';

const INVALID_PARAMS = -32602;
const MISSING_CAPABILITY = -32021;

interface Question {
  readonly capability: 'elicitation' | 'sampling' | 'roots';
  readonly request: Json;
}

/** The questions by their keys in `inputRequests`; one record for each round. */
interface Dialogue {
  readonly rounds: readonly Readonly<Record<string, Question>>[];
  readonly withState: boolean;
  /** Leaves out questions for which the client has no capability, and asks the rest. */
  readonly isContentWithLess?: boolean;
}

function askUser(message: string, member: string, type = 'string'): Question {
  const requestedSchema = { type: 'object', properties: { [member]: { type } }, required: [member] };
  return { capability: 'elicitation', request: { method: 'elicitation/create', params: { message, requestedSchema } } };
}

function askModel(text: string, maxTokens: number): Question {
  const messages = [{ role: 'user', content: { type: 'text', text } }];
  return { capability: 'sampling', request: { method: 'sampling/createMessage', params: { messages, maxTokens } } };
}

const askRoots: Question = { capability: 'roots', request: { method: 'roots/list', params: {} } };
const askName = askUser('What is your name?', 'name');

const PREFIX = 'test_input_required_result_';

/** By the name of the tool or prompt. */
const dialogues: Readonly<Record<string, Dialogue>> = {
  [`${PREFIX}elicitation`]: { rounds: [{ user_name: askName }], withState: false },
  [`${PREFIX}sampling`]: {
    rounds: [{ capital_question: askModel('What is the capital of France?', 100) }],
    withState: false,
  },
  [`${PREFIX}list_roots`]: { rounds: [{ client_roots: askRoots }], withState: false },
  [`${PREFIX}request_state`]: { rounds: [{ confirm: askUser('Please confirm', 'ok', 'boolean') }], withState: true },
  [`${PREFIX}multiple_inputs`]: {
    rounds: [{ user_name: askName, greeting: askModel('Generate a greeting', 50), client_roots: askRoots }],
    withState: true,
  },
  [`${PREFIX}multi_round`]: {
    rounds: [
      { step1: askUser('Step 1: What is your name?', 'name') },
      { step2: askUser('Step 2: What is your favorite color?', 'color') },
    ],
    withState: true,
  },
  [`${PREFIX}tampered_state`]: { rounds: [{ confirm: askUser('Please confirm', 'ok', 'boolean') }], withState: true },
  [`${PREFIX}capabilities`]: {
    rounds: [{ user_name: askName, greeting: askModel('Generate a greeting', 50) }],
    withState: false,
    isContentWithLess: true,
  },
  [`${PREFIX}prompt`]: {
    rounds: [{ user_context: askUser('What context should the prompt use?', 'context') }],
    withState: false,
  },
  test_streaming_elicitation: { rounds: [{ user_name: askName }], withState: false },
};

export const askingTools = Object.keys(dialogues).filter((name) => name !== `${PREFIX}prompt`);
export const ASKING_PROMPT = `${PREFIX}prompt`;

/** @returns the questions that must be answered before `complete` may; `undefined` for a tool or prompt that asks nothing. */
export function converse(request: ModernRequest, complete: (answers: Json) => unknown): unknown {
  const dialogue = dialogues[request.name];
  if (dialogue === undefined) return undefined;
  const { requestState, inputResponses } = request.params;
  let round = 0;
  if (requestState !== undefined) {
    const state = openState(requestState);
    if (state?.name !== request.name) return invalid('requestState is not what was given out');
    round = state.round;
  }
  if ('inputResponses' in request.params && !isJson(inputResponses)) return invalid('inputResponses is no object');
  const answers = isJson(inputResponses) ? inputResponses : {};
  const asked = dialogue.rounds[round] ?? {};
  const isAnswered = Object.entries(asked).every(([key, question]) => isAnswerTo(question, answers[key]));
  if (!isAnswered) return ask(request, dialogue, round);
  return round + 1 < dialogue.rounds.length ? ask(request, dialogue, round + 1) : complete(answers);
}

function ask(request: ModernRequest, dialogue: Dialogue, round: number): unknown {
  const wanted = Object.entries(dialogue.rounds[round] ?? {});
  const possible = wanted.filter(([, { capability }]) => request.capabilities[capability] !== undefined);
  const isEnough = dialogue.isContentWithLess === true ? possible.length > 0 : possible.length === wanted.length;
  if (!isEnough) return missingCapability(wanted.map(([, { capability }]) => capability));
  return {
    resultType: 'input_required',
    inputRequests: Object.fromEntries(possible.map(([key, question]) => [key, question.request])),
    ...(dialogue.withState ? { requestState: sealState({ name: request.name, round }) } : {}),
  };
}

function isAnswerTo({ capability }: Question, answer: unknown): boolean {
  if (!isJson(answer)) return false;
  if (capability === 'elicitation') return typeof answer['action'] === 'string';
  return capability === 'sampling' ? 'content' in answer : Array.isArray(answer['roots']);
}

export function missingCapability(names: readonly string[]): RefusedWith {
  const requiredCapabilities = Object.fromEntries(names.map((name) => [name, {}]));
  const message = 'Missing required client capability';
  return new RefusedWith({ status: 400, code: MISSING_CAPABILITY, message, data: { requiredCapabilities } });
}

export function invalid(message: string, data?: Json): Failure {
  return new Failure({ code: INVALID_PARAMS, message, ...(data === undefined ? {} : { data }) });
}

interface State {
  readonly name: string;
  readonly round: number;
}

const key = randomBytes(32);

function sealState(state: State): string {
  const text = Buffer.from(JSON.stringify(state)).toString('base64url');
  return `${text}.${sign(text).toString('base64url')}`;
}

function openState(sealed: unknown): State | undefined {
  if (typeof sealed !== 'string') return undefined;
  const [text = '', signature = '', ...rest] = sealed.split('.');
  const expected = sign(text);
  const given = Buffer.from(signature, 'base64url');
  // Lenient base64 decoding would let a changed text pass.
  const isExact = rest.length === 0 && given.toString('base64url') === signature;
  if (!isExact || given.length !== expected.length || !timingSafeEqual(given, expected)) return undefined;
  return JSON.parse(Buffer.from(text, 'base64url').toString('utf8')) as State;
}

function sign(text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}
