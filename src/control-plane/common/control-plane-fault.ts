// Why the control plane does not do what somebody asks of it: a code, and words for people, in which no secret is, and nothing that
// others have written but a code. Faults of the store are `RecordStoreFault`s, and pass through.

/** How it is answered over HTTP, and what it is in the log. */
interface Standing {
  readonly status: number;
  /** `error`: the request is not right, or what it needs of others is not; `fault`: it is ours, or the dataplane's. */
  readonly outcome: 'error' | 'fault';
  /** When it may be otherwise. */
  readonly retryAfterS?: number;
}

const RETRY_S = 2;

/** All there are. */
export const faults = {
  invalid: { status: 422, outcome: 'error' },
  'not-found': { status: 404, outcome: 'error' },
  'not-owned': { status: 403, outcome: 'error' },
  'name-taken': { status: 409, outcome: 'error' },
  'prefix-taken': { status: 409, outcome: 'error' },
  'refresh-running': { status: 409, outcome: 'error' },
  'registry-full': { status: 409, outcome: 'error' },
  'compositions-full': { status: 409, outcome: 'error' },
  'changed-meanwhile': { status: 412, outcome: 'error' },
  /** A link to a consent, or what has come back from one: none of ours. */
  'consent-unknown': { status: 400, outcome: 'error' },
  'consent-over': { status: 410, outcome: 'error' },
  'consents-full': { status: 429, outcome: 'error' },
  'consent-refused': { status: 403, outcome: 'error' },
  /** Nothing can be connected here, or not with what the gateway has. */
  'consent-unready': { status: 503, outcome: 'error' },
  /** What a backend or an authorization server says is not as it should be, or nothing comes. */
  'party-unfit': { status: 502, outcome: 'error' },
  'party-silent': { status: 504, outcome: 'error' },
  /** Not so, or not here. */
  'sign-in-refused': { status: 403, outcome: 'error' },
  /** What came back makes no sense. */
  'sign-in-unreadable': { status: 422, outcome: 'error' },
  /** The issuer, or what it is told here about tokens. */
  'sign-in-failed': { status: 503, outcome: 'error' },
  'sign-ins-full': { status: 503, outcome: 'error' },
  'dataplane-unnamed': { status: 404, outcome: 'error' },
  'dataplane-unreachable': { status: 503, outcome: 'fault', retryAfterS: RETRY_S },
  'dataplane-busy': { status: 503, outcome: 'fault', retryAfterS: RETRY_S },
  'dataplane-refused': { status: 503, outcome: 'fault', retryAfterS: RETRY_S },
} as const satisfies Readonly<Record<string, Standing>>;

export type FaultCode = keyof typeof faults;

export interface FaultFacts {
  /** Of the input, the one at fault, as in `url` or `tags.2`. */
  readonly member?: string | undefined;
  /** With addresses, and what others have said. */
  readonly wordsForAdmins?: string;
  readonly cause?: unknown;
}

export class ControlPlaneFault extends Error {
  override readonly name = 'ControlPlaneFault';
  readonly code: FaultCode;
  readonly member: string | undefined;
  readonly wordsForAdmins: string;

  constructor(code: FaultCode, words: string, { member, wordsForAdmins = words, cause }: FaultFacts = {}) {
    super(words, cause === undefined ? undefined : { cause });
    this.code = code;
    this.member = member;
    this.wordsForAdmins = wordsForAdmins;
  }

  get standing(): Standing {
    return faults[this.code];
  }
}

/** Of what a member of the input says. */
export function refuseMember(member: string, words: string): never {
  throw new ControlPlaneFault('invalid', `${member} ${words}`, { member });
}

/** @param words `undefined` where nothing is wrong. */
export function refuseMemberFault(member: string, words: string | undefined): void {
  if (words !== undefined) refuseMember(member, words);
}

export function notFound(noun: 'server' | 'composition', reference: string): ControlPlaneFault {
  return new ControlPlaneFault('not-found', `${noun === 'server' ? 'Server' : 'Composition'} not found: ${reference}`);
}
