// A call whose caller is gone: what the caller has sent still counts in its share, the answer is read slowly, and after a while the
// call is given up, because it holds a connection to the backend. The caller may come back before that. Cold path.
import type { Account } from '../../shared/accounts.js';
import type { Deadline, DeadlineWheel } from '../../shared/deadline-wheel.js';
import type { FairPlace } from '../../shared/fair-queue.js';
import { limits } from '../../shared/limits.js';
import type { RpcRequest } from '../../upstream/rpc/rpc-request.js';
import { unheardTurns, type UnheardTurn } from './unheard-turns.js';
import { KIB } from '../../shared/limits/units.js';

/** Bytes read in one go of a call whose caller has gone. Beyond it, another such call has its turn. */
export const UNHEARD_READ_BYTES = 64 * KIB;

export class DetachedCall {
  readonly #account: Account;
  readonly #deadlines: DeadlineWheel;
  readonly #onTimeUp: () => void;
  readonly #requestBytes: number;
  /** Set while no caller hears the call. */
  #deadline: Deadline | undefined;
  #request: RpcRequest | undefined;
  #place: FairPlace<UnheardTurn> | undefined;
  readonly #onTurn = (): void => {
    this.#place = undefined;
    this.#request?.ration(UNHEARD_READ_BYTES);
    this.#request?.resume();
  };

  /** @param requestBytes still in memory, though their count in the share ended with the connection that they came on. */
  constructor(account: Account, requestBytes: number, deadlines: DeadlineWheel, onTimeUp: () => void) {
    this.#account = account;
    this.#deadlines = deadlines;
    this.#onTimeUp = onTimeUp;
    this.#requestBytes = requestBytes < limits.countedFromBytes ? 0 : requestBytes;
    account.requestBytes.take(this.#requestBytes);
  }

  get isUnheard(): boolean {
    return this.#deadline !== undefined;
  }

  /** From now on no caller hears the call. @param request the call at its backend, if it was sent. */
  begin(timeMs: number, request: RpcRequest | undefined): void {
    if (this.isUnheard) return;
    this.#deadline = this.#deadlines.after(timeMs, this.#onTimeUp);
    if (request !== undefined) this.onSent(request);
  }

  /** The call was sent, perhaps once more. */
  onSent(request: RpcRequest): void {
    if (!this.isUnheard) return;
    this.#request = request;
    request.ration(UNHEARD_READ_BYTES);
    if (request.isHeld) this.#wait();
  }

  /** The whole ration was read. */
  onRationRead(spentMs: number): void {
    unheardTurns.noteSpent(spentMs);
    this.#wait();
  }

  /** The caller is back. */
  end(): void {
    this.#deadline?.cancel();
    this.#deadline = undefined;
    this.#place?.leave();
    this.#place = undefined;
    this.#request?.ration(undefined);
    this.#request = undefined;
  }

  /** The call was answered, or given up. */
  close(): void {
    this.end();
    this.#account.requestBytes.give(this.#requestBytes);
  }

  #wait(): void {
    if (this.#place !== undefined) return;
    this.#place = unheardTurns.wait(this.#account.subject, this.#onTurn);
    if (this.#place === undefined) this.#onTurn();
  }
}
