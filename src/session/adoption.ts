// Adoption: another process opened the session, and this process continues it from its record in the session directory. The requests
// of one session share a look-up and then proceed in order. Cold path: once per session and process.
import type { FoundSession, LookUp, SessionDirectory } from './directory/session-directory.js';
import { type Accounts, wokenTurns, fullRequestShare } from '../fair/index.js';
import { refusals, type Refusal } from '../shared/index.js';
import type { Caller } from '../exchange/index.js';
import { Session } from './session.js';
import type { Sessions } from './sessions.js';

type OnFound = (found: Session | Refusal) => void;

export class Adoption {
  readonly #directory: SessionDirectory;
  readonly #sessions: Sessions;
  readonly #accounts: Accounts;
  /** By session and owner: a caller that asks for another's session does not wait together with that one's requests. */
  readonly #underWay = new Map<string, OnFound[]>();

  constructor(directory: SessionDirectory, sessions: Sessions, accounts: Accounts) {
    this.#directory = directory;
    this.#sessions = sessions;
    this.#accounts = accounts;
  }

  /**
   * Looks up a session that this process does not have, or has in a stale state.
   * @param present the caller's session, if this process has it.
   * @param onFound called once, perhaps synchronously.
   */
  find(sessionId: string, caller: Caller, present: Session | undefined, onFound: OnFound): void {
    if (present !== undefined) return this.#refresh(present, caller, onFound);
    const owner = { subject: caller.subject, virtualHostId: caller.virtualHost.id };
    // This process has it, but it belongs to another caller.
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
      // Before the first request is served, any process that may end the session must know that it is here.
      if (found instanceof Session && found.isStale) await found.entry?.settle();
      for (const each of begun) wokenTurns.run(owner.subject, () => each(found));
    });
  }

  /** Another process has changed the record of a session that is here. */
  #refresh(session: Session, caller: Caller, onFound: OnFound): void {
    const waiting: OnFound[] = [];
    this.#wait(waiting, caller, onFound);
    void session.entry?.settle().then(() => {
      for (const each of waiting) wokenTurns.run(caller.subject, () => each(session));
    });
  }

  /** A waiting request is held in memory, so it counts as a request in flight. */
  #wait(waiting: OnFound[], { subject }: Caller, onFound: OnFound): void {
    const account = this.#accounts.of(subject);
    const refusal = fullRequestShare(account);
    if (refusal !== undefined) return onFound(refusal);
    account.requests.take(1);
    waiting.push((found) => {
      account.requests.give(1);
      // An earlier one of the waiting requests may have ended the session.
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
    // Tells other machines that the session is in use here. If it is not listed yet, the write before the first response tells them.
    if (this.#directory.isShared && session.entry?.isListed === true) session.entry.renew();
    return session;
  }
}
