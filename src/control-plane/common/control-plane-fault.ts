// Why the control plane refuses or fails a request: a code, and a message for people, without secrets. Faults of the store
// are `RecordStoreFault`s.
import type { Refusal } from '../../shared/index.js';

interface FaultAnswer {
  readonly status: number;
  /** `error`: caused by the request or another party; `fault`: by this program or its store; `refused`: before it was handled. */
  readonly outcome: 'error' | 'refused' | 'fault';
  readonly retryAfterS?: number;
}

const RETRY_AFTER_S = 2;

/** The status and outcome of each code. The codes of refusals that the dataplane also gives are in `shared/refusals.ts`. */
export const faultAnswers = {
  invalid: { status: 422, outcome: 'error' },
  'not-found': { status: 404, outcome: 'error' },
  'not-owned': { status: 403, outcome: 'error' },
  'name-taken': { status: 409, outcome: 'error' },
  'prefix-taken': { status: 409, outcome: 'error' },
  'refresh-running': { status: 409, outcome: 'error' },
  'registry-full': { status: 409, outcome: 'error' },
  'compositions-full': { status: 409, outcome: 'error' },
  'changed-meanwhile': { status: 412, outcome: 'error' },
  /** The link or callback was not issued by this gateway. */
  'consent-unknown': { status: 400, outcome: 'error' },
  'consent-over': { status: 410, outcome: 'error' },
  'consents-full': { status: 429, outcome: 'error' },
  'consent-refused': { status: 403, outcome: 'error' },
  /** Users cannot connect servers on this gateway, or its secret for the authorization server cannot be used. */
  'consent-unready': { status: 503, outcome: 'error' },
  /** A backend or authorization server gave an unusable response, or (`party-silent`) none. */
  'party-unfit': { status: 502, outcome: 'error' },
  'party-silent': { status: 504, outcome: 'error' },
  /** The sign-in was refused, or does not belong to this browser. */
  'sign-in-refused': { status: 403, outcome: 'error' },
  'sign-in-unreadable': { status: 422, outcome: 'error' },
  /** The issuer failed, or its tokens are not accepted here. */
  'sign-in-failed': { status: 503, outcome: 'error' },
  'sign-ins-full': { status: 503, outcome: 'error' },
  'dataplane-unnamed': { status: 404, outcome: 'error' },
  'dataplane-unreachable': { status: 503, outcome: 'fault', retryAfterS: RETRY_AFTER_S },
  'dataplane-busy': { status: 503, outcome: 'fault', retryAfterS: RETRY_AFTER_S },
  'dataplane-refused': { status: 503, outcome: 'fault', retryAfterS: RETRY_AFTER_S },
  'live-full': { status: 503, outcome: 'refused', retryAfterS: RETRY_AFTER_S },
  'store-failed': { status: 503, outcome: 'fault', retryAfterS: RETRY_AFTER_S },
  'internal-error': { status: 500, outcome: 'fault' },
  'body-too-large': { status: 413, outcome: 'error' },
  'path-too-long': { status: 414, outcome: 'error' },
  'path-unknown': { status: 404, outcome: 'refused' },
  'method-not-allowed': { status: 405, outcome: 'refused' },
  'head-ambiguous': { status: 400, outcome: 'refused' },
  'rate-limited': { status: 429, outcome: 'refused' },
  'role-missing': { status: 403, outcome: 'refused' },
} as const satisfies Readonly<Record<string, FaultAnswer>>;

export type FaultCode = keyof typeof faultAnswers;

interface FaultFacts extends Partial<FaultAnswer> {
  /** The message for admins: it may contain addresses, and text written by other parties. */
  readonly messageForAdmins?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly cause?: unknown;
  /** The reason, for the log only. By default `messageForAdmins` if the outcome is `fault`, else `''`. */
  readonly why?: string | undefined;
  /** The request's `Host` header, for the log, if that header is the reason. */
  readonly host?: string | undefined;
}

export class ControlPlaneFault extends Error {
  override readonly name = 'ControlPlaneFault';
  readonly code: FaultCode | Refusal['code'];
  readonly status: number;
  readonly outcome: FaultAnswer['outcome'];
  readonly headers: Readonly<Record<string, string>>;
  readonly messageForAdmins: string;
  readonly why: string;
  readonly host: string | undefined;

  /** @param facts override the code's row in `faultAnswers`. Codes of the dataplane's refusals have no row. */
  constructor(code: FaultCode | Refusal['code'], message: string, facts: FaultFacts = {}) {
    super(message, facts.cause === undefined ? undefined : { cause: facts.cause });
    const known: Readonly<Record<string, FaultAnswer>> = faultAnswers;
    const { status = 500, outcome = 'refused', retryAfterS, headers = {} } = { ...known[code], ...facts };
    this.code = code;
    this.status = status;
    this.outcome = outcome;
    this.headers = retryAfterS === undefined ? headers : { 'retry-after': String(retryAfterS) };
    this.messageForAdmins = facts.messageForAdmins ?? message;
    this.why = facts.why ?? (outcome === 'fault' ? this.messageForAdmins : '');
    this.host = facts.host;
  }
}

export function refuseMember(member: string, message: string): never {
  throw new ControlPlaneFault('invalid', `${member} ${message}`);
}

/** Refuses the member with this message. @param message `undefined` if the member is valid. */
export function refuseMemberIf(member: string, message: string | undefined): void {
  if (message !== undefined) refuseMember(member, message);
}

export function notFoundFault(noun: 'server' | 'composition', reference: string): ControlPlaneFault {
  return new ControlPlaneFault('not-found', `${noun === 'server' ? 'Server' : 'Composition'} not found: ${reference}`);
}
