// Continues sessions that another process opened, from their records in the session directory. Requests of one session share a look-up and
// then proceed in order. Cold path: once per session and process.
import type { LookUp, SessionDirectory } from './directory/session-directory.js';
import { type Accounts, wakeScheduler } from '../fair/index.js';
import { refusals, type Refusal } from '../shared/index.js';
import type { Caller } from '../exchange/index.js';
import { Session } from './session.js';
import type { Sessions } from './sessions.js';

type Outcome = Session | Refusal;

export class Adoption {
  readonly #directory: SessionDirectory;
  readonly #sessions: Sessions;
  readonly #accounts: Accounts;
  /** Look-ups in progress, by session and owner: a caller that names another user's session must not get that user's result. */
  readonly #lookUps = new Map<string, Promise<Outcome>>();

  constructor(directory: SessionDirectory, sessions: Sessions, accounts: Accounts) {
    this.#directory = directory;
    this.#sessions = sessions;
    this.#accounts = accounts;
  }

  /**
   * Looks up a session that this process does not have, or whose state here is stale.
   * @param present the caller's session, if this process has it.
   * @param onFound called once, perhaps synchronously.
   */
  find(sessionId: string, caller: Caller, present: Session | undefined, onFound: (found: Outcome) => void): void {
    const found = present === undefined ? this.#lookUp(sessionId, caller) : whenSettled(present);
    if (!(found instanceof Promise)) return onFound(found);
    // A waiting request is held in memory, so it counts as a request in flight.
    const account = this.#accounts.of(caller.subject);
    const refusal = account.refusalOfRequest();
    if (refusal !== undefined) return onFound(refusal);
    account.requests.take(1);
    const goOn = (each: Outcome): void => {
      // Another request that waited for the session may have ended it meanwhile.
      account.requests.give(1);
      onFound(each instanceof Session && each.isEnded ? refusals.sessionUnknown : each);
    };
    void found.then((each) => wakeScheduler.run(caller.subject, () => goOn(each)));
  }

  #lookUp(sessionId: string, caller: Caller): Outcome | Promise<Outcome> {
    if (this.#sessions.has(sessionId)) return refusals.sessionUnknown;
    const session = { id: sessionId, subject: caller.subject, virtualHostId: caller.virtualHost.id };
    const key = JSON.stringify(session);
    const underWay = this.#lookUps.get(key);
    if (underWay !== undefined) return underWay;
    const lookUp = this.#directory.find(session);
    if (!(lookUp instanceof Promise)) return this.#adopt(sessionId, caller, lookUp);
    const adopted = lookUp.then((outcome) => {
      this.#lookUps.delete(key);
      const found = this.#adopt(sessionId, caller, outcome);
      return found instanceof Session && found.entry?.isStale === true ? whenSettled(found) : found;
    });
    this.#lookUps.set(key, adopted);
    return adopted;
  }

  #adopt(sessionId: string, { subject, virtualHost }: Caller, found: LookUp): Outcome {
    if (found === 'unknown' || found === 'ended') return refusals.sessionUnknown;
    if (found === 'failed' || found === 'full') return refusals.directoryFailed;
    const { protocolVersion, clientInfo, capabilities } = found.record;
    const account = this.#accounts.of(subject);
    const introduction = { clientInfo, capabilities };
    const adopted = { id: sessionId, ...found };
    const session = this.#sessions.create({ account, virtualHost, protocolVersion, introduction, adopted });
    if (!(session instanceof Session)) return session;
    // Tells other machines that the session is used here. If this process is not listed yet, the write that lists it tells them.
    if (this.#directory.isMultiMachine && session.entry?.isListed === true) session.entry.renew();
    return session;
  }
}

/** Waits until the session is up to date here and its record lists this process, or until that has failed. */
async function whenSettled(session: Session): Promise<Session> {
  await session.entry?.settle();
  return session;
}
