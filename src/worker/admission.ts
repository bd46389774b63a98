// Admission: token → subject → user config → virtual host (specification 2.1). Hot path: three look-ups and no promise once everything is
// cached.
import type { TokenFault, TokenVerifier, TokenOutcome } from '../auth/index.js';
import type { Caller } from '../exchange/index.js';
import { type Logger, subjectHash, RepeatedLog, refusals, tokenRefusals, type Refusal } from '../shared/index.js';
import type { UserConfigRead, UserConfigs } from '../user-config/index.js';

export type AdmissionOutcome = Caller | RefusedToken;

/** The refusal that the caller gets, and for the log the subject and the cause, which the caller does not learn. */
export interface RefusedToken {
  readonly refusal: Refusal;
  readonly subject?: string | undefined;
  readonly cause?: TokenFault | undefined;
}

export class Admission {
  readonly #tokens: TokenVerifier;
  readonly #configs: UserConfigs;
  readonly #logger: Logger;
  readonly #repeated = new RepeatedLog();

  constructor(tokens: TokenVerifier, configs: UserConfigs, logger: Logger) {
    this.#tokens = tokens;
    this.#configs = configs;
    this.#logger = logger;
  }

  /** Admits a request. @param virtualHostId `undefined` when the path segment could not be decoded: no virtual host matches it. */
  admit(authorization: string, virtualHostId: string | undefined): AdmissionOutcome | Promise<AdmissionOutcome> {
    const verified = this.#tokens.verify(authorization);
    if (verified instanceof Promise) return verified.then((late) => this.#onVerified(late, virtualHostId));
    return this.#onVerified(verified, virtualHostId);
  }

  /** Checks only the token of a request that is refused anyway; `undefined` when the token is valid. */
  refusalOfToken(authorization: string): RefusedToken | undefined | Promise<RefusedToken | undefined> {
    const verified = this.#tokens.verify(authorization);
    return verified instanceof Promise ? verified.then(refusalOf) : refusalOf(verified);
  }

  /** Admits a request whose token another worker has verified: this worker reads the user config itself. */
  admitSubject(subject: string, virtualHostId: string | undefined): AdmissionOutcome | Promise<AdmissionOutcome> {
    const read = this.#configs.read(subject);
    if (read instanceof Promise) return read.then((late) => this.#onConfig(late, subject, virtualHostId));
    return this.#onConfig(read, subject, virtualHostId);
  }

  #onVerified(verified: TokenOutcome, virtualHostId: string | undefined): AdmissionOutcome | Promise<AdmissionOutcome> {
    return verified.kind === 'refused' ? refusedToken(verified) : this.admitSubject(verified.subject, virtualHostId);
  }

  #onConfig(read: UserConfigRead, subject: string, virtualHostId: string | undefined): AdmissionOutcome {
    if (read.kind === 'missing') return { refusal: refusals.configMissing, subject };
    if (read.kind === 'failed') {
      this.#report(read, subject);
      return { refusal: refusals.configFailed, subject };
    }
    const virtualHost = virtualHostId === undefined ? undefined : read.config.virtualHosts.get(virtualHostId);
    return virtualHost === undefined ? { refusal: refusals.virtualHostUnknown, subject } : { subject, virtualHost };
  }

  /** Logs a failure. One that affects all subjects is logged once, not once per subject. */
  #report({ reason, isForAll }: Extract<UserConfigRead, { kind: 'failed' }>, subject: string): void {
    if (isForAll === true) {
      this.#repeated.error(this.#logger, reason, { reason }, 'user configs cannot be read');
      return;
    }
    const fields = { subject: subjectHash(subject), reason };
    this.#repeated.error(this.#logger, `${subject} ${reason}`, fields, 'user config cannot be used');
  }
}

function refusalOf(verified: TokenOutcome): RefusedToken | undefined {
  return verified.kind === 'refused' ? refusedToken(verified) : undefined;
}

function refusedToken({ reason, cause }: Extract<TokenOutcome, { kind: 'refused' }>): RefusedToken {
  return { refusal: tokenRefusals[reason], cause };
}
