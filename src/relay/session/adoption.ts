// Sessions that this process does not know and the directory does: another process began them, and this one goes on. The requests
// of one session share a look-up and are taken up in their order. Cold: once a session and process.
import type { FoundSession, LookUp, SessionDirectory } from '../../session-directory/session-directory.js';
import type { Accounts } from '../../shared/accounts.js';
import { wokenTurns } from '../../shared/fair-turns.js';
import { fullRequestShare } from '../../shared/full-share.js';
import { refusals, type Refusal } from '../../shared/refusals.js';
import type { Caller } from '../exchange/caller.js';
import { Session } from './session.js';
import type { Sessions } from './sessions.js';

type OnFound = (found: Session | Refusal) => void;

export class Adoption {
  readonly #directory: SessionDirectory;
  readonly #sessions: Sessions;
  readonly #accounts: Accounts;
  /** By session and owner: whoever asks for another's session waits with nobody. */
  readonly #underWay = new Map<string, OnFound[]>();

  constructor(directory: SessionDirectory, sessions: Sessions, accounts: Accounts) {
    this.#directory = directory;
    this.#sessions = sessions;
    this.#accounts = accounts;
  }

  /**
   * Looks for a session that is not here, or not as it is now.
   * @param present the caller's session, if it is here.
   * @param onFound called once, perhaps from within.
   */
  find(sessionId: string, caller: Caller, present: Session | undefined, onFound: OnFound): void {
    if (present !== undefined) return this.#refresh(present, caller, onFound);
    const owner = { subject: caller.subject, virtualHostId: caller.virtualHost.id };
    // It is here, and another's.
    if (this.#sessions.has(sessionId)) return onFound(refusals.sessionUnknown);
    const key = JSON.stringify([sessionId, owner.virtualHostId, owner.subject]);
    const waiting = this.#underWay.get(key);
    if (waiting !== undefined) return this.#wait(waiting, caller, onFound);
    const lookUp = this.#directory.find(sessionId, owner);
    if (!(lookUp instanceof Promise)) return onFound(this.#adopt(sessionId, caller, lookUp));
    const begun: OnFound[] = [];
    this.#wait(begun, caller, onFound);
    this.#underWay.set(key, begun);
    void lookUp.then(async (outcome) => {
      this.#underWay.delete(key);
      const found = this.#adopt(sessionId, caller, outcome);
      // Before it serves anybody, who may end the session knows that it is here.
      if (found instanceof Session && found.isStale) await found.entry?.settle();
      for (const each of begun) wokenTurns.run(owner.subject, () => each(found));
    });
  }

  /** Another process has changed what is written down of a session that is here. */
  #refresh(session: Session, caller: Caller, onFound: OnFound): void {
    const waiting: OnFound[] = [];
    this.#wait(waiting, caller, onFound);
    void session.entry?.settle().then(() => {
      for (const each of waiting) wokenTurns.run(caller.subject, () => each(session));
    });
  }

  /** What waits is held in memory: it counts as a request in flight. */
  #wait(waiting: OnFound[], { subject }: Caller, onFound: OnFound): void {
    const account = this.#accounts.of(subject);
    const refusal = fullRequestShare(account);
    if (refusal !== undefined) return onFound(refusal);
    account.requests.take(1);
    waiting.push((found) => {
      account.requests.give(1);
      // One of those before may have ended it.
      onFound(found instanceof Session && found.isEnded ? refusals.sessionUnknown : found);
    });
  }

  #adopt(sessionId: string, caller: Caller, outcome: LookUp): Session | Refusal {
    switch (outcome) {
      case 'unknown':
      case 'ended':
        return refusals.sessionUnknown;
      case 'failed':
      case 'full':
        return refusals.directoryFailed;
      default:
        return this.#goOn(sessionId, caller, outcome);
    }
  }

  #goOn(sessionId: string, { subject, virtualHost }: Caller, found: FoundSession): Session | Refusal {
    const { protocolVersion, clientInfo, capabilities } = found.record;
    const account = this.#accounts.of(subject);
    const introduction = { clientInfo, capabilities };
    const begun = { id: sessionId, ...found };
    const session = this.#sessions.create({ account, virtualHost, protocolVersion, introduction, begun });
    if (!(session instanceof Session)) return session;
    session.restore(found.record, virtualHost);
    // Another machine that has it learns that it is in use here: by this, or by what is written before the first answer.
    if (this.#directory.isShared && session.entry?.isListed === true) session.entry.renew();
    return session;
  }
}
