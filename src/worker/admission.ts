// Finds the caller of a request: from the token to its subject, the subject's user config, and the virtual host (specification 2.1). Hot
// path: once token and config are cached, three look-ups and no promise.
import type { TokenFault, TokenVerifier, TokenOutcome } from '../auth/index.js';
import type { Caller } from '../exchange/index.js';
import { type Logger, subjectHash, RepeatedLog, refusals, tokenRefusals, type Refusal } from '../shared/index.js';
import type { UserConfigRead, UserConfigs } from '../user-config/index.js';

export type AdmissionOutcome = Caller | RefusedAdmission;

/** The refusal for the caller; the subject and the cause are only for the log. */
export interface RefusedAdmission {
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

  /** Admits a request. @param virtualHostId `undefined` when the path segment could not be decoded: then no virtual host matches. */
  admit(authorization: string, virtualHostId: string | undefined): AdmissionOutcome | Promise<AdmissionOutcome> {
    const verified = this.#tokens.verify(authorization);
    if (verified instanceof Promise) return verified.then((late) => this.#onVerified(late, virtualHostId));
    return this.#onVerified(verified, virtualHostId);
  }

  /** Checks the token of a request that is refused in any case. @returns `undefined` when the token is valid. */
  refusalOfToken(authorization: string): RefusedAdmission | undefined | Promise<RefusedAdmission | undefined> {
    const verified = this.#tokens.verify(authorization);
    return verified instanceof Promise ? verified.then(refusalOf) : refusalOf(verified);
  }

  /** Admits a request that another worker has forwarded after verifying its token. The user config is read here. */
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

  /** Logs why a user config cannot be used. If no config can be read, this is logged once for all subjects. */
  #report({ reason, isForAll }: Extract<UserConfigRead, { kind: 'failed' }>, subject: string): void {
    if (isForAll === true) {
      this.#repeated.error(this.#logger, reason, { reason }, 'user configs cannot be read');
      return;
    }
    const fields = { subject: subjectHash(subject), reason };
    this.#repeated.error(this.#logger, `${subject} ${reason}`, fields, 'user config cannot be used');
  }
}

function refusalOf(verified: TokenOutcome): RefusedAdmission | undefined {
  return verified.kind === 'refused' ? refusedToken(verified) : undefined;
}

function refusedToken({ reason, cause }: Extract<TokenOutcome, { kind: 'refused' }>): RefusedAdmission {
  return { refusal: tokenRefusals[reason], cause };
}
