// What becomes of a call whose caller is gone: what the caller has sent counts on, its answer is read slowly, and after a
// while it is given up, because it holds a connection to the backend. A caller may be back before. Cold.
import type { Account } from '../../shared/accounts.js';
import type { Deadline, DeadlineWheel } from '../../shared/deadline-wheel.js';
import type { FairPlace } from '../../shared/fair-queue.js';
import { limits } from '../../shared/limits.js';
import type { RpcRequest } from '../../upstream/rpc/rpc-request.js';
import { unheardTurns, type UnheardTurn } from './unheard-turns.js';

export class UnheardCall {
  readonly #account: Account;
  readonly #deadlines: DeadlineWheel;
  readonly #onTimeUp: () => void;
  readonly #requestBytes: number;
  /** While nobody hears it. */
  #deadline: Deadline | undefined;
  #request: RpcRequest | undefined;
  #place: FairPlace<UnheardTurn> | undefined;
  readonly #onTurn = (): void => {
    this.#place = undefined;
    this.#request?.ration(limits.unheardReadBytes);
    this.#request?.resume();
  };

  /** @param requestBytes in memory still, whose count went with the connection that they came on. */
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

  /** Nobody hears it from now on. @param request that it is at its backend, if it was sent. */
  begin(timeMs: number, request: RpcRequest | undefined): void {
    if (this.isUnheard) return;
    this.#deadline = this.#deadlines.after(timeMs, this.#onTimeUp);
    if (request !== undefined) this.onSent(request);
  }

  /** It was sent, perhaps once more. */
  onSent(request: RpcRequest): void {
    if (!this.isUnheard) return;
    this.#request = request;
    request.ration(limits.unheardReadBytes);
    if (request.isHeld) this.#wait();
  }

  /** All of the ration was read. */
  onRationRead(spentMs: number): void {
    unheardTurns.noteSpent(spentMs);
    this.#wait();
  }

  /** Its caller is back. */
  end(): void {
    this.#deadline?.cancel();
    this.#deadline = undefined;
    this.#place?.leave();
    this.#place = undefined;
    this.#request?.ration(undefined);
    this.#request = undefined;
  }

  /** It was answered, or given up. */
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
