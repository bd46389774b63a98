// Why the control plane refuses or fails a request: a code, and a message for people. The message contains no secret,
// and nothing written by other parties except a code. Faults of the store are `RecordStoreFault`s, which pass through.

/** How a fault is answered over HTTP, and how it counts in the log. */
interface FaultAnswer {
  readonly status: number;
  /** `error`: the request, or something it needs of another party, is at fault; `fault`: the control plane or the dataplane is. */
  readonly outcome: 'error' | 'fault';
  /** When a retry may succeed. */
  readonly retryAfterS?: number;
}

const RETRY_S = 2;

/** Every fault code. */
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
  /** A link to a consent, or a callback from one, that this gateway did not issue. */
  'consent-unknown': { status: 400, outcome: 'error' },
  'consent-over': { status: 410, outcome: 'error' },
  'consents-full': { status: 429, outcome: 'error' },
  'consent-refused': { status: 403, outcome: 'error' },
  /** Nothing can be connected here, or not with the stored credentials. */
  'consent-unready': { status: 503, outcome: 'error' },
  /** A backend or an authorization server gave an unusable response, or (`party-silent`) none. */
  'party-unfit': { status: 502, outcome: 'error' },
  'party-silent': { status: 504, outcome: 'error' },
  /** The sign-in was refused, or does not belong to this browser. */
  'sign-in-refused': { status: 403, outcome: 'error' },
  /** The callback's parameters cannot be read. */
  'sign-in-unreadable': { status: 422, outcome: 'error' },
  /** The issuer failed, or its tokens are not accepted here. */
  'sign-in-failed': { status: 503, outcome: 'error' },
  'sign-ins-full': { status: 503, outcome: 'error' },
  'dataplane-unnamed': { status: 404, outcome: 'error' },
  'dataplane-unreachable': { status: 503, outcome: 'fault', retryAfterS: RETRY_S },
  'dataplane-busy': { status: 503, outcome: 'fault', retryAfterS: RETRY_S },
  'dataplane-refused': { status: 503, outcome: 'fault', retryAfterS: RETRY_S },
} as const satisfies Readonly<Record<string, FaultAnswer>>;

export type FaultCode = keyof typeof faults;

interface FaultFacts {
  /** The member of the input at fault, as in `url` or `tags.2`. */
  readonly member?: string | undefined;
  /** May contain addresses, and text written by other parties. */
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

  get standing(): FaultAnswer {
    return faults[this.code];
  }
}

/** Refuses a value of a member of the input. */
export function refuseMember(member: string, words: string): never {
  throw new ControlPlaneFault('invalid', `${member} ${words}`, { member });
}

/** @param words `undefined` when nothing is wrong. */
export function refuseMemberFault(member: string, words: string | undefined): void {
  if (words !== undefined) refuseMember(member, words);
}

export function notFound(noun: 'server' | 'composition', reference: string): ControlPlaneFault {
  return new ControlPlaneFault('not-found', `${noun === 'server' ? 'Server' : 'Composition'} not found: ${reference}`);
}
